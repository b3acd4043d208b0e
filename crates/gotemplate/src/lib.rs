//! Go text/template over JSON, compiled once and bounded in every direction.
