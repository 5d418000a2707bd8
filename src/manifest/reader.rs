//! Collects the problems of one file while it is read, and what every reader must know of it.

use std::cell::{Cell, RefCell};

use crate::problem::Problem;

/// Collects what the readers of one file find.
#[derive(Debug, Default)]
pub struct Reader {
    problems: RefCell<Vec<Problem>>,
    /// Lines that were taken out because they are not TOML. A key that stands on one of them
    /// is not also called missing.
    broken_lines: Vec<String>,
    /// The old format that the file is of; said wherever a key is not part of it.
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

    /// From now on, keys are those of this old format.
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

    /// Everything recorded, in the order of reading.
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
