//! What is left of a login: a private file, shared by the processes of one person.

use super::scope::Scope;
use super::token::Token;
use crate::shared::oauth::{Client, ClientAuth};
use mcp::client::Failure;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize, Serializer};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tool::Secret;

const MAX_BYTES: u64 = 256 * 1024;
/// Another process may be at it, with a server that takes its time.
const LOCK_WAIT: Duration = Duration::from_secs(20);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The file of one service.
#[derive(Debug, Clone)]
pub(super) struct LoginFile(PathBuf);

/// A login, and what it was made with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Login {
    /// The address of the server that the token is for; it goes nowhere else.
    pub(super) url: String,
    pub(super) resource: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) client_id: String,
    #[serde(default, serialize_with = "exposed")]
    pub(super) client_secret: Option<Secret>,
    pub(super) method: ClientAuth,
    #[serde(default, serialize_with = "exposed")]
    access_token: Option<Secret>,
    #[serde(default, serialize_with = "exposed")]
    refresh_token: Option<Secret>,
    #[serde(default)]
    renew_at: Option<SystemTime>,
    #[serde(default)]
    scope: String,
    /// What the server has asked for since.
    #[serde(default)]
    wanted_scope: Option<String>,
}

#[expect(clippy::ref_option, reason = "the form serde wants")]
fn exposed<S: Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(serializer)
}

impl Login {
    /// For a token that is yet to come.
    pub(super) fn new(url: &str, issuer: &str, endpoint: &str, resource: &str, client: &Client) -> Self {
        Self {
            url: url.to_owned(),
            resource: resource.to_owned(),
            issuer: issuer.to_owned(),
            token_endpoint: endpoint.to_owned(),
            client_id: client.id.clone(),
            client_secret: client.secret.clone(),
            method: client.auth,
            access_token: None,
            refresh_token: None,
            renew_at: None,
            scope: String::new(),
            wanted_scope: None,
        }
    }

    pub(super) fn client(&self) -> Client {
        Client { id: self.client_id.clone(), secret: self.client_secret.clone(), auth: self.method }
    }

    pub(super) fn token(&self) -> Option<Token> {
        let (refresh, scope) = (self.refresh_token.clone(), Scope::parse(&self.scope));
        Some(Token { access: self.access_token.clone()?, refresh, renew_at: self.renew_at, scope })
    }

    pub(super) fn set_token(&mut self, token: &Token) {
        self.access_token = Some(token.access.clone());
        self.refresh_token.clone_from(&token.refresh);
        self.renew_at = token.renew_at;
        self.scope = token.scope.text();
        self.wanted_scope = None;
    }

    /// The token is worth nothing any more; who we are at the authorization server still is.
    pub(super) fn end(&mut self) {
        (self.access_token, self.refresh_token, self.renew_at) = (None, None, None);
    }

    /// All that the next login should ask for, where the server has asked for more than this one gave.
    pub(super) fn wanted(&self) -> Option<Scope> {
        let wanted = Scope::parse(self.wanted_scope.as_deref()?);
        Some(Scope::parse(&self.scope).with(&wanted))
    }

    pub(super) fn want(&mut self, scope: &Scope) {
        self.wanted_scope = Some(scope.text());
    }
}

impl LoginFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The service that the file is named after.
    pub(super) fn service(&self) -> String {
        let stem = self.0.file_stem().unwrap_or_default().to_string_lossy();
        percent_decode_str(&stem).decode_utf8_lossy().into_owned()
    }

    /// The login for the server at `url`, if there is one.
    pub(super) fn read(&self, url: &str) -> Result<Option<Login>, Failure> {
        let mut text = String::new();
        let read = File::open(&self.0).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| self.unusable("read", &error))?,
        };
        // One that cannot be understood is replaced by the next login.
        let login: Option<Login> = serde_json::from_str(&text).ok();
        Ok(login.filter(|login| login.url == url))
    }

    /// Replaces the file as a whole; it is ours alone from its first moment.
    pub(super) fn write(&self, login: &Login) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(login).map_err(io::Error::from);
        text.and_then(|text| replace(&self.0, &text)).map_err(|error| self.unusable("written", &error))
    }

    /// Keeps other processes of the same person out until dropped.
    pub(super) async fn lock(&self) -> Result<File, Failure> {
        let end = tokio::time::Instant::now() + LOCK_WAIT;
        let opened = private_folder(&self.0).and_then(|()| private().open(self.0.with_extension("lock")));
        let file = opened.map_err(|error| self.unusable("locked", &error))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(self.unusable("locked", &error)),
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() >= end => {
                    return Err(Failure::unreachable("another process keeps the file of the login locked"));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
            }
        }
    }

    fn unusable(&self, verb: &str, error: &io::Error) -> Failure {
        Failure::SignIn(format!("the file of the login, {}, cannot be {verb}: {error}", self.0.display()))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn private_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    private_folder(path)?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private().create_new(true).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> Login {
        let client =
            Client { id: "us".into(), secret: Some(Secret::new("hush")), auth: ClientAuth::ClientSecretPost };
        let mut login = Login::new("https://x/mcp", "https://i", "https://i/t", "https://x", &client);
        login.set_token(&Token {
            access: Secret::new("access-1"),
            refresh: Some(Secret::new("refresh-1")),
            renew_at: Some(SystemTime::now()),
            scope: Scope::parse("a b"),
        });
        login
    }

    #[test]
    fn keeps_a_login_for_its_owner_and_its_server_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins/my%20notes.json");
        let file = LoginFile::new(path.clone());
        assert_eq!(file.service(), "my notes");
        assert!(file.read("https://x/mcp").unwrap().is_none());
        file.write(&login()).unwrap();
        file.write(&login()).unwrap();
        let read = file.read("https://x/mcp").unwrap().unwrap();
        let token = read.token().unwrap();
        assert_eq!((token.access.expose(), token.refresh.unwrap().expose()), ("access-1", "refresh-1"));
        assert_eq!(read.client().secret.unwrap().expose(), "hush");
        assert!(file.read("https://y/mcp").unwrap().is_none(), "a token goes to no other server");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        std::fs::write(&path, "{").unwrap();
        assert!(file.read("https://x/mcp").unwrap().is_none());
    }

    #[test]
    fn asks_for_everything_once_more_when_the_server_wants_more() {
        let mut login = login();
        assert!(login.wanted().is_none());
        login.want(&Scope::parse("c"));
        assert_eq!(login.wanted(), Some(Scope::parse("a b c")));
        assert!(!format!("{login:?}").contains("access-1"));
    }
}
