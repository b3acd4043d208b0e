//! The public thing: a template, compiled once and rendered many times.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as Json;

use crate::budget::Budget;
use crate::error::{Error, ErrorKind, Fault};
use crate::options::Options;
use crate::program::Program;
use crate::regexes::Regexes;
use crate::value::{Value, lossy};
use crate::{exec, json, parse, print, resolve, variables};

/// A compiled template: `Send`, `Sync`, and cheap to clone.
///
/// ```
/// use gotemplate::{Options, Template};
/// use serde_json::json;
///
/// let template = Template::compile("hello", "Hello {{ .name | upper }}!", &Options::default())?;
/// assert_eq!(template.render(&json!({ "name": "Ada" }))?, "Hello ADA!");
/// # Ok::<(), gotemplate::Error>(())
/// ```
#[derive(Clone)]
pub struct Template(Arc<Compiled>);

struct Compiled {
    name: Arc<str>,
    source: Box<str>,
    options: Options,
    program: Program,
    regexes: Regexes,
    /// The size of the last output; the next one is likely as long.
    last_size: AtomicUsize,
}

impl Template {
    /// Compiles `source`; `name` is what errors call it and what it may call itself by.
    ///
    /// # Errors
    ///
    /// When the source is no template, or passes a limit; the error says where.
    pub fn compile(name: &str, source: &str, options: &Options) -> Result<Self, Error> {
        let name: Arc<str> = name.into();
        let limits = &options.limits;
        if source.len() > limits.source_bytes {
            return Err(Fault::limit("the size of the source", limits.source_bytes).at(&name, source, 0));
        }
        let program = parse::parse(&name, source, limits.safe_nesting())
            .and_then(|tree| resolve::resolve(&name, &tree))
            .map_err(|(fault, offset)| fault.at(&name, source, offset))?;
        Ok(Self(Arc::new(Compiled {
            name,
            source: source.into(),
            options: options.clone(),
            program,
            regexes: Regexes::default(),
            last_size: AtomicUsize::new(source.len()),
        })))
    }

    /// Renders the template over `data`.
    ///
    /// # Errors
    ///
    /// When the data does not suit the template, or a limit is passed.
    pub fn render(&self, data: &Json) -> Result<String, Error> {
        self.run(Value::from_json(data), &self.0.options)
    }

    /// Renders over JSON text, where integers of any size keep their digits.
    ///
    /// # Errors
    ///
    /// When the text is no JSON, and as for [`Template::render`].
    pub fn render_json(&self, data: &str) -> Result<String, Error> {
        self.render_json_within(data, usize::MAX)
    }

    /// The same with less work than the template's own limit, for those who would rather do much of it elsewhere.
    ///
    /// # Errors
    ///
    /// As for [`Template::render_json`]; the end of the work is [`ErrorKind::Limit`].
    pub fn render_json_within(&self, data: &str, work: usize) -> Result<String, Error> {
        // Reading the data is not the template's work.
        let mut options = self.0.options.clone();
        options.limits.work = usize::MAX;
        let mut budget = Budget::new(&options, &self.0.regexes);
        let data = json::read(&mut budget, data).map_err(|fault| self.locate(fault, 0))?;
        options.limits.work = self.0.options.limits.work.min(work);
        self.run(data, &options)
    }

    /// Renders into a writer; nothing is written unless the whole rendering succeeds.
    ///
    /// # Errors
    ///
    /// When the writer refuses, and as for [`Template::render`].
    pub fn render_into(&self, writer: &mut impl fmt::Write, data: &Json) -> Result<(), Error> {
        let output = self.render(data)?;
        writer
            .write_str(&output)
            .map_err(|_| self.locate(Fault::new(ErrorKind::Write, "the writer refused the output"), 0))
    }

    /// The name it was compiled under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The source it was compiled from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The options it was compiled with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The names that it looks up in its data itself: `name` of `{{ .name }}`, not those of what it loops over.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<String> {
        let tree = parse::parse(&self.0.name, &self.0.source, self.0.options.limits.safe_nesting());
        tree.map(|tree| variables::of_tree(&tree)).unwrap_or_default()
    }

    fn run(&self, data: Value<'_>, options: &Options) -> Result<String, Error> {
        let compiled = &*self.0;
        let bytes = exec::run(
            &compiled.program,
            &compiled.source,
            options,
            &compiled.regexes,
            data,
            compiled.last_size.load(Ordering::Relaxed),
        )
        .map_err(|(fault, offset)| self.locate(fault, offset))?;
        compiled.last_size.store(bytes.len(), Ordering::Relaxed);
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.as_bytes())))
    }

    fn locate(&self, fault: Fault, offset: usize) -> Error {
        fault.at(&self.0.name, &self.0.source, offset)
    }
}

/// Prints the parsed tree as a template that means the same: comments and trimmed space gone,
/// definitions at the end.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match parse::parse(self.name(), self.source(), self.options().limits.safe_nesting()) {
            Ok(tree) => print::tree(f, &tree),
            // It parsed when it was compiled.
            Err(_) => f.write_str(self.source()),
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("name", &self.name())
            .field("source", &self.source())
            .field("options", self.options())
            .finish_non_exhaustive()
    }
}
