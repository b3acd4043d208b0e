//! What a template may use and how it treats absent data.

/// Settings of one compiled template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// What a missing key or a null prints.
    pub missing: Missing,
    /// What becomes of the values that actions print.
    pub escape: Escape,
    /// The bounds that keep a hostile template harmless.
    pub limits: Limits,
}

/// How a missing key is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missing {
    /// Prints `<no value>`, as Go does.
    #[default]
    NoValue,
    /// Prints nothing.
    Empty,
    /// Stops with an error at a key that is not there; a key holding null prints `<no value>`.
    Error,
    /// Stops with an error at a key that is not there, and where a null would be printed.
    Strict,
}

impl Missing {
    /// A key that is not there is an error.
    pub(crate) fn refuses_absent_keys(self) -> bool {
        matches!(self, Self::Error | Self::Strict)
    }
}

/// What becomes of a value before it is part of the output. The template's own text stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Escape {
    /// It is printed as it is.
    #[default]
    Nothing,
    /// It is printed as the function `html` would: as text in HTML, also between quotes.
    Html,
}

/// Upper bounds; going past one is an [`ErrorKind::Limit`](crate::ErrorKind::Limit) error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Size of the template's source text.
    pub source_bytes: usize,
    /// Depth of blocks, of parentheses and of a field chain; values above 256 count as 256.
    pub nesting: usize,
    /// Depth of `{{template}}` calls.
    pub calls: usize,
    /// Loop steps of one render, over all loops together.
    pub steps: usize,
    /// Size of the rendered output.
    pub output_bytes: usize,
    /// Size of each string a function makes on the way.
    pub string_bytes: usize,
    /// Bytes and list items that the functions of one render may read and write together.
    pub work: usize,
    /// Depth of lists and maps inside each other; values above 256 count as 256.
    pub value_depth: usize,
    /// Width and precision of a `printf` verb.
    pub printf_width: usize,
    /// Length of a regular expression's pattern.
    pub pattern_bytes: usize,
    /// Size of a compiled regular expression.
    pub regex_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 64 << 10,
            nesting: 64,
            calls: 64,
            steps: 100_000,
            output_bytes: 1 << 20,
            string_bytes: 1 << 20,
            work: 16 << 20,
            value_depth: 128,
            printf_width: 10_000,
            pattern_bytes: 4 << 10,
            regex_bytes: 256 << 10,
        }
    }
}

impl Limits {
    /// The parser recurses this deep at most, whatever the settings say.
    pub(crate) fn safe_nesting(&self) -> usize {
        self.nesting.min(256)
    }

    /// Printing, comparing and dropping recurse this deep at most, whatever the settings say.
    pub(crate) fn safe_value_depth(&self) -> usize {
        self.value_depth.min(256)
    }
}
