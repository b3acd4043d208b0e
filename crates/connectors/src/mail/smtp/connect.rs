//! From nothing to a connection that takes mail: checked, encrypted as configured, signed in.

use super::auth::{self, Mechanism};
use super::dialogue::Dialogue;
use super::reply::Reply;
use crate::mail::settings::Security;
use crate::shared::attempts::{Backoff, Budget, Failure};
use crate::shared::network::{Policy, dial};
use crate::shared::wire::{HandshakeError, TlsConfig};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Error, Reason, Result, Secret};

/// Where a server is, and how to speak with it.
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) credentials: Option<(String, Secret)>,
    pub(super) policy: Arc<Policy>,
    pub(super) tls: TlsConfig,
    pub(super) attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) timeout: Duration,
}

/// A connection that takes mail.
pub(super) struct Connection {
    pub(super) dialogue: Dialogue,
    pub(super) offers: Offers,
    /// Nobody knows what the server will take its next message for.
    pub(super) is_spent: bool,
}

impl Connection {
    /// It takes another message: nothing is left of the one before, and the server has said nothing out of turn, such as
    /// good-bye, which would be taken for an answer.
    pub(super) fn is_ready(&mut self) -> bool {
        !self.is_spent && self.dialogue.is_quiet()
    }
}

/// What a server can do, as it said after EHLO.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Offers {
    has_starttls: bool,
    mechanisms: Vec<String>,
    pub(super) has_pipelining: bool,
    pub(super) has_reports: bool,
    pub(super) has_utf8: bool,
    pub(super) has_eight_bits: bool,
    /// The largest message; zero is no limit. None where it does not speak of sizes.
    pub(super) size: Option<usize>,
}

impl Server {
    /// Connects, as often as the settings say: nothing can have been sent.
    pub(super) async fn connect(&self) -> Result<Connection> {
        let budget = Budget {
            deadline: Instant::now() + self.timeout,
            attempt: Duration::MAX,
            attempts: self.attempts,
            backoff: self.backoff,
        };
        budget.run(|| async { self.try_connect().await.map_err(Failure::from) }).await
    }

    async fn try_connect(&self) -> Result<Connection> {
        let stream = dial(&self.host, self.port, &self.policy).await;
        let stream = stream.map_err(|error| error.about("mail server"))?;
        // Commands are small and must not wait for more.
        let _ = stream.set_nodelay(true);
        // RFC 5321 wants a name that can be looked up, or this.
        let us = match stream.local_addr().map(|address| address.ip()) {
            Ok(IpAddr::V4(address)) => format!("[{address}]"),
            Ok(IpAddr::V6(address)) => format!("[IPv6:{address}]"),
            Err(_) => "[127.0.0.1]".to_owned(),
        };
        let mut dialogue = match self.security {
            Security::Tls => {
                let wire = self.tls.shake_hands(&self.host, stream).await.map_err(not_tls)?;
                Dialogue::new(wire, self.secrets())
            }
            Security::Starttls | Security::None => Dialogue::new(Box::new(stream), self.secrets()),
        };
        let greeting = dialogue.hear().await.map_err(broken)?;
        expect_good(&greeting, "us")?;
        let mut offers = hello(&mut dialogue, &us).await?;
        if self.security == Security::Starttls {
            dialogue = self.start_tls(dialogue, &offers).await?;
            // Whatever was said before could have been said by anybody.
            offers = hello(&mut dialogue, &us).await?;
        }
        self.sign_in(&mut dialogue, &offers).await?;
        Ok(Connection { dialogue, offers, is_spent: false })
    }

    /// The password in all ways that it is said.
    fn secrets(&self) -> Arc<[Secret]> {
        let of = |(username, password): &(String, Secret)| {
            auth::encoded(username, password).into_iter().chain([password.clone()]).collect()
        };
        self.credentials.as_ref().map(of).unwrap_or_default()
    }

    async fn start_tls(&self, mut dialogue: Dialogue, offers: &Offers) -> Result<Dialogue> {
        if !offers.has_starttls {
            let message = "the mail server offers no STARTTLS, so nothing was sent; somebody between may have taken it out. \
                           Check 'smtp_port', or set 'security' to tls";
            return Err(Error::unavailable(message));
        }
        let ready = dialogue.ask("STARTTLS\r\n").await.map_err(broken)?;
        expect_good(&ready, "STARTTLS")?;
        let wire = dialogue.into_wire().map_err(|error| {
            let message =
                "the mail server, or somebody between, spoke before the encryption began; nothing was sent";
            Error::unavailable(message).caused_by(error)
        })?;
        let wire = self.tls.shake_hands(&self.host, wire).await.map_err(not_tls)?;
        Ok(Dialogue::new(wire, self.secrets()))
    }

    async fn sign_in(&self, dialogue: &mut Dialogue, offers: &Offers) -> Result<()> {
        let Some((username, password)) = &self.credentials else { return Ok(()) };
        // The settings have been refused before; a password is worth a second look.
        if self.security == Security::None {
            return Err(Error::invalid_config("no password is sent without encryption"));
        }
        let Some(mechanism) = Mechanism::choose(&offers.mechanisms) else {
            let message = "the mail server offers no way to sign in that we know (PLAIN, LOGIN); leave 'username' and 'password' out if it needs none";
            return Err(Error::upstream(message).because(Reason::SignInFailed));
        };
        let reply = mechanism.sign_in(dialogue, username, password).await.map_err(broken)?;
        match reply.code {
            235 => Ok(()),
            // Whatever it is called, it is about who we are.
            500..=599 => Err(Reply { code: 535, ..reply }.error("the sign-in")),
            _ => Err(reply.error("the sign-in")),
        }
    }
}

async fn hello(dialogue: &mut Dialogue, us: &str) -> Result<Offers> {
    let reply = dialogue.ask(&format!("EHLO {us}\r\n")).await.map_err(broken)?;
    expect_good(&reply, "EHLO")?;
    Ok(Offers::of(&reply))
}

fn expect_good(reply: &Reply, doing: &str) -> Result<()> {
    if reply.is_good() { Ok(()) } else { Err(reply.error(doing)) }
}

impl Offers {
    fn of(reply: &Reply) -> Self {
        let mut offers = Self::default();
        // The first line is the server's name.
        for line in reply.lines.iter().skip(1) {
            let upper = line.to_ascii_uppercase();
            let mut words = upper.split([' ', '=']).filter(|word| !word.is_empty());
            match words.next() {
                Some("STARTTLS") => offers.has_starttls = true,
                Some("PIPELINING") => offers.has_pipelining = true,
                Some("DSN") => offers.has_reports = true,
                Some("SMTPUTF8") => offers.has_utf8 = true,
                Some("8BITMIME") => offers.has_eight_bits = true,
                Some("SIZE") => {
                    offers.size = Some(words.next().and_then(|size| size.parse().ok()).unwrap_or(0))
                }
                Some("AUTH") => offers.mechanisms.extend(words.map(str::to_owned)),
                _ => {}
            }
        }
        offers
    }
}

/// The connection broke before anything was handed over.
pub(super) fn broken(error: io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::InvalidData => {
            "the mail server does not speak SMTP as it should; check 'smtp_port' and 'security'"
        }
        _ => "the connection to the mail server broke",
    };
    Error::unavailable(message).caused_by(error).retryable()
}

fn not_tls(error: HandshakeError) -> Error {
    match error {
        HandshakeError::Unprepared(error) => error,
        HandshakeError::NoName => Error::invalid_config("the smtp_host is no name that TLS knows"),
        HandshakeError::Failed(error) => {
            let message = "the mail server does not speak TLS as it should; check 'smtp_host', 'smtp_port', 'security', 'tls.ca' and 'tls.server_name'";
            Error::unavailable(message).caused_by(error).retryable()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_a_server_offers() {
        let lines =
            ["mx.example", "size 1000", "AUTH=LOGIN", "AUTH PLAIN LOGIN", "8bitmime", "DSN", "SMTPUTF8"];
        let reply = Reply::new(250, lines.map(str::to_owned).to_vec(), &[]);
        let offers = Offers::of(&reply);
        assert_eq!(Mechanism::choose(&offers.mechanisms), Some(Mechanism::Plain));
        assert_eq!(offers.size, Some(1000));
        assert!(offers.has_eight_bits && offers.has_reports && offers.has_utf8 && !offers.has_starttls);
    }
}
