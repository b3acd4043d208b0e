//! SQL that others wrote: run behind the walls, and everything it may have left taken back.

use super::Db;
use super::arguments::Arguments;
use super::bounds;
use super::engine::{Bound, Described, Origin, Statement};
use super::filter::wrong;
use super::functions::Author;
use super::pool::{Check, Lease};
use super::query::{NamedQuery, TENANT};
use super::rows::{Finished, Heading, Limits, Rows};
use super::settings::DbType;
use super::sql::{Access, Template};
use super::value;
use super::write::maybe_done;
use serde_json::{Map, Value, json};
use tool::{Context, Error, ErrorKind, Output, Result};

/// What stands around columns and rows: the names of the three fields, and whether that is all. (Columns of one name get a
/// number each.)
const AROUND_BYTES: usize = 64;

/// A statement that reads, and the query of the settings that it belongs to, unless a caller has written it.
#[derive(Clone, Copy)]
struct Written<'a> {
    template: &'a Template,
    query: Option<&'a NamedQuery>,
}

impl Written<'_> {
    fn author(&self) -> Author {
        if self.query.is_some() { Author::Settings } else { Author::Caller }
    }
}

impl Db {
    /// The tool `query`.
    pub(super) async fn query(
        &self,
        cx: &Context,
        arguments: Arguments<'_>,
        limits: Limits,
    ) -> Result<Output> {
        let most = limits.rows as u64;
        let rows = arguments.number("maxRows", most, 1, most)?;
        let limits = limits.of_rows(rows);
        let (template, params) = self.statement_of(arguments, Access::Read)?;
        self.read_template(cx, Written { template: &template, query: None }, &params, limits).await
    }

    /// A query with a name.
    pub(super) async fn named(
        &self,
        cx: &Context,
        query: &NamedQuery,
        arguments: Arguments<'_>,
        limits: Limits,
    ) -> Result<Output> {
        let values = query.values(arguments.0)?;
        let written = Written { template: &query.template, query: Some(query) };
        self.read_template(cx, written, &values, limits).await
    }

    /// The tool `execute`.
    pub(super) async fn execute(&self, cx: &Context, arguments: Arguments<'_>) -> Result<Output> {
        let (template, params) = self.statement_of(arguments, Access::Write)?;
        let (mut lease, _) = self.client.lease(Access::Write, self.check_for(Access::Write)).await?;
        let affected = self.write_template(cx, &mut lease, &template, &params).await;
        let affected = affected.map_err(|error| maybe_done(error, &lease));
        self.forget(&mut lease, Access::Write).await;
        lease.release();
        // Whoever makes a table wants to use it next.
        if affected.is_ok() && matches!(template.first_word.as_str(), "create" | "alter" | "drop") {
            self.reread().await;
        }
        super::output(json!({ "affected": affected? }).to_string())
    }

    fn statement_of(
        &self,
        arguments: Arguments<'_>,
        access: Access,
    ) -> Result<(Template, Map<String, Value>)> {
        let sql = arguments.text("sql")?.ok_or_else(|| wrong("sql", "is missing; write one statement"))?;
        let template = Template::parse(sql, self.selection.db_type, access)?;
        Ok((template, arguments.object("params")?.cloned().unwrap_or_default()))
    }

    async fn read_template(
        &self,
        cx: &Context,
        written: Written<'_>,
        params: &Map<String, Value>,
        limits: Limits,
    ) -> Result<Output> {
        check_params(written.template, params)?;
        let (mut lease, is_fresh) = self.client.lease(Access::Read, self.check_for(Access::Read)).await?;
        let mut found = self.read_once(cx, &mut lease, written, params, limits).await;
        let is_dead = found.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable);
        if is_dead && lease.is_spent() && !is_fresh {
            drop(lease);
            lease = self.client.lease(Access::Read, Check::Always).await?.0;
            found = self.read_once(cx, &mut lease, written, params, limits).await;
        }
        if self.keeps_traces(Access::Read) {
            lease.spend();
        }
        lease.release();
        let Finished { headings, json, is_truncated, .. } = found?;
        let columns = columns(&headings);
        let answer = format!("{{\"columns\":{columns},\"rows\":[{json}],\"truncated\":{is_truncated}}}");
        super::output(limits.check_answer(answer)?)
    }

    /// Sessions that cannot forget are new for a statement of somebody and closed behind it: MySQL keeps variables, locks,
    /// warnings and numbers it gave out, a writer of SQLite its temporary tables.
    fn keeps_traces(&self, access: Access) -> bool {
        match self.selection.db_type {
            DbType::Mysql => true,
            DbType::Sqlite => access == Access::Write,
            DbType::Postgresql => false,
        }
    }

    fn check_for(&self, access: Access) -> Check {
        match access {
            _ if self.keeps_traces(access) => Check::Unused,
            Access::Read => Check::IfOld,
            Access::Write => Check::Always,
        }
    }

    async fn forget(&self, lease: &mut Lease, access: Access) {
        match self.keeps_traces(access) {
            true => lease.spend(),
            false => lease.reset().await,
        }
    }

    /// In a transaction that reads only and is always taken back.
    async fn read_once(
        &self,
        cx: &Context,
        lease: &mut Lease,
        written: Written<'_>,
        params: &Map<String, Value>,
        limits: Limits,
    ) -> Result<Finished> {
        lease.begin_reading().await?;
        let found = self.read_within(cx, lease, written, params, limits).await;
        lease.take_back().await;
        found
    }

    async fn read_within(
        &self,
        cx: &Context,
        lease: &mut Lease,
        written: Written<'_>,
        params: &Map<String, Value>,
        limits: Limits,
    ) -> Result<Finished> {
        let db_type = self.selection.db_type;
        let template = written.template;
        self.check_functions(lease, template, Access::Read, written.author()).await?;
        // SQLite calls columns what stands there, and knows names of parameters itself.
        let asked = match db_type {
            DbType::Sqlite => template.written(),
            DbType::Postgresql | DbType::Mysql => template.render(db_type, &[]).0,
        };
        let described = match (lease.describe(&asked).await, written.query) {
            (Err(error), Some(query)) => describe_as_declared(lease, query, error).await?,
            (described, _) => described?,
        };
        let limits =
            limits.beside(columns(&described.headings).len() + AROUND_BYTES + 8 * described.headings.len());
        let (sql, names) = template.render(db_type, &described.parameter_types);
        let mut rows = Rows::new(limits);
        let is_relation = matches!(template.first_word.as_str(), "select" | "with" | "values" | "table");
        let sql = match is_relation {
            true => bounds::within(sql, db_type, &described, limits.bytes),
            false => sql,
        };
        // Some statements say only with their rows what their columns are.
        let Described { headings, parameter_types, .. } = described;
        let values = bind(cx, &names, params, (&parameter_types, db_type))?;
        if !headings.is_empty() {
            rows.set_headings(|| headings);
        }
        let read = lease.read_into(&Statement { sql, values, origin: Origin::Somebody }, &mut rows).await;
        read.map_err(|error| in_plain_words(error, template))?;
        rows.finish()
    }

    async fn write_template(
        &self,
        cx: &Context,
        lease: &mut Lease,
        template: &Template,
        params: &Map<String, Value>,
    ) -> Result<u64> {
        check_params(template, params)?;
        self.check_functions(lease, template, Access::Write, Author::Caller).await?;
        let db_type = self.selection.db_type;
        let plain = template.render(db_type, &[]).0;
        let types = match template.parameters().is_empty() {
            true => Vec::new(),
            false => lease.describe(&plain).await?.parameter_types,
        };
        let (sql, names) = template.render(db_type, &types);
        let values = bind(cx, &names, params, (&types, db_type))?;
        lease.execute(&Statement { sql, values, origin: Origin::Somebody }).await
    }
}

/// Asks again where PostgreSQL cannot tell of what type parameters are: those are what the settings declare. All others
/// stay of the type that it tells, which may be one that the settings have no word for.
async fn describe_as_declared(lease: &mut Lease, query: &NamedQuery, error: Error) -> Result<Described> {
    let template = &query.template;
    let names = template.render(DbType::Postgresql, &[]).1;
    let mut types = vec![String::new(); names.len()];
    let mut error = error;
    while let Some(at) = undetermined(&error).filter(|at| types.get(*at).is_some_and(String::is_empty)) {
        types[at] = query.declared(names[at]).to_owned();
        // The refusal has ended the transaction.
        lease.command("ROLLBACK").await?;
        lease.begin_reading().await?;
        match lease.describe(&template.render(DbType::Postgresql, &types).0).await {
            Ok(described) => {
                let told = described.parameter_types.iter().zip(types);
                let known = |(told, declared): (&String, String)| match declared.is_empty() {
                    true => told.clone(),
                    false => declared,
                };
                return Ok(Described { parameter_types: told.map(known).collect(), ..described });
            }
            Err(other) => error = other,
        }
    }
    Err(error)
}

/// The parameter, from 0, of which PostgreSQL says in any language that it cannot tell its type.
fn undetermined(error: &Error) -> Option<usize> {
    if !matches!(error.service_code(), Some("42P08" | "42P18")) {
        return None;
    }
    let (_, number) = error.message().split_once('$')?;
    let digits = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
    number[..digits].parse::<usize>().ok()?.checked_sub(1)
}

/// Says that a statement may only read, where the database calls it wrong for another reason.
fn in_plain_words(error: Error, template: &Template) -> Error {
    match &template.ends_in {
        Some(word) if error.kind() == ErrorKind::InvalidInput => {
            error.about(&format!("'sql' ends in {word}, and this tool only reads"))
        }
        _ => error,
    }
}

/// What the columns of an answer are called, as JSON.
fn columns(headings: &[Heading]) -> String {
    let columns = headings.iter().map(|heading| {
        let type_name = Some(&heading.type_name).filter(|name| !name.is_empty());
        json!({ "name": heading.name, "type": type_name })
    });
    Value::from(columns.collect::<Vec<_>>()).to_string()
}

/// Every parameter has a value, and every value a parameter.
fn check_params(template: &Template, params: &Map<String, Value>) -> Result<()> {
    let used = template.parameters();
    if let Some(missing) = used.iter().find(|name| **name != TENANT && !params.contains_key(**name)) {
        return Err(wrong("params", &format!("has no value for ':{missing}'")));
    }
    let is_known = |name: &str| used.contains(name) && name != TENANT;
    match params.keys().find(|name| !is_known(name)) {
        Some(unknown) if unknown == TENANT => {
            Err(wrong("params", &format!("must not set ':{TENANT}', which is the caller's tenant")))
        }
        Some(unknown) => {
            Err(wrong("params", &format!("has a value for ':{unknown}', which 'sql' does not use")))
        }
        None => Ok(()),
    }
}

fn bind(
    cx: &Context,
    names: &[&str],
    params: &Map<String, Value>,
    (types, db_type): (&[String], DbType),
) -> Result<Vec<Bound>> {
    let value = |(index, name): (usize, &&str)| match (*name, params.get(*name)) {
        (TENANT, _) => Ok(Bound::Text(cx.tenant.as_str().to_owned())),
        (_, None) => Ok(Bound::Null),
        (name, Some(value)) => value::of_type(&format!("params.{name}"), value, types.get(index), db_type),
    };
    names.iter().enumerate().map(value).collect()
}
