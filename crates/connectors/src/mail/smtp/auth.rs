//! Signing in.

use super::dialogue::Dialogue;
use super::reply::Reply;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io;
use tool::Secret;

/// The ways that we know, the better first. Both show the password, so they are for encrypted connections only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    Plain,
    Login,
}

impl Mechanism {
    /// The best of those that the server offers.
    pub(super) fn choose(offered: &[String]) -> Option<Self> {
        let has = |name: &str| offered.iter().any(|offered| offered.eq_ignore_ascii_case(name));
        match () {
            () if has("PLAIN") => Some(Self::Plain),
            () if has("LOGIN") => Some(Self::Login),
            () => None,
        }
    }

    /// What the server says to our credentials.
    pub(super) async fn sign_in(
        self,
        dialogue: &mut Dialogue,
        username: &str,
        password: &Secret,
    ) -> io::Result<Reply> {
        let [both, alone] = encoded(username, password);
        match self {
            Self::Plain => dialogue.ask(&format!("AUTH PLAIN {}\r\n", both.expose())).await,
            Self::Login => {
                let mut reply = dialogue.ask("AUTH LOGIN\r\n").await?;
                for answer in [Secret::new(STANDARD.encode(username)), alone] {
                    if reply.code != 334 {
                        break;
                    }
                    reply = dialogue.ask(&format!("{}\r\n", answer.expose())).await?;
                }
                Ok(reply)
            }
        }
    }
}

/// The password as `PLAIN` and `LOGIN` say it.
pub(super) fn encoded(username: &str, password: &Secret) -> [Secret; 2] {
    let both = Secret::new(format!("\0{username}\0{}", password.expose()));
    [&both, password].map(|secret| Secret::new(STANDARD.encode(secret.expose())))
}
