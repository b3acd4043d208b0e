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
                let names = permitted.iter().map(|route| route.name.as_str());
                did_you_mean(name, names.filter(|known| is_near_each(name.split("__"), known.split("__"))))
            }
            Target::Uri(uri) => {
                let parts = |uri: &Uri| {
                    [uri.scheme(), uri.service(), uri.tool().unwrap_or_default()].map(str::to_owned)
                };
                let meant = parts(uri);
                let near = permitted.iter().filter(|route| {
                    is_near_each(
                        meant.iter().map(String::as_str),
                        parts(&route.uri).iter().map(String::as_str),
                    )
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
