//! Which step of a build starts when: what most depends on first, as many as cores and memory allow. Not how one is run.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::name_of;
use crate::file::replace_private_file;

/// What a step took, or is guessed to take.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
pub struct Cost {
    /// The most memory that one of its processes had; 0 for what is no compilation.
    pub bytes: u64,
    pub seconds: f64,
}

/// A step that is to be done.
#[derive(Clone, Debug)]
pub struct Task {
    pub derivation: String,
    pub cost: Cost,
    /// Derivations that come before it; those that are not to be built do not count.
    pub needs: Vec<String>,
}

/// Seconds that tasks take together which one Nix builds: much longer than it takes to start one.
const TOGETHER: f64 = 4.0;

/// Steps that wait and run.
#[derive(Debug)]
pub struct Queue {
    /// The next one last.
    waiting: Vec<Task>,
    /// Memory that each batch takes, by its first task.
    running: BTreeMap<String, u64>,
    /// To be run with nothing beside them.
    alone: Vec<Task>,
    /// All that wait, run, or are to run again.
    unfinished: BTreeSet<String>,
    alone_runs: bool,
    jobs: usize,
    /// The most seconds of a batch of several.
    together: f64,
}

impl Queue {
    /// At most `jobs` batches at a time. Each comes after those that it needs.
    pub fn new(tasks: Vec<Task>, jobs: usize) -> Self {
        // The first to start is that from which the longest chain leads to the end.
        let mut chains: BTreeMap<String, f64> = BTreeMap::new();
        for task in tasks.iter().rev() {
            let after = chains.get(&task.derivation).copied().unwrap_or_default();
            let own = after + task.cost.seconds;
            for needed in task.needs.iter().chain([&task.derivation]) {
                let chain = chains.entry(needed.clone()).or_default();
                *chain = chain.max(own);
            }
        }
        let mut waiting = tasks;
        waiting.sort_by(|a, b| chains[&a.derivation].total_cmp(&chains[&b.derivation]));
        Self {
            unfinished: waiting.iter().map(|task| task.derivation.clone()).collect(),
            waiting,
            running: BTreeMap::new(),
            alone: Vec::new(),
            alone_runs: false,
            jobs: jobs.max(1),
            together: TOGETHER,
        }
    }

    /// Every batch is of one task.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        Self {
            together: 0.0,
            ..self
        }
    }

    /// The next batch to start, which is to be built one after the other; empty if none fits. Short ones come several at a
    /// time, fewer where few are ready, so that all cores have some. `available` is the memory that is free now,
    /// less what those that run may still take. One runs always, whatever it needs.
    pub fn next(&mut self, available: Option<u64>) -> Vec<Task> {
        if self.alone_runs || self.running.len() >= self.jobs {
            return Vec::new();
        }
        let unfinished = &self.unfinished;
        let is_ready = |task: &Task| !task.needs.iter().any(|needed| unfinished.contains(needed));
        let ready = self.waiting.iter().filter(|task| is_ready(task));
        let ready: f64 = ready.map(|task| task.cost.seconds).sum();
        let share = self.together.min(ready / (2 * self.jobs) as f64);
        let mut batch: Vec<Task> = Vec::new();
        let mut seconds = 0.0;
        let idle = self.running.is_empty();
        while let Some(at) = self.waiting.iter().rposition(|task| {
            let fits = available.is_none_or(|bytes| task.cost.bytes <= bytes);
            let is_possible = match batch.is_empty() {
                true => fits || idle,
                false => fits && seconds + task.cost.seconds <= share,
            };
            is_possible && is_ready(task)
        }) {
            let task = self.waiting.remove(at);
            seconds += task.cost.seconds;
            batch.push(task);
        }
        if batch.is_empty() && idle {
            batch.extend(self.alone.pop());
            self.alone_runs = !batch.is_empty();
        }
        if let Some(first) = batch.first() {
            let bytes = batch.iter().map(|task| task.cost.bytes).max();
            self.running
                .insert(first.derivation.clone(), bytes.unwrap_or_default());
        }
        batch
    }

    /// Memory that those that run are expected to have in the end.
    pub fn expected(&self) -> u64 {
        self.running.values().sum()
    }

    /// Whether the one that runs does so with nothing beside it, for want of memory.
    pub fn is_alone(&self) -> bool {
        self.alone_runs
    }

    /// A batch ended: each of its tasks was built, failed, or runs again.
    pub fn ended(&mut self, batch: &[Task]) {
        if let Some(first) = batch.first() {
            self.running.remove(&first.derivation);
        }
        self.alone_runs = false;
    }

    /// One was built.
    pub fn built(&mut self, task: &Task) {
        self.unfinished.remove(&task.derivation);
    }

    /// One failed: those that need it will not run.
    pub fn failed(&mut self, task: &Task) {
        self.built(task);
        let needs = |other: &Task| other.needs.contains(&task.derivation);
        self.waiting.retain(|other| !needs(other));
    }

    /// One ended for want of memory: it runs again when nothing else does.
    pub fn again_alone(&mut self, task: Task) {
        self.alone.push(task);
    }
}

/// What steps took in earlier runs, by the name of their derivation: an edit changes everything else of it.
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
    pub fn expected(&self, derivation: &str, driver: Option<&str>) -> Cost {
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
        replace_private_file(&self.file, &serde_json::to_vec(&self.known)?)
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

    fn task(name: &str, gigabytes: u64, seconds: f64) -> Task {
        let bytes = gigabytes * GB;
        Task {
            derivation: name.to_owned(),
            cost: Cost { bytes, seconds },
            needs: Vec::new(),
        }
    }

    fn names(batch: &[Task]) -> Vec<&str> {
        batch.iter().map(|task| &*task.derivation).collect()
    }

    /// One batch ended, and all of it was built.
    fn built(queue: &mut Queue, batch: &[Task]) {
        queue.ended(batch);
        for task in batch {
            queue.built(task);
        }
    }

    #[test]
    fn the_longest_that_fits_comes_first() {
        let tasks = vec![
            task("short", 1, 1.0),
            task("long", 1, 9.0),
            task("heavy", 4, 5.0),
        ];
        let mut queue = Queue::new(tasks, 2);
        let long = queue.next(Some(3 * GB));
        assert_eq!(names(&long), ["long"]);
        assert_eq!(queue.expected(), GB);
        let short = queue.next(Some(2 * GB));
        assert_eq!(names(&short), ["short"]);
        // Two run already.
        assert!(queue.next(Some(9 * GB)).is_empty());
        built(&mut queue, &long);
        assert!(queue.next(Some(2 * GB)).is_empty());
        built(&mut queue, &short);
        // Nothing else runs: it is tried.
        assert_eq!(names(&queue.next(Some(2 * GB))), ["heavy"]);
        assert!(queue.next(None).is_empty());
    }

    #[test]
    fn what_most_depends_on_comes_first() {
        let after = |name: &str, seconds: f64, needed: &str| Task {
            needs: vec![needed.to_owned(), "there".to_owned()],
            ..task(name, 1, seconds)
        };
        let tasks = vec![
            task("long", 1, 20.0),
            task("toolchain", 1, 5.0),
            after("object", 9.0, "toolchain"),
            after("library", 7.0, "object"),
        ];
        let mut queue = Queue::new(tasks, 1);
        for expected in ["toolchain", "long", "object", "library"] {
            let batch = queue.next(None);
            assert_eq!(names(&batch), [expected]);
            built(&mut queue, &batch);
        }
    }

    #[test]
    fn short_ones_come_several_at_a_time_and_fewer_where_few_are_ready() {
        let tasks = || {
            let short = (0..20).map(|at| task(&format!("{at}"), at % 2 + 1, 0.5));
            short.chain([task("long", 1, 9.0)]).collect()
        };
        let sizes = |mut queue: Queue| {
            let mut sizes = Vec::new();
            loop {
                let batch = queue.next(None);
                if batch.is_empty() {
                    return sizes;
                }
                sizes.push(batch.len());
                queue.ended(&batch);
            }
        };
        let all = sizes(Queue::new(tasks(), 2));
        assert_eq!(all, [1, 5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]);
        let all = sizes(Queue::new(tasks(), 2).one_by_one());
        assert_eq!(all, [1; 21]);

        // What has to wait does not count.
        let needs = vec!["long".to_owned()];
        let waits = (0..20).map(|at| Task {
            needs: needs.clone(),
            ..task(&format!("{at}"), 1, 0.5)
        });
        let ready = ["long", "a", "b"].map(|name| task(name, 1, 1.0));
        let mut queue = Queue::new(ready.into_iter().chain(waits).collect(), 2);
        assert_eq!(queue.next(None).len(), 1);
        assert_eq!(queue.next(None).len(), 1);

        // What does not fit is not among them.
        let mut queue = Queue::new(tasks(), 2);
        queue.next(None);
        let batch = queue.next(Some(GB));
        assert!(batch.len() > 1 && batch.iter().all(|task| task.cost.bytes <= GB));
        assert_eq!(queue.expected(), 2 * GB);
    }

    #[test]
    fn what_ran_out_of_memory_runs_alone() {
        let mut queue = Queue::new(vec![task("a", 1, 2.0), task("b", 1, 1.0)], 8);
        let a = queue.next(None);
        let b = queue.next(None);
        queue.ended(&a);
        queue.again_alone(a[0].clone());
        assert!(queue.next(None).is_empty());
        queue.ended(&b);
        queue.again_alone(b[0].clone());
        assert_eq!(names(&queue.next(None)), ["b"]);
        assert!(queue.is_alone() && queue.next(None).is_empty());
        built(&mut queue, &b);
        assert_eq!(names(&queue.next(None)), ["a"]);
    }

    #[test]
    fn parts_come_before_what_joins_them() {
        let join = |parts: &[&Task]| Task {
            needs: parts.iter().map(|part| part.derivation.clone()).collect(),
            ..task("join", 1, 99.0)
        };
        let (a, b) = (task("a", 1, 2.0), task("b", 1, 1.0));
        let mut queue = Queue::new(vec![a.clone(), b.clone(), join(&[&a, &b])], 8);
        let [first, second] = [queue.next(None), queue.next(None)];
        assert_eq!([names(&first), names(&second)], [["a"], ["b"]]);
        assert!(queue.next(None).is_empty());
        built(&mut queue, &first);
        queue.ended(&second);
        queue.again_alone(b.clone());
        let batch = queue.next(None);
        assert_eq!(names(&batch), ["b"]);
        built(&mut queue, &batch);
        assert_eq!(names(&queue.next(None)), ["join"]);

        let mut queue = Queue::new(vec![a.clone(), join(&[&a])], 8);
        let batch = queue.next(None);
        queue.ended(&batch);
        queue.failed(&a);
        assert!(queue.next(None).is_empty());
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
        assert_eq!(costs.expected(&derivation("x"), Some("nvcc")).bytes, 3 * GB);
        costs.learn(&derivation("x"), cost);
        costs.save().expect("written");
        assert_eq!(
            Costs::open(&file).expected(&derivation("y"), Some("nvcc")),
            cost
        );
        std::fs::write(&file, "{").expect("written");
        assert_eq!(
            Costs::open(&file)
                .expected(&derivation("y"), Some("g++"))
                .bytes,
            1536 << 20
        );
    }
}
