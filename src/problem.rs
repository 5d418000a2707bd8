//! Mistakes in a user's file, as values: collected, sorted, then shown together. Not for
//! failures of the machine (a missing program, a full disk); those are error enums.

pub mod code;
pub mod errors;
mod positions;
mod render;
pub mod suggest;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::json;

pub use self::code::Code;
use self::positions::TextPositions;
pub use self::render::{MAX_SHOWN, RenderOptions};

/// The severity of a [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The kernel cannot be built until this is mended.
    Error,
    /// A value is ignored or doubtful; the build goes on.
    Warning,
}

impl Severity {
    /// Lower-case name, as used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Where a value stands in its file: its key path and its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Key path such as `kernel.relu.src[1]`; empty for the file as a whole.
    pub key: String,
    /// Byte range in the source text.
    pub span: Range<usize>,
}

/// A second spot that explains the first, for example the earlier of two duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedSpot {
    /// Byte range in the same source text.
    pub span: Range<usize>,
    /// The text to show at that spot.
    pub label: String,
}

/// A file of the user's besides the one that a collection of problems is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The name that the user is shown.
    pub name: String,
    /// Its whole content.
    pub text: Arc<str>,
}

/// One mistake, with its place and its cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Entry of the table in [`code`].
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// Key path and byte range of the offending text.
    pub place: Place,
    /// The file that the byte ranges refer to; `None` for the one that the collection is about.
    pub file: Option<Arc<SourceFile>>,
    /// The mistake, as one sentence without a full stop.
    pub message: String,
    /// Short text under the caret.
    pub label: String,
    /// Other spots worth showing.
    pub related: Vec<RelatedSpot>,
    /// The cure.
    pub help: String,
}

impl Problem {
    /// An error at `place`.
    pub fn error(code: Code, place: &Place, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, place, message.into())
    }

    /// A warning at `place`.
    pub fn warning(code: Code, place: &Place, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, place, message.into())
    }

    fn new(code: Code, severity: Severity, place: &Place, message: String) -> Self {
        Self {
            code,
            severity,
            place: place.clone(),
            file: None,
            message,
            label: String::new(),
            related: Vec::new(),
            help: String::new(),
        }
    }

    /// Sets the file that the byte ranges refer to.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<SourceFile>) -> Self {
        self.file = Some(Arc::clone(file));
        self
    }

    /// Sets the text under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the cure.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Adds a second spot.
    #[must_use]
    pub fn related(mut self, place: &Place, label: impl Into<String>) -> Self {
        self.related.push(RelatedSpot {
            span: place.span.clone(),
            label: label.into(),
        });
        self
    }
}

/// All problems found in one named source, in the order of their position, then the problems of
/// other files.
#[derive(Debug, Clone)]
pub struct Problems {
    name: String,
    text: Arc<str>,
    /// NB: a file may have as many problems as bytes, so no step looks at all of them for each.
    items: BTreeMap<ProblemOrder, Problem>,
    /// The key paths of faults. The edition of a file is no fault of the key that gave it away.
    blamed: BTreeSet<String>,
}

/// The file that a problem is in, `None` for the collection's own; its first byte and its end; the
/// number of earlier problems there.
type ProblemOrder = (Option<String>, usize, usize, usize);

impl Problems {
    /// An empty collection for the file shown as `name` whose whole content is `text`.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            items: BTreeMap::new(),
            blamed: BTreeSet::new(),
        }
    }

    /// Adds a problem at its place in the order of the file. A problem that is there already is not
    /// added again: a section that stands for two has each of its mistakes once.
    pub fn push(&mut self, problem: Problem) {
        let file = problem.file.as_ref().map(|file| file.name.clone());
        let Range { start, end } = problem.place.span;
        let here = (file.clone(), start, end, 0)..=(file.clone(), start, end, usize::MAX);
        let mut earlier = self.items.range(here);
        let count = earlier.clone().count();
        if earlier.any(|(_, old)| *old == problem) {
            return;
        }
        if problem.code != code::OLD_EDITION {
            self.blamed.insert(problem.place.key.clone());
        }
        self.items.insert((file, start, end, count), problem);
    }

    /// Whether there is a fault at or below a key path.
    pub fn blames(&self, key: &str) -> bool {
        let is_below = |separator: char| {
            let prefix = format!("{key}{separator}");
            let mut after = self.blamed.range(prefix.clone()..);
            after.next().is_some_and(|key| key.starts_with(&prefix))
        };
        self.blamed.contains(key) || is_below('.') || is_below('[')
    }

    /// Name of the file, as given to the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The source the byte ranges refer to.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every problem, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.items.values()
    }

    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether the file has an error, and so cannot be used.
    pub fn has_errors(&self) -> bool {
        self.error_count() > 0
    }

    /// Number of errors.
    pub fn error_count(&self) -> usize {
        self.count(Severity::Error)
    }

    /// Number of warnings.
    pub fn warning_count(&self) -> usize {
        self.count(Severity::Warning)
    }

    fn count(&self, severity: Severity) -> usize {
        self.iter().filter(|p| p.severity == severity).count()
    }

    /// The closing line: `2 errors and 1 warning in build.toml`.
    pub fn summary(&self) -> String {
        let plural = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        let counts = match (self.error_count(), self.warning_count()) {
            (0, 0) => "no problems".to_owned(),
            (e, 0) => plural(e, "error"),
            (0, w) => plural(w, "warning"),
            (e, w) => format!("{} and {}", plural(e, "error"), plural(w, "warning")),
        };
        // The file itself may have no problems, while another file has some.
        let own = self.iter().any(|problem| problem.file.is_none());
        let own = (own || self.items.is_empty()).then_some(self.name());
        let others = self.iter().filter_map(|problem| problem.file.as_ref());
        let mut files: Vec<&str> = own.into_iter().collect();
        files.extend(others.map(|file| file.name.as_str()));
        files.dedup();
        match files[..] {
            [first] => format!("{counts} in {first}"),
            [first, second] => format!("{counts} in {first} and {second}"),
            _ => format!("{counts} in {} files", files.len()),
        }
    }

    /// The name and the content of the file that a problem is in.
    pub fn source_of<'a>(&'a self, problem: &'a Problem) -> (&'a str, &'a str) {
        match &problem.file {
            Some(file) => (&file.name, &file.text),
            None => (&self.name, &self.text),
        }
    }

    /// The problems as JSON, for an editor or a CI job. Lines and columns count from 1, columns in
    /// Unicode scalar values; the end is the first position after the text.
    pub fn to_json(&self) -> serde_json::Value {
        let mut positions: BTreeMap<&str, TextPositions<'_>> = BTreeMap::new();
        let problems: Vec<_> = self
            .iter()
            .map(|p| {
                let (file, text) = self.source_of(p);
                let positions = positions
                    .entry(file)
                    .or_insert_with(|| TextPositions::new(text));
                let (line, column) = positions.line_column(p.place.span.start);
                let (end_line, end_column) = positions.line_column(p.place.span.end);
                json!({
                    "code": p.code.id,
                    "severity": p.severity.as_str(),
                    "file": file,
                    "key": p.place.key,
                    "message": p.message,
                    "help": p.help,
                    "line": line,
                    "column": column,
                    "end_line": end_line,
                    "end_column": end_column,
                })
            })
            .collect();
        json!({
            "file": self.name,
            "errors": self.error_count(),
            "warnings": self.warning_count(),
            "problems": problems,
        })
    }

    /// Line and column, both from 1, of a byte offset of the file; an offset outside the text
    /// counts as the nearest one inside.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        TextPositions::new(&self.text).line_column(offset)
    }
}

/// Largest character boundary that is not above `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let problems = Problems::new("build.toml", "a = 1\nä = é\n");
        assert_eq!(problems.line_column(0), (1, 1));
        assert_eq!(problems.line_column(11), (2, 5));
        // Inside the two bytes of `é`, and past the end.
        assert_eq!(problems.line_column(12), (2, 5));
        assert_eq!(problems.line_column(99), (3, 1));
    }

    #[test]
    fn problems_come_out_in_file_order() {
        let place = |at: usize| Place {
            key: String::new(),
            span: at..at + 1,
        };
        let mut problems = Problems::new("build.toml", "0123456789");
        for (at, message) in [(5, "5a"), (1, "1"), (9, "9"), (5, "5b"), (9, "9")] {
            problems.push(Problem::error(code::SYNTAX, &place(at), message));
        }
        problems.push(Problem::warning(code::LICENSE_ODD, &place(0), "w"));
        let order: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(order, ["w", "1", "5a", "5b", "9"]);
        assert_eq!(problems.summary(), "4 errors and 1 warning in build.toml");
    }
}
