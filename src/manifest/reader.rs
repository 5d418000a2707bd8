//! Collects the problems of one file while it is read, with the facts that every reader needs.

use std::cell::{Cell, RefCell};

use crate::problem::Problem;

/// Collects the problems that the readers of one file find.
#[derive(Debug, Default)]
pub struct Reader {
    problems: RefCell<Vec<Problem>>,
    /// Lines that were blanked out because they are not TOML. A key on one of them is not reported
    /// as missing.
    broken_lines: Vec<String>,
    /// The old format of the file; problems of unknown keys name it.
    format: Cell<Option<&'static str>>,
}

impl Reader {
    /// A reader for a file of which `broken_lines` could not be parsed.
    pub fn new(broken_lines: Vec<String>) -> Self {
        Self {
            problems: RefCell::default(),
            broken_lines,
            format: Cell::default(),
        }
    }

    /// Says that the keys read from now on are those of an old format.
    pub(super) fn set_format(&self, name: &'static str) {
        self.format.set(Some(name));
    }

    /// The old format that is being read.
    pub(super) fn format(&self) -> Option<&'static str> {
        self.format.get()
    }

    /// Records a problem.
    pub fn report(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    /// Every recorded problem, in the order of reading.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    pub(super) fn is_on_broken_line(&self, key: &str) -> bool {
        self.broken_lines.iter().any(|line| {
            let line = line.trim_start_matches([' ', '\t', '[', '"', '\'']);
            line.starts_with(key)
        })
    }
}
