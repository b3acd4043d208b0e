//! `db` on a SQLite file, a PostgreSQL server and a MariaDB server.

mod hostile;
mod hostile_statements;
mod limits;
mod queries;
mod sessions;
mod support;
mod tables;
mod tenants;
mod values;
mod writing;
