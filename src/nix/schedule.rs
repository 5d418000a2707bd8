//! Which compilation starts when: the longest first, as many as cores and memory allow. Not how one is run.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::name_of;

/// What a compilation took, or is guessed to take.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
pub struct Cost {
    /// The most memory that one of its processes had.
    pub bytes: u64,
    pub seconds: f64,
}

/// A compilation that is to be done, or what joins some.
#[derive(Clone, Debug)]
pub struct Unit {
    pub derivation: String,
    pub cost: Cost,
    /// Derivations of units that come before it.
    pub needs: Vec<String>,
}

/// Compilations that wait and run.
#[derive(Debug)]
pub struct Queue {
    /// The next one last.
    waiting: Vec<Unit>,
    running: BTreeMap<String, u64>,
    /// To be run with nothing beside them.
    alone: Vec<Unit>,
    /// All that wait, run, or are to run again.
    unfinished: BTreeSet<String>,
    alone_runs: bool,
    jobs: usize,
}

impl Queue {
    /// At most `jobs` at a time.
    pub fn new(mut units: Vec<Unit>, jobs: usize) -> Self {
        units.sort_by(|a, b| a.cost.seconds.total_cmp(&b.cost.seconds));
        Self {
            unfinished: units.iter().map(|unit| unit.derivation.clone()).collect(),
            waiting: units,
            running: BTreeMap::new(),
            alone: Vec::new(),
            alone_runs: false,
            jobs: jobs.max(1),
        }
    }

    /// The next one to start, if one fits. `available` is the memory that is free now, less what those that run may still
    /// take. One runs always, whatever it needs.
    pub fn next(&mut self, available: Option<u64>) -> Option<Unit> {
        if self.alone_runs || self.running.len() >= self.jobs {
            return None;
        }
        let ready = |unit: &Unit| {
            unit.needs
                .iter()
                .all(|needed| !self.unfinished.contains(needed))
        };
        let idle = self.running.is_empty();
        let fits = |unit: &Unit| idle || available.is_none_or(|bytes| unit.cost.bytes <= bytes);
        let mut waiting = self.waiting.iter();
        let unit = match waiting.rposition(|unit| ready(unit) && fits(unit)) {
            Some(at) => self.waiting.remove(at),
            None if idle => {
                let unit = self.alone.pop()?;
                self.alone_runs = true;
                unit
            }
            None => return None,
        };
        self.running
            .insert(unit.derivation.clone(), unit.cost.bytes);
        Some(unit)
    }

    /// Memory that those that run are expected to have in the end.
    pub fn expected(&self) -> u64 {
        self.running.values().sum()
    }

    /// Whether the one that runs does so with nothing beside it, for want of memory.
    pub fn is_alone(&self) -> bool {
        self.alone_runs
    }

    /// One was built.
    pub fn built(&mut self, unit: &Unit) {
        self.stopped(unit);
        self.unfinished.remove(&unit.derivation);
    }

    /// One failed: those that need it will not run.
    pub fn failed(&mut self, unit: &Unit) {
        self.built(unit);
        let needs = |other: &Unit| other.needs.contains(&unit.derivation);
        self.waiting.retain(|other| !needs(other));
    }

    /// One ended for want of memory: it runs again when nothing else does.
    pub fn again_alone(&mut self, unit: Unit) {
        self.stopped(&unit);
        self.alone.push(unit);
    }

    fn stopped(&mut self, unit: &Unit) {
        self.running.remove(&unit.derivation);
        self.alone_runs = false;
    }
}

/// What compilations took in earlier runs, by the name of their derivation: an edit changes everything else of it.
#[derive(Debug, Default)]
pub struct Costs {
    file: Utf8PathBuf,
    known: BTreeMap<String, Cost>,
}

impl Costs {
    /// Reads a file; one that is missing or broken is like an empty one, since nothing but speed depends on it.
    pub fn open(file: &Utf8Path) -> Self {
        let text = std::fs::read(file).unwrap_or_default();
        Self {
            file: file.to_owned(),
            known: serde_json::from_slice(&text).unwrap_or_default(),
        }
    }

    /// What a derivation took last.
    pub fn known(&self, derivation: &str) -> Option<Cost> {
        self.known.get(name_of(derivation)).copied()
    }

    /// What a derivation took last, else a guess for its compiler, or for what has none.
    pub fn of(&self, derivation: &str, driver: Option<&str>) -> Cost {
        self.known(derivation).unwrap_or_else(|| guess(driver))
    }

    /// What a derivation took.
    pub fn learn(&mut self, derivation: &str, cost: Cost) {
        self.known.insert(name_of(derivation).to_owned(), cost);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self) -> std::io::Result<()> {
        let dir = self.file.parent().unwrap_or(Utf8Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        serde_json::to_writer(&mut file, &self.known)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

/// A first guess that is rarely too small: with torch's headers, nvcc takes 2.7 GB and 30 s, clang 1 GB and 25 s, g++ 0.6 GB
/// and 20 s (measured with torch 2.11); templates and tables of an author's own take more.
fn guess(driver: Option<&str>) -> Cost {
    match driver {
        None => Cost {
            bytes: 256 << 20,
            seconds: 1.0,
        },
        Some("gcc" | "g++" | "clang") => Cost {
            bytes: 1536 << 20,
            seconds: 15.0,
        },
        _ => Cost {
            bytes: 3 << 30,
            seconds: 30.0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;

    fn unit(name: &str, gigabytes: u64, seconds: f64) -> Unit {
        let bytes = gigabytes * GB;
        Unit {
            derivation: name.to_owned(),
            cost: Cost { bytes, seconds },
            needs: Vec::new(),
        }
    }

    fn name(unit: Option<Unit>) -> Option<String> {
        unit.map(|unit| unit.derivation)
    }

    #[test]
    fn the_longest_that_fits_comes_first() {
        let units = vec![
            unit("short", 1, 1.0),
            unit("long", 1, 9.0),
            unit("heavy", 4, 5.0),
        ];
        let mut queue = Queue::new(units, 2);
        assert_eq!(name(queue.next(Some(3 * GB))).as_deref(), Some("long"));
        assert_eq!(queue.expected(), GB);
        assert_eq!(name(queue.next(Some(2 * GB))).as_deref(), Some("short"));
        // Two run already.
        assert_eq!(name(queue.next(Some(9 * GB))), None);
        queue.built(&unit("long", 1, 9.0));
        assert_eq!(name(queue.next(Some(2 * GB))), None);
        queue.built(&unit("short", 1, 1.0));
        // Nothing else runs: it is tried.
        assert_eq!(name(queue.next(Some(2 * GB))).as_deref(), Some("heavy"));
        assert_eq!(name(queue.next(None)), None);
    }

    #[test]
    fn what_ran_out_of_memory_runs_alone() {
        let mut queue = Queue::new(vec![unit("a", 1, 2.0), unit("b", 1, 1.0)], 8);
        let a = queue.next(None).expect("one");
        let b = queue.next(None).expect("another");
        queue.again_alone(a.clone());
        assert_eq!(name(queue.next(None)), None);
        queue.again_alone(b.clone());
        assert_eq!(name(queue.next(None)).as_deref(), Some("b"));
        assert_eq!(name(queue.next(None)), None);
        queue.built(&b);
        assert_eq!(name(queue.next(None)).as_deref(), Some("a"));
    }

    #[test]
    fn parts_come_before_what_joins_them() {
        let join = |parts: &[&Unit]| Unit {
            needs: parts.iter().map(|part| part.derivation.clone()).collect(),
            ..unit("join", 1, 99.0)
        };
        let (a, b) = (unit("a", 1, 2.0), unit("b", 1, 1.0));
        let mut queue = Queue::new(vec![join(&[&a, &b]), a.clone(), b.clone()], 8);
        assert_eq!(name(queue.next(None)).as_deref(), Some("a"));
        assert_eq!(name(queue.next(None)).as_deref(), Some("b"));
        assert_eq!(name(queue.next(None)), None);
        queue.built(&a);
        queue.again_alone(b.clone());
        assert_eq!(name(queue.next(None)).as_deref(), Some("b"));
        queue.built(&b);
        assert_eq!(name(queue.next(None)).as_deref(), Some("join"));

        let mut queue = Queue::new(vec![join(&[&a]), a.clone()], 8);
        queue.next(None);
        queue.failed(&a);
        assert_eq!(name(queue.next(None)), None);
    }

    #[test]
    fn costs_are_kept_by_name() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = Utf8Path::from_path(dir.path())
            .expect("UTF-8")
            .join("costs.json");
        let mut costs = Costs::open(&file);
        let derivation = |hash: &str| format!("/nix/store/{hash}-relu-csrc-a.cu.o.drv");
        let cost = Cost {
            bytes: GB,
            seconds: 2.5,
        };
        assert_eq!(costs.of(&derivation("x"), Some("nvcc")).bytes, 3 * GB);
        costs.learn(&derivation("x"), cost);
        costs.save().expect("written");
        assert_eq!(Costs::open(&file).of(&derivation("y"), Some("nvcc")), cost);
        std::fs::write(&file, "{").expect("written");
        assert_eq!(
            Costs::open(&file).of(&derivation("y"), Some("g++")).bytes,
            1536 << 20
        );
    }
}
