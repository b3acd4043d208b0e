//! What the connector does with real servers and with broken ones.
