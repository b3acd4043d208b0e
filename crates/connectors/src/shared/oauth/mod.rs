//! OAuth 2 as a client: who asks for tokens, what comes back, and how long it is kept.

mod answer;
mod cache;
mod client;
mod client_credentials;

pub(crate) use answer::{Refusal, TokenResponse, shown};
pub(crate) use cache::{Token, TokenCache};
pub(crate) use client::{Client, ClientAuth, Form};
pub(crate) use client_credentials::{ClientCredentials, Grant};
