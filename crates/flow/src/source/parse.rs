//! Builds the tree from the events of the YAML parser, without recursion and within bounds that aliases count against.

use super::{Content, Entry, MAX_BYTES, Place, Spot, Tree, scalar};
use crate::cursor::join;
use crate::problem::{Code, Problem};
use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};
use std::collections::{HashMap, HashSet};

/// Deep enough for 8 levels of blocks with data in them.
const MAX_DEPTH: usize = 64;
/// What comes out may be more than what went in, since an alias repeats what its anchor says.
const MAX_VALUES: usize = 100_000;
const MAX_TEXT_BYTES: usize = 2 * MAX_BYTES;

/// Parses one document of YAML, which JSON is, too. A key that is written twice is a problem, and the first one counts.
pub(crate) fn parse(text: &str) -> (Option<Tree>, Vec<Problem>) {
    if text.len() > MAX_BYTES {
        let message = format!("a flow has at most {MAX_BYTES} bytes, this one has {}", text.len());
        return (None, vec![Problem::error(Code::LimitExceeded, "", Place::START, message)]);
    }
    let mut builder = Builder::new(text);
    match builder.run() {
        Ok(()) => (builder.root, builder.problems),
        Err(problem) => (None, vec![problem]),
    }
}

/// How much a value is, with everything in it.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
    depth: usize,
}

struct Builder<'a> {
    text: &'a str,
    open: Vec<Open>,
    anchors: HashMap<usize, (Tree, Size)>,
    root: Option<Tree>,
    values: usize,
    text_bytes: usize,
    problems: Vec<Problem>,
}

/// A list or an object whose end has not come yet.
struct Open {
    tree: Tree,
    size: Size,
    anchor: usize,
    /// The key whose value comes next.
    key: Option<(String, Place)>,
    /// All keys so far.
    keys: HashSet<String>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (open, anchors, problems) = (Vec::new(), HashMap::new(), Vec::new());
        Self { text, open, anchors, root: None, values: 0, text_bytes: 0, problems }
    }

    fn run(&mut self) -> Result<(), Problem> {
        let options = granit_parser::options! {
            flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH, emit_comments: false
        };
        for event in Parser::new_from_str_with_options(self.text, options) {
            let (event, span) = event.map_err(|error| {
                let place = place(error.marker());
                Problem::error(Code::Syntax, "", place, format!("this is no YAML: {}", error.info()))
            })?;
            self.take(event, span)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let spot = Spot::plain(place(&span.start));
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(Problem::error(
                Code::Syntax,
                "",
                spot.at,
                "a file holds one flow, here a second document begins",
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let is_bare = style == ScalarStyle::Plain && tag.is_none();
                if is_bare && scalar::is_beyond_64_bits(&text) {
                    let message = format!(
                        "{text} has more than 64 bits and would be rounded; write it as a text, in quotes"
                    );
                    return Err(Problem::error(Code::Syntax, "", spot.at, message));
                }
                let tree = Self::scalar(&text, style, tag.as_deref(), span);
                let size = Size { values: 1, bytes: text.len(), depth: 1 };
                self.count(size, spot.at)?;
                self.finish(tree, size, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Content::List(Vec::new()), spot, anchor),
            Event::MappingStart(_, anchor, _) => self.begin(Content::Map(Vec::new()), spot, anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser closes what it opened");
                let Size { values, bytes, depth } = open.size;
                self.finish(open.tree, Size { values: values + 1, bytes, depth: depth + 1 }, open.anchor)
            }
            Event::Alias(anchor) => {
                let message = "an alias stands for what is written before it, not for what it is in";
                let known = self.anchors.get(&anchor).cloned();
                let (mut tree, size) =
                    known.ok_or_else(|| Problem::error(Code::Syntax, "", spot.at, message))?;
                tree.spot = spot;
                self.count(size, spot.at)?;
                self.finish(tree, size, 0)
            }
            _ => Ok(()),
        }
    }

    fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Tree {
        let at = place(&span.start);
        let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        let content = match style {
            ScalarStyle::Plain if !is_text => scalar::plain(text),
            _ => Content::Text(text.to_owned()),
        };
        let spot = match style {
            ScalarStyle::Plain => Spot::plain(at),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                Spot { text: Place { column: at.column + 1, ..at }, ..Spot::plain(at) }
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                // The parser gives the place of the first line that is not blank.
                let blank = text.len() - text.trim_start_matches('\n').len();
                let line = at.line.saturating_sub(blank);
                Spot { at, text: Place { line, ..at }, keeps_lines: style == ScalarStyle::Literal }
            }
        };
        Tree { spot, content }
    }

    fn begin(&mut self, content: Content, spot: Spot, anchor: usize) -> Result<(), Problem> {
        if self
            .open
            .last()
            .is_some_and(|open| matches!(open.tree.content, Content::Map(_)) && open.key.is_none())
        {
            return Err(Problem::error(
                Code::Syntax,
                "",
                spot.at,
                "a key is a text, not a list or an object",
            ));
        }
        self.count(Size { values: 1, bytes: 0, depth: 1 }, spot.at)?;
        self.open.push(Open {
            tree: Tree { spot, content },
            size: Size::default(),
            anchor,
            key: None,
            keys: HashSet::new(),
        });
        Ok(())
    }

    /// A value is complete: it goes into what is open.
    fn finish(&mut self, tree: Tree, size: Size, anchor: usize) -> Result<(), Problem> {
        if anchor != 0 {
            self.anchors.insert(anchor, (tree.clone(), size));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(tree);
            return Ok(());
        };
        open.size.values += size.values;
        open.size.bytes += size.bytes;
        open.size.depth = open.size.depth.max(size.depth);
        match &mut open.tree.content {
            Content::List(items) => items.push(tree),
            Content::Map(entries) => match open.key.take() {
                None => open.key = Some(key(tree)?),
                Some((key, at)) if !open.keys.insert(key.clone()) => {
                    let path = join(&self.path(), &key);
                    let message = format!("'{key}' is written twice");
                    self.problems.push(Problem::error(Code::Duplicate, &path, at, message));
                }
                Some((key, at)) => entries.push(Entry { key, at, value: tree }),
            },
            _ => unreachable!("only lists and objects are opened"),
        }
        Ok(())
    }

    /// The path of what is open.
    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match (&open.tree.content, &open.key) {
            (Content::List(items), _) => format!("{path}[{}]", items.len()),
            (_, Some((key, _))) => join(&path, key),
            (_, None) => path,
        })
    }

    /// Bounds what aliases make of a small text: a repeated value counts with everything in it.
    fn count(&mut self, size: Size, at: Place) -> Result<(), Problem> {
        self.values += size.values;
        self.text_bytes += size.bytes;
        if self.values > MAX_VALUES || self.text_bytes > MAX_TEXT_BYTES {
            let message = "the document is too large with what its aliases repeat";
            return Err(Problem::error(Code::LimitExceeded, "", at, message));
        }
        if self.open.len() + size.depth > MAX_DEPTH {
            let message = format!("values stand more than {MAX_DEPTH} levels deep in one another");
            return Err(Problem::error(Code::LimitExceeded, "", at, message));
        }
        Ok(())
    }
}

fn key(tree: Tree) -> Result<(String, Place), Problem> {
    let at = tree.spot.at;
    match tree.content {
        Content::Text(text) => Ok((text, at)),
        Content::Null => Ok(("null".to_owned(), at)),
        Content::Bool(value) => Ok((value.to_string(), at)),
        Content::Number(number) => Ok((number.to_string(), at)),
        Content::List(_) | Content::Map(_) => {
            Err(Problem::error(Code::Syntax, "", at, "a key is a text, not a list or an object"))
        }
    }
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line(), column: marker.col() + 1 }
}
