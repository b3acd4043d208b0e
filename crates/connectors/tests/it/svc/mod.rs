//! Internal services.

#[cfg(feature = "grpc")]
mod grpc;
