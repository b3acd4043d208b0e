//! How requests prove who sends them.

mod check;
mod jwt;
mod settings;
mod signing_key;
mod standing;

pub(crate) use settings::{AuthSettings, AuthType, auth_schema};
pub(crate) use standing::Standing;

use super::network::Policy;
use super::oauth::{ClientCredentials, Token};
use fetch::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use jwt::Minter;
use std::sync::Arc;
use tool::{Context, Result, Secret};

/// A sign-in that is ready to be sent.
#[derive(Debug)]
pub(crate) enum Auth {
    None,
    /// The value is marked sensitive, so it never shows.
    Header(HeaderName, HeaderValue, Vec<Secret>),
    Query(String, Secret),
    /// A token that is come by when it is needed.
    Tokens(TokenSource),
}

impl Auth {
    /// Texts that must not show, whatever an answer quotes.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        match self {
            Self::None => Vec::new(),
            Self::Header(_, _, secrets) => secrets.iter().map(Secret::expose).collect(),
            Self::Query(_, secret) => vec![secret.expose()],
            Self::Tokens(tokens) => vec![tokens.secret()],
        }
    }

    /// The service knows us by something.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The header that signs in, if one does.
    pub(crate) fn header(&self) -> Option<&HeaderName> {
        match self {
            Self::None | Self::Query(..) => None,
            Self::Header(name, ..) => Some(name),
            Self::Tokens(_) => Some(&AUTHORIZATION),
        }
    }
}

/// Where tokens come from that are not written down.
#[derive(Debug)]
pub(crate) enum TokenSource {
    Fetched(ClientCredentials),
    Minted(Box<Minter>),
}

impl TokenSource {
    /// The token to sign with.
    ///
    /// # Errors
    /// When there is none to be had.
    pub(crate) async fn get(
        &self,
        cx: &Context,
        http: &fetch::Client,
        policy: &Policy,
    ) -> Result<Arc<Token>> {
        match self {
            Self::Fetched(tokens) => tokens.get(http, policy).await,
            Self::Minted(tokens) => tokens.get(cx),
        }
    }

    /// The service refused this token: the next call gets another.
    pub(crate) fn refuse(&self, token: &Arc<Token>) {
        match self {
            Self::Fetched(tokens) => tokens.refuse(token),
            Self::Minted(tokens) => tokens.refuse(token),
        }
    }

    fn secret(&self) -> &str {
        match self {
            Self::Fetched(tokens) => tokens.secret(),
            Self::Minted(tokens) => tokens.secret(),
        }
    }
}
