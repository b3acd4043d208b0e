//! Connections to RabbitMQ: over sockets of ours, to addresses that were checked.

use super::failure;
use super::publisher::Publisher;
use crate::mq::address::Address;
use crate::mq::broker::Options;
use crate::mq::unanswered::Unanswered;
use crate::shared::network::dial;
use crate::shared::wire::TlsConfig;
use async_compat::Compat;
use lapin::tcp::RustlsConnector;
use lapin::uri::{AMQPAuthority, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{AsyncTcpStream, Channel, Connection, ConnectionProperties};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tool::{Error, Result};

/// The way to one virtual host.
pub(super) struct Connections {
    address: Address,
    options: Options,
    tls: TlsConfig,
    /// What calls share, with the channel that publishes.
    shared: Mutex<Option<Arc<Publisher>>>,
    pub(super) unanswered: Unanswered,
}

impl Connections {
    pub(super) fn new(address: Address, mut options: Options) -> Self {
        let tls = TlsConfig::new(std::mem::take(&mut options.tls));
        Self { address, options, tls, shared: Mutex::default(), unanswered: Unanswered::default() }
    }

    /// The one that publishes, opened anew where its connection or channel has ended, or answers no more.
    pub(super) async fn publisher(&self) -> Result<Arc<Publisher>> {
        let mut shared = self.shared.lock().await;
        if let Some(publisher) = shared.as_ref().filter(|publisher| publisher.is_open())
            && self.unanswered.is_alive(self.options.timeout, publisher.answers()).await
        {
            return Ok(publisher.clone());
        }
        let budget = self.options.budget();
        let publisher = budget.run(|| async {
            let connection = Box::pin(self.open()).await?;
            Ok(Arc::new(Publisher::open(connection).await?))
        });
        let publisher = publisher.await?;
        *shared = Some(publisher.clone());
        Ok(publisher)
    }

    /// A channel of its own, for what may end one.
    pub(super) async fn channel(&self) -> Result<Channel> {
        self.publisher().await?.channel().await
    }

    /// A connection of its own.
    pub(super) async fn open(&self) -> Result<Connection> {
        let stream = Arc::new(Mutex::new(Some(self.dial().await?)));
        let runtime = lapin::runtime::default_runtime().map_err(|error| failure::of_connecting(&error))?;
        let connect = async move |_, _| {
            let dialled = stream.lock().await.take();
            dialled.ok_or_else(|| std::io::Error::other("a connection is made once").into())
        };
        let properties = ConnectionProperties::default().with_connection_name("mcp-all-in-one".into());
        let opened = Connection::connector(self.uri(), runtime, connect, properties).await;
        opened.map_err(|error| failure::of_connecting(&error))
    }

    async fn dial(&self) -> Result<AsyncTcpStream<Compat<TcpStream>>> {
        let (host, port) = (&self.address.host, self.address.port);
        let stream = dial(host, port, &self.options.policy).await;
        let stream = stream.map_err(|error| error.about("broker"))?;
        // Answers to small questions must not wait for more.
        let _ = stream.set_nodelay(true);
        let stream = AsyncTcpStream::Plain(Compat::new(stream));
        if !self.address.is_secure {
            return Ok(stream);
        }
        let connector = RustlsConnector::from(self.tls.get().await?);
        stream.into_rustls(&connector, &self.tls.name_of(host)).await.map_err(|error| {
            let message =
                "the broker does not speak TLS as it should; check 'tls.ca', 'tls.server_name' and the port";
            Error::unavailable(message).caused_by(error).retryable()
        })
    }

    /// Encryption is our affair, so the library is told of none.
    fn uri(&self) -> AMQPUri {
        let address = &self.address;
        let password = address.password.as_ref().map_or("guest", |password| password.expose());
        AMQPUri {
            scheme: AMQPScheme::AMQP,
            authority: AMQPAuthority {
                userinfo: AMQPUserInfo {
                    username: address.username.clone().unwrap_or_else(|| "guest".to_owned()),
                    password: password.to_owned(),
                },
                host: address.host.clone(),
                port: address.port,
            },
            vhost: if address.path.is_empty() { "/".to_owned() } else { address.path.clone() },
            query: Default::default(),
        }
    }
}
