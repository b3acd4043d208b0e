//! What starts flows by itself.

use super::Flows;

impl Flows {
    pub(super) async fn fire_all(&self) {
        std::future::pending().await
    }
}
