//! Objects behind links: the link is the permission, as long as its service is there and switched on.

use crate::{Gateway, within_deadline};
use std::sync::Arc;
use tool::objects::{Body, Part, Reading};
use tool::{Connector, Context, Error, Link, LinkMethod, Object, Result};

impl Gateway {
    /// Begins to read what a link leads to.
    ///
    /// # Errors
    /// When the link is for something else, its service is gone or switched off, or there is no such object.
    pub async fn read_object(&self, cx: &Context, link: &Link, part: Part) -> Result<Reading> {
        let connector = self.keeper(cx, link, LinkMethod::Get)?;
        let objects = connector.objects().ok_or_else(gone)?;
        within_deadline(cx, objects.read(cx, &link.key, part)).await
    }

    /// Writes what a link leads to.
    ///
    /// # Errors
    /// The same, and when the service does not take it.
    pub async fn write_object(
        &self,
        cx: &Context,
        link: &Link,
        content_type: Option<&str>,
        body: Body,
    ) -> Result<Object> {
        let connector = self.keeper(cx, link, LinkMethod::Put)?;
        let objects = connector.objects().ok_or_else(gone)?;
        within_deadline(cx, objects.write(cx, &link.key, content_type, body)).await
    }

    /// The service that keeps the object.
    fn keeper(&self, cx: &Context, link: &Link, method: LinkMethod) -> Result<Arc<dyn Connector>> {
        if link.tenant != cx.tenant || link.method != method {
            return Err(gone());
        }
        let tenant = self.catalog.tenant(&link.tenant).ok_or_else(gone)?;
        let service = tenant.service(&link.scheme, &link.service).ok_or_else(gone)?;
        service.connector().cloned()
    }
}

fn gone() -> Error {
    Error::missing("the link leads nowhere any more")
}
