//! The proxies that a connection string names, how to sign in to them, and what groups are called there.

use super::signature::Credentials;
use crate::mq::address::refused;
use crate::mq::settings::Settings;
use crate::shared::instance::Instance;
use sha2::{Digest, Sha256};
use tool::{Problem, Secret};

const EXAMPLE: &str = "host:8081";
/// The most proxies that are named.
const MAX_SERVERS: usize = 20;
/// As long may a group be called so that what RocketMQ puts around its name fits, too.
const MAX_GROUP: usize = 64;

/// The proxies; problems never quote the text, because somebody may have put a password there.
pub(super) fn servers(text: Option<&Secret>) -> Result<Vec<Instance>, Problem> {
    let missing = || {
        let message = format!("the connection_string is missing; write e.g. {EXAMPLE}");
        Problem::new("connection_string", "Required", message)
    };
    let servers = text.ok_or_else(missing)?.expose().split([',', ';']).map(|one| Instance::parse(one.trim()));
    let servers: Option<Vec<_>> = servers.collect();
    let servers =
        servers.ok_or_else(|| refused(&format!("names no proxy of RocketMQ; write e.g. {EXAMPLE}")))?;
    match servers.len() {
        1..=MAX_SERVERS => Ok(servers),
        _ => Err(refused(&format!("names more than {MAX_SERVERS} proxies"))),
    }
}

/// The access key and its secret, where they are given.
pub(super) fn credentials(settings: &Settings, problems: &mut Vec<Problem>) -> Option<Credentials> {
    let mut refuse = |field: &str, code, message: &str| problems.push(Problem::new(field, code, message));
    match (&settings.username, &settings.password) {
        (None, None) => None,
        (Some(username), Some(_)) if !is_access_key(username) => {
            let message =
                "'username' is the access key: 1 to 200 letters, digits or signs without ',', '=' and '/'";
            refuse("username", "InvalidName", message);
            None
        }
        (Some(_), Some(password)) if password.expose().is_empty() => {
            refuse("password", "Required", "'password' is the secret of the access key, and empty");
            None
        }
        (Some(username), Some(password)) => Some(Credentials::new(username, password)),
        (Some(_), None) => {
            refuse("password", "Required", "'username' needs 'password' beside it");
            None
        }
        (None, Some(_)) => {
            refuse("username", "Required", "'password' needs 'username' beside it");
            None
        }
    }
}

fn is_access_key(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_graphic() && !b",=/".contains(&byte);
    (1..=200).contains(&text.len()) && text.bytes().all(is_legal)
}

/// A group as RocketMQ can call it: letters, digits, `_` and `-`. Two that differ still do.
pub(super) fn group(name: &str) -> String {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if (1..=MAX_GROUP).contains(&name.len()) && name.chars().all(is_legal) {
        return name.to_owned();
    }
    let plain = name.chars().map(|letter| if is_legal(letter) { letter } else { '_' });
    let hash: String = Sha256::digest(name).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let begin: String = plain.take(MAX_GROUP - 1 - hash.len()).collect();
    format!("{begin}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_proxies_of_a_connection_string() {
        let read = |text: &str| servers(Some(&Secret::new(text.to_owned())));
        let shown = |text: &str| read(text).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown("a:8081"), ["a:8081"]);
        assert_eq!(shown("a:1; [::1]:2,10.0.0.1:3"), ["a:1", "[::1]:2", "10.0.0.1:3"]);
        for wrong in ["", "a", "a:1,,b:1", "http://a:1", "user:pass@a:1", "a:0", &["a:1"; 21].join(",")] {
            let problem = read(wrong).unwrap_err();
            assert_eq!(problem.path, "connection_string", "{wrong}");
            assert!(!problem.message.contains("pass"), "{problem:?}");
        }
    }

    #[test]
    fn groups_have_names_that_rocketmq_takes_and_no_two_the_same() {
        assert_eq!(group("billing-1_a"), "billing-1_a");
        let names = ["a.b.c", "a.b_c", "a_b.c", "a-b", &"x".repeat(65), &"x".repeat(66), "队列", ""];
        let groups: std::collections::BTreeSet<_> = names.iter().map(|name| group(name)).collect();
        assert_eq!(groups.len(), names.len());
        for group in groups {
            assert!((1..=MAX_GROUP).contains(&group.len()), "{group}");
            assert!(
                group.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
                "{group}"
            );
        }
    }
}
