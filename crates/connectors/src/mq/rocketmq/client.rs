//! The way to RocketMQ's proxies: signed calls over connections that the guard has checked, also those that a route names.

use super::calls::{QUERY_ROUTE, QueryRouteRequest, QueryRouteResponse, Reply};
use super::failure;
use super::proto::Resource;
use super::route::{Route, endpoints_of};
use super::signature::{Credentials, headers};
use crate::mq::broker::Options;
use crate::shared::grpc::connection::Connections;
use crate::shared::grpc::exchange::Message as Call;
use crate::shared::grpc::failure::Failure;
use crate::shared::grpc::frame::Answer;
use crate::shared::instance::Instance;
use bytes::Bytes;
use chrono::Utc;
use fetch::http::uri::PathAndQuery;
use futures::channel::mpsc::UnboundedSender;
use prost::Message;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::task::TaskTracker;
use tool::Result;

/// The most bytes of one message of an answer; RocketMQ takes no messages of more than 4 MiB unless told to.
const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// How long is believed where a topic is.
const ROUTE_AGE: Duration = Duration::from_secs(30);
/// A service has a handful of topics; what is more was put there by somebody who means harm.
const MAX_ROUTES: usize = 1000;

/// One cluster, and what the settings say of it.
pub(super) struct Client {
    connections: Connections,
    credentials: Option<Credentials>,
    servers: Vec<Instance>,
    /// By which we are known where no session is needed.
    id: String,
    pub(super) options: Options,
    /// Where work goes on that outlives its call.
    pub(super) tasks: TaskTracker,
    routes: Mutex<HashMap<String, (Instant, Arc<Route>)>>,
}

impl Client {
    pub(super) fn new(
        connections: Connections,
        credentials: Option<Credentials>,
        servers: Vec<Instance>,
        options: Options,
        tasks: TaskTracker,
    ) -> Self {
        let (id, routes) = (tool::new_id(), Mutex::default());
        Self { connections, credentials, servers, id, options, tasks, routes }
    }

    /// Where we were told to go.
    pub(super) fn servers(&self) -> &[Instance] {
        &self.servers
    }

    /// Asks, and believes the answer if it says that it is good.
    pub(super) async fn ask<R: Reply>(
        &self,
        at: (&Instance, &str),
        path: &'static str,
        request: &impl Message,
        topic: &str,
    ) -> Result<R> {
        let reply: R = self.exchange(at, path, request).await.map_err(failure::of)?;
        failure::check(reply.status(), topic)?;
        Ok(reply)
    }

    /// Asks an instance as a client of this id, and reads the one answer.
    pub(super) async fn exchange<R: Message + Default>(
        &self,
        (at, id): (&Instance, &str),
        path: &'static str,
        request: &impl Message,
    ) -> Result<R, Failure> {
        let mut watch = Watch { client: self, at, is_over: false };
        let timeout = self.options.timeout;
        let asking = async { self.begin((at, id), path, request, timeout).await?.only().await };
        let answer = tokio::time::timeout(timeout, asking).await.unwrap_or(Err(Failure::Cut));
        watch.is_over = !matches!(answer, Err(Failure::Cut));
        R::decode(answer?).map_err(|_| Failure::Protocol("it is none of RocketMQ's messages"))
    }

    /// Asks an instance; the messages of the answer are read from what this gives.
    pub(super) async fn begin(
        &self,
        (at, id): (&Instance, &str),
        path: &'static str,
        request: &impl Message,
        left: Duration,
    ) -> Result<Answer, Failure> {
        let call = self.call(id, path, request);
        match call.stream(self.connections.get(at).await?, left).await {
            // A server may have taken leave of a connection that was good so far.
            Err(Failure::Unsent(_)) => {
                self.connections.forget(at);
                call.stream(self.connections.get(at).await?, left).await
            }
            begun => begun,
        }
    }

    /// Opens a stream in both directions.
    pub(super) async fn converse(
        &self,
        (at, id): (&Instance, &str),
        path: &'static str,
        request: &impl Message,
        left: Duration,
    ) -> Result<(UnboundedSender<Bytes>, Answer), Failure> {
        let connection = self.connections.get(at).await?;
        self.call(id, path, request).converse(connection, left).await
    }

    fn call(&self, id: &str, path: &'static str, request: &impl Message) -> Call {
        let headers = headers(self.credentials.as_ref(), id, Utc::now());
        Call::new(PathAndQuery::from_static(path), headers, &request.encode_to_vec(), MAX_ANSWER_BYTES)
    }

    /// Whether any of the servers can be connected to.
    pub(super) async fn connect(&self) -> Result<()> {
        let mut first = None;
        for server in &self.servers {
            match self.connections.get(server).await {
                Ok(_) => return Ok(()),
                Err(failure) => first = first.or(Some(failure)),
            }
        }
        first.map_or(Ok(()), |failure| Err(failure::of(failure)))
    }

    /// Where a topic is, asked for where that is not known.
    ///
    /// # Errors
    /// `Missing` where RocketMQ does not have it.
    pub(super) async fn route(&self, topic: &str) -> Result<Arc<Route>> {
        if let Some(known) = self.known_route(topic) {
            return Ok(known);
        }
        let route = Arc::new(self.query_route(topic).await?);
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if routes.len() >= MAX_ROUTES {
            routes.clear();
        }
        routes.insert(topic.to_owned(), (Instant::now(), route.clone()));
        Ok(route)
    }

    fn known_route(&self, topic: &str) -> Option<Arc<Route>> {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, route) = routes.get(topic)?;
        (at.elapsed() < ROUTE_AGE).then(|| route.clone())
    }

    /// The topic was not where it was said to be.
    pub(super) fn forget_route(&self, topic: &str) {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
    }

    /// Asks the servers one after the other until one answers.
    async fn query_route(&self, topic: &str) -> Result<Route> {
        let request =
            QueryRouteRequest { topic: Resource::named(topic), endpoints: Some(endpoints_of(&self.servers)) };
        let mut first = None;
        for server in &self.servers {
            let asked = self.ask((server, &self.id), QUERY_ROUTE, &request, topic).await;
            match asked {
                Ok(QueryRouteResponse { message_queues, .. }) => return Route::read(&message_queues, topic),
                Err(error) if error.is_retryable() => first = first.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(first.unwrap_or_else(|| failure::missing(topic)))
    }
}

/// Sees to it that a connection over which no answer came is not used again: the way may be dead, and nobody would be
/// told.
struct Watch<'a> {
    client: &'a Client,
    at: &'a Instance,
    is_over: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.client.connections.forget(self.at);
        }
    }
}
