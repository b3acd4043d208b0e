//! The tool that was probably meant by a name or a URI that leads to none.

use crate::Gateway;
use document::{did_you_mean, nearest};
use tool::{Context, Error, Target, Uri};

impl Gateway {
    /// Names the tool that was probably meant, among those that this caller may use.
    pub(crate) fn name_nearest(&self, cx: &Context, target: &Target, error: Error) -> Error {
        if error.kind() != tool::ErrorKind::NotFound {
            return error;
        }
        let permitted = self.permitted(cx);
        let advice = match target {
            Target::Name(name) => {
                let catalog = self.catalog().tenant(&cx.tenant);
                let service = name.split_once("__").map(|(service, _)| service);
                let is_there = catalog.is_some_and(|catalog| {
                    catalog.services().any(|known| Some(known.id.as_str()) == service)
                });
                let names =
                    permitted.iter().filter(|route| !is_there || Some(route.uri.service()) == service);
                let names = names.map(|route| route.name.as_str());
                did_you_mean(name, names.filter(|known| is_near_each(name.split("__"), known.split("__"))))
            }
            Target::Uri(uri) => {
                let parts = |uri: &Uri| {
                    [uri.scheme(), uri.service(), uri.tool().unwrap_or_default()].map(str::to_owned)
                };
                let meant = parts(uri);
                // Whoever names a service that is there means that one.
                let is_there = self
                    .catalog()
                    .tenant(&cx.tenant)
                    .is_some_and(|catalog| catalog.service(uri.scheme(), uri.service()).is_some());
                let is_of_it =
                    |route: &Uri| route.scheme() == uri.scheme() && route.service() == uri.service();
                let near = permitted.iter().filter(|route| {
                    let near = parts(&route.uri);
                    (!is_there || is_of_it(&route.uri))
                        && is_near_each(meant.iter().map(String::as_str), near.iter().map(String::as_str))
                });
                let address = Uri::of_tool(&meant[0], &meant[1], &meant[2]).to_string();
                did_you_mean(&address, near.map(|route| route.address.as_str()))
            }
            Target::Trial(_) => String::new(),
        };
        error.advising(&advice)
    }
}

/// Each part of a name is one part of the other or nearly so: what they share must not hide what they do not.
fn is_near_each<'a>(words: impl Iterator<Item = &'a str>, names: impl Iterator<Item = &'a str>) -> bool {
    let is_near = |(word, name): (&str, &str)| word == name || nearest(word, [name]).is_some();
    words.zip(names).all(is_near)
}
