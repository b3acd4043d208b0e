//! One folder per URI scheme: how the gateway talks to the services behind it.
