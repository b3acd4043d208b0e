//! Documents that nobody would write.

use super::import_text;
use fuzz::{Target, files};

#[test]
fn fuzz_openapi_documents() {
    let mut seeds = files("crates/connectors/tests/data/openapi", &[".yaml", ".json"]);
    seeds.retain(|seed| seed.len() <= 4 * 1024);
    Target::new("OpenAPI", seeds).run(|input| import_text(&String::from_utf8_lossy(input)).is_ok());
}
