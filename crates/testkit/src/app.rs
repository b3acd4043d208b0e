//! The whole program in the process: as it is wired for `serve`, on a free port, with a database of its own.

use crate::client::Client;
use crate::database::{Backend, Database};
use app::wiring::{self, Settings};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::Secret;

/// A running program. It is a [`Client`] that holds the admin key; it stops when dropped.
pub struct TestApp {
    admin: Client,
    data_dir: PathBuf,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
    // Dropped last, when nothing uses it any more.
    database: Arc<Database>,
}

impl TestApp {
    /// Starts with an empty database.
    pub async fn start(backend: Backend) -> Self {
        Self::start_with(backend, |_| {}).await
    }

    /// Starts with an empty database and other settings than the usual.
    pub async fn start_with(backend: Backend, change: impl FnOnce(&mut Settings)) -> Self {
        let database = Arc::new(Database::create(backend).await);
        Self::start_on(&database, change).await
    }

    /// Starts on a database that nobody has started on yet.
    ///
    /// # Panics
    /// When it does not start, or makes no admin key.
    pub async fn start_on(database: &Arc<Database>, change: impl FnOnce(&mut Settings)) -> Self {
        let (mut app, key) = Self::open(database.clone(), database.data_dir(), change).await;
        let key = key.expect("the first start makes an admin key");
        app.admin = app.admin.as_key(key.expose());
        app
    }

    /// Starts on a database that has been used: nobody is signed in.
    pub async fn restart(database: &Arc<Database>) -> Self {
        Self::open(database.clone(), database.data_dir(), |_| {}).await.0
    }

    /// Starts one more server on the same database, with the same admin key.
    pub async fn replica(&self, name: &str) -> Self {
        let data_dir = self.database.replica_data_dir(name);
        let (mut app, key) = Self::open(self.database.clone(), data_dir, |_| {}).await;
        assert!(key.is_none(), "there is an admin key already");
        app.admin = self.admin.at(app.address());
        app
    }

    async fn open(
        database: Arc<Database>,
        data_dir: PathBuf,
        change: impl FnOnce(&mut Settings),
    ) -> (Self, Option<Secret>) {
        let mut settings = Settings::in_dir(&data_dir);
        settings.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        settings.database = database.url().map(Secret::new);
        settings.allow_private_network = true;
        settings.server.shutdown_timeout = Duration::from_secs(20);
        change(&mut settings);
        let started = wiring::start(settings).await.unwrap_or_else(|failure| panic!("{failure:?}"));
        let (address, key) = (started.address, started.admin_key.clone());
        let stop = CancellationToken::new();
        let running = tokio::spawn(started.run(stop.clone()));
        let admin = Client::new(address);
        (Self { admin, data_dir, stop, running: Some(running), database }, key)
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// The data folder of this server.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Makes a tenant and returns its manager.
    pub async fn with_tenant(&self, id: &str) -> Client {
        self.post("tenants", json!({ "id": id, "name": id })).await.is(201);
        self.with_key(json!({ "name": "manager", "tenant": id, "role": "manager" })).await
    }

    /// Makes a key and returns its holder.
    pub async fn with_key(&self, key: Value) -> Client {
        self.as_key(self.post("keys", key).await.is(201).string("key"))
    }

    /// Makes a service in the admin's tenant.
    pub async fn service(&self, service: Value) {
        self.post("services", service).await.is(201);
    }

    /// Stops as SIGTERM would and waits for the end.
    ///
    /// # Panics
    /// When it ends badly.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            running.await.expect("the server ends well");
        }
    }
}

impl Deref for TestApp {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.admin
    }
}

impl Drop for TestApp {
    /// The server's tasks see the signal and end by themselves.
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
