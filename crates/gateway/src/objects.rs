//! Objects behind links: the link is the permission, as long as its service is there and switched on.

use crate::audit::Record;
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
        let record = Record::by_link(cx, link);
        let reading = async {
            let connector = self.keeper(cx, link, LinkMethod::Get)?;
            let objects = connector.objects().ok_or_else(gone)?;
            within_deadline(cx, objects.read(cx, &link.key, part)).await
        };
        let result = reading.await;
        let size = result.as_ref().map(|reading| reading.range.end - reading.range.start);
        self.audit.write(record.end_of_object(size)).await;
        result
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
        let record = Record::by_link(cx, link);
        let writing = async {
            let connector = self.keeper(cx, link, LinkMethod::Put)?;
            let objects = connector.objects().ok_or_else(gone)?;
            within_deadline(cx, objects.write(cx, &link.key, content_type, body)).await
        };
        let result = writing.await;
        let size = result.as_ref().map(|object| object.size);
        self.audit.write(record.end_of_object(size)).await;
        result
    }

    /// The service that keeps the object.
    fn keeper(&self, cx: &Context, link: &Link, method: LinkMethod) -> Result<Arc<dyn Connector>> {
        if link.tenant != cx.tenant || link.method != method {
            return Err(gone());
        }
        let tenant = self.catalog.tenant(&link.tenant).ok_or_else(gone)?;
        let service = tenant.service(&link.scheme, &link.service).ok_or_else(gone)?;
        if service.made_at_ms != link.made_at_ms {
            return Err(gone());
        }
        service.connector().cloned()
    }
}

fn gone() -> Error {
    Error::missing("the link leads nowhere any more")
}
