//! `db` on a SQLite file, a PostgreSQL server and a MariaDB server.

mod amiss;
mod busy;
mod calls;
mod digits;
mod hidden_calls;
mod hostile;
mod hostile_statements;
mod large_rows;
mod limits;
mod own_server;
mod own_servers;
mod postgres_tls;
mod queries;
mod sessions;
mod streams;
mod support;
mod tables;
mod tenants;
mod traces;
mod values;
mod writing;
