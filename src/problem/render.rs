//! Shows problems as text for people, through miette. Not the JSON form, which is in the
//! parent module.

use std::fmt;
use std::ops::Range;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

use super::positions::TextPositions;
use super::{Problem, Problems, Severity, floor_boundary};

/// The most problems that are shown. JSON has all of them.
pub const MAX_SHOWN: usize = 100;

/// The most bytes of a text, and of the lines around a place, that are shown.
const MAX_TEXT: usize = 4000;

/// Options for the layout of [`Problems::render`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderOptions {
    /// Columns to wrap at; kept between 80 and 100.
    pub width: usize,
    /// Whether to use ANSI colours.
    pub color: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
        }
    }
}

impl Problems {
    /// The problems with code, key path, message, snippet and cure, then the summary line. Of very
    /// many problems the first ones, errors before warnings. Empty when there are no problems.
    pub fn render(&self, options: RenderOptions) -> String {
        if self.is_empty() {
            return String::new();
        }
        let theme = if options.color {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(options.width.clamp(80, 100))
            .with_break_words(false)
            .without_syntax_highlighting()
            .with_links(false);
        let mut source = SourceLines::new(self.name(), printable(self.text()));
        let mut out = String::new();
        for problem in self.shown() {
            // Definitions of one file follow each other.
            let (name, text) = self.source_of(problem);
            if source.name != name {
                source = SourceLines::new(name, printable(text));
            }
            let view = ProblemView {
                problem,
                source: &source,
            };
            // Writing to a String fails only if miette rejects a span; the spans are clamped,
            // and the plain form keeps the message even then.
            if handler.render_report(&mut out, &view).is_err() {
                let start = problem.place.span.start;
                let (line, column) = TextPositions::new(text).line_column(start);
                out.push_str(&format!("{name}:{line}:{column}: {}\n", view));
            }
            out.push('\n');
        }
        let hidden = self.iter().count().saturating_sub(MAX_SHOWN);
        if hidden > 0 {
            out.push_str(&format!(
                "and {hidden} more: `kernel-builder check-config --json` lists all\n"
            ));
        }
        out.push_str(&self.summary());
        out.push('\n');
        out
    }

    /// The problems that are shown, in the order of the file.
    fn shown(&self) -> impl Iterator<Item = &Problem> {
        let mut errors = MAX_SHOWN;
        let mut warnings = MAX_SHOWN.saturating_sub(self.error_count());
        self.iter().filter(move |problem| {
            let room = match problem.severity {
                Severity::Error => &mut errors,
                Severity::Warning => &mut warnings,
            };
            let has_room = *room > 0;
            *room -= usize::from(has_room);
            has_room
        })
    }
}

/// The text with every character that could steer a terminal replaced by one of the same
/// length in bytes, so that the spans still fit.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\n' | '\t' => c,
            '\r' if chars.peek() == Some(&'\n') => c,
            c if c.is_control() && c.len_utf8() == 1 => '?',
            c if c.is_control() => '·',
            // Text direction overrides, which show a line in another order than it is read.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c => c,
        });
    }
    out
}

/// The text with every character that could steer a terminal replaced by its number, for text
/// without spans. Only the begin of a very long text.
fn one_line(text: &str) -> String {
    let shown = &text[..floor_boundary(text, MAX_TEXT)];
    let rest = if shown.len() < text.len() { "…" } else { "" };
    shown
        .chars()
        .chain(rest.chars())
        .map(|c| match c {
            '\n' => "\n".to_owned(),
            c if c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                c.escape_default().to_string()
            }
            c => c.to_string(),
        })
        .collect()
}

#[derive(Debug)]
struct SourceLines<'a> {
    name: &'a str,
    text: String,
    /// Where each line starts.
    lines: Vec<usize>,
}

impl<'a> SourceLines<'a> {
    fn new(name: &'a str, text: String) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_breaks).collect();
        Self { name, text, lines }
    }

    /// The line that a byte is in, counted from 0.
    fn line_of(&self, offset: usize) -> usize {
        self.lines
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }

    /// The bytes of the lines around a span.
    fn around(&self, span: &Range<usize>, before: usize, after: usize) -> Range<usize> {
        let first = self.line_of(span.start).saturating_sub(before);
        let last = self.line_of(span.end) + after;
        self.lines[first]..self.lines.get(last + 1).map_or(self.text.len(), |end| *end)
    }
}

impl SourceCode for SourceLines<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // miette counts lines from the start of the text that it is given. With a whole file and
        // thousands of problems that takes a minute, so miette gets only the lines that it will
        // show.
        let bytes = span.offset()..span.offset() + span.len();
        let window = self.around(&bytes, context_lines_before, context_lines_after);
        let first = self.line_of(window.start);
        let shown = SourceSpan::from((span.offset().saturating_sub(window.start), span.len()));
        let inner = self.text[window.clone()].read_span(
            &shown,
            context_lines_before,
            context_lines_after,
        )?;
        let span = SourceSpan::from((inner.span().offset() + window.start, inner.span().len()));
        // NB: miette counts this column in bytes; people and editors count characters.
        let start = floor_boundary(&self.text, span.offset());
        let column = if inner.column() == 0 {
            0
        } else {
            let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
            self.text[line..start].chars().count()
        };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.to_owned(),
            inner.data(),
            span,
            inner.line() + first,
            column,
            // The last line's number, which miette calls the count.
            inner.line_count() + first,
        )))
    }
}

#[derive(Debug)]
struct ProblemView<'a> {
    problem: &'a Problem,
    source: &'a SourceLines<'a>,
}

impl ProblemView<'_> {
    /// Whether a span with its lines is short enough to be shown.
    fn is_short(&self, span: &Range<usize>) -> bool {
        self.source.around(span, 1, 1).len() <= MAX_TEXT
    }

    fn label(&self, span: &Range<usize>, text: &str, primary: bool) -> LabeledSpan {
        let start = floor_boundary(&self.source.text, span.start);
        let end = floor_boundary(&self.source.text, span.end).max(start);
        let text = (!text.is_empty()).then(|| one_line(text));
        if primary {
            LabeledSpan::new_primary_with_span(text, (start, end - start))
        } else {
            LabeledSpan::new_with_span(text, (start, end - start))
        }
    }
}

impl fmt::Display for ProblemView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.problem.message))
    }
}

impl std::error::Error for ProblemView<'_> {}

impl Diagnostic for ProblemView<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let Problem { code, place, .. } = self.problem;
        let key = match place.key.as_str() {
            "" => String::new(),
            key => format!(" at {}", one_line(key)),
        };
        let line = match self.is_short(&place.span) {
            true => String::new(),
            false => format!(" in line {}", self.source.line_of(place.span.start) + 1),
        };
        Some(Box::new(format!("{code}{key}{line}")))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = &self.problem.help;
        (!help.is_empty()).then(|| Box::new(one_line(help)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.is_short(&self.problem.place.span)
            .then_some(self.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let first = self.label(&self.problem.place.span, &self.problem.label, true);
        let others = self.problem.related.iter();
        let others = others.filter(|related| self.is_short(&related.span));
        let others = others.map(|r| self.label(&r.span, &r.label, false));
        Some(Box::new(std::iter::once(first).chain(others)))
    }
}
