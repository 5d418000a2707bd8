//! The schedule of a build: which step starts when. Steps that most other steps wait for start
//! first, as many as cores and memory allow. build.rs runs them.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::name_of;
use crate::file::replace_private_file;

/// The time and memory that a step took, or is guessed to take.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
pub struct Cost {
    /// Bytes of its largest process; 0 for steps that compile nothing.
    pub bytes: u64,
    pub seconds: f64,
}

/// A step to build.
#[derive(Clone, Debug)]
pub struct Task {
    pub derivation: String,
    pub cost: Cost,
    /// Derivations that must be built before it.
    pub needs: Vec<String>,
}

/// Seconds that the tasks of one Nix take together. It is much more than the time to start a Nix.
const BATCH_SECONDS: f64 = 4.0;

/// Seconds of a batch below which starting one more Nix takes longer than it saves.
const SHORT_BATCH_SECONDS: f64 = 0.5;

/// Steps that wait and run.
#[derive(Debug)]
pub struct Queue {
    /// Waiting tasks; the next one is the last.
    waiting: Vec<Task>,
    /// Bytes that each running batch takes, by its first task.
    running: BTreeMap<String, u64>,
    /// Tasks to run while no other task runs.
    alone: Vec<Task>,
    /// Derivations of all tasks that wait, run, or are to run again.
    unfinished: BTreeSet<String>,
    alone_runs: bool,
    jobs: usize,
    /// The most seconds of a batch with several tasks.
    batch_seconds: f64,
}

impl Queue {
    /// A queue that runs at most `jobs` batches at a time. Each task comes after those that it
    /// needs.
    pub fn new(tasks: Vec<Task>, jobs: usize) -> Self {
        // The first task to start is the one with the longest chain of tasks after it.
        let mut chains: BTreeMap<String, f64> = BTreeMap::new();
        for task in tasks.iter().rev() {
            let after = chains.get(&task.derivation).copied().unwrap_or_default();
            let seconds = after + task.cost.seconds;
            for needed in task.needs.iter().chain([&task.derivation]) {
                let chain = chains.entry(needed.clone()).or_default();
                *chain = chain.max(seconds);
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
            batch_seconds: BATCH_SECONDS,
        }
    }

    /// Makes every batch have one task.
    #[must_use]
    pub fn with_single_tasks(self) -> Self {
        Self {
            batch_seconds: 0.0,
            ..self
        }
    }

    /// The next batch to start, whose tasks are built one after the other; empty if none fits. A
    /// batch has several short tasks, but fewer if few are ready, so that all cores have some.
    /// `available` is the memory that is free now, less the memory that running tasks may still
    /// take. If no task runs, one starts, whatever memory it needs.
    pub fn next_batch(&mut self, available: Option<u64>) -> Vec<Task> {
        if self.alone_runs || self.running.len() >= self.jobs {
            return Vec::new();
        }
        let unfinished = &self.unfinished;
        let is_ready = |task: &Task| !task.needs.iter().any(|needed| unfinished.contains(needed));
        let ready = self.waiting.iter().filter(|task| is_ready(task));
        let ready: f64 = ready.map(|task| task.cost.seconds).sum();
        let free_jobs = (self.jobs - self.running.len()) as f64;
        let short = SHORT_BATCH_SECONDS.min(ready / free_jobs);
        let share = short
            .max(ready / (2 * self.jobs) as f64)
            .min(self.batch_seconds);
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

    /// Bytes that the running tasks are expected to take at their peak.
    pub fn expected_memory(&self) -> u64 {
        self.running.values().sum()
    }

    /// Whether a task runs alone, since it ran out of memory before.
    pub fn is_alone(&self) -> bool {
        self.alone_runs
    }

    /// Ends a batch. Each of its tasks was built, failed, or runs again.
    pub fn end_batch(&mut self, batch: &[Task]) {
        if let Some(first) = batch.first() {
            self.running.remove(&first.derivation);
        }
        self.alone_runs = false;
    }

    /// Records that a task was built.
    pub fn mark_built(&mut self, task: &Task) {
        self.unfinished.remove(&task.derivation);
    }

    /// Records that a task failed: tasks that need it will not run.
    pub fn mark_failed(&mut self, task: &Task) {
        self.mark_built(task);
        let needs = |other: &Task| other.needs.contains(&task.derivation);
        self.waiting.retain(|other| !needs(other));
    }

    /// Records that a task ran out of memory: it runs again when no other task does.
    pub fn retry_alone(&mut self, task: Task) {
        self.alone.push(task);
    }
}

/// The costs of steps in earlier runs, by the name of their derivation. An edit of a source changes
/// the hash of a derivation, but not its name.
#[derive(Debug, Default)]
pub struct Costs {
    file: Utf8PathBuf,
    known: BTreeMap<String, Cost>,
}

impl Costs {
    /// Reads a file. A file that is missing or broken is like an empty one, since only the speed of
    /// builds depends on it.
    pub fn open(file: &Utf8Path) -> Self {
        let text = std::fs::read(file).unwrap_or_default();
        Self {
            file: file.to_owned(),
            known: serde_json::from_slice(&text).unwrap_or_default(),
        }
    }

    /// The last cost of a derivation.
    pub fn last_cost(&self, derivation: &str) -> Option<Cost> {
        self.known.get(name_of(derivation)).copied()
    }

    /// The last cost of a derivation, or else a guess for its compiler. `driver` is `None` for a
    /// step that compiles nothing.
    pub fn expected_cost(&self, derivation: &str, driver: Option<&str>) -> Cost {
        self.last_cost(derivation)
            .unwrap_or_else(|| guess_cost(driver))
    }

    /// Records the cost of a derivation.
    pub fn record(&mut self, derivation: &str, cost: Cost) {
        self.known.insert(name_of(derivation).to_owned(), cost);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// `std::io::Error` if the file system fails.
    pub fn save(&self) -> std::io::Result<()> {
        replace_private_file(&self.file, &serde_json::to_vec(&self.known)?)
    }
}

/// A first guess that is rarely too small. With torch's headers, nvcc takes 2.7 GB and 30 s, clang
/// 1 GB and 25 s, g++ 0.6 GB and 20 s (measured with torch 2.11). An author's own templates and
/// tables take more.
fn guess_cost(driver: Option<&str>) -> Cost {
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

    /// Ends a batch whose tasks were all built.
    fn built(queue: &mut Queue, batch: &[Task]) {
        queue.end_batch(batch);
        for task in batch {
            queue.mark_built(task);
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
        let long = queue.next_batch(Some(3 * GB));
        assert_eq!(names(&long), ["long"]);
        assert_eq!(queue.expected_memory(), GB);
        let short = queue.next_batch(Some(2 * GB));
        assert_eq!(names(&short), ["short"]);
        // Two tasks run already.
        assert!(queue.next_batch(Some(9 * GB)).is_empty());
        built(&mut queue, &long);
        assert!(queue.next_batch(Some(2 * GB)).is_empty());
        built(&mut queue, &short);
        // No other task runs, so this one starts.
        assert_eq!(names(&queue.next_batch(Some(2 * GB))), ["heavy"]);
        assert!(queue.next_batch(None).is_empty());
    }

    #[test]
    fn the_task_with_the_longest_chain_comes_first() {
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
            let batch = queue.next_batch(None);
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
                let batch = queue.next_batch(None);
                if batch.is_empty() {
                    return sizes;
                }
                sizes.push(batch.len());
                queue.end_batch(&batch);
            }
        };
        let all = sizes(Queue::new(tasks(), 2));
        assert_eq!(all, [1, 5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]);
        let all = sizes(Queue::new(tasks(), 2).with_single_tasks());
        assert_eq!(all, [1; 21]);

        // Tasks that have to wait do not count as ready.
        let needs = vec!["long".to_owned()];
        let waits = (0..20).map(|at| Task {
            needs: needs.clone(),
            ..task(&format!("{at}"), 1, 0.5)
        });
        let ready = ["long", "a", "b"].map(|name| task(name, 1, 1.0));
        let mut queue = Queue::new(ready.into_iter().chain(waits).collect(), 2);
        assert_eq!(queue.next_batch(None).len(), 1);
        assert_eq!(queue.next_batch(None).len(), 1);

        // A task that does not fit is left out of the batch.
        let mut queue = Queue::new(tasks(), 2);
        queue.next_batch(None);
        let batch = queue.next_batch(Some(GB));
        assert!(batch.len() > 1 && batch.iter().all(|task| task.cost.bytes <= GB));
        assert_eq!(queue.expected_memory(), 2 * GB);
    }

    #[test]
    fn a_task_that_ran_out_of_memory_runs_alone() {
        let mut queue = Queue::new(vec![task("a", 1, 2.0), task("b", 1, 1.0)], 8);
        let a = queue.next_batch(None);
        let b = queue.next_batch(None);
        queue.end_batch(&a);
        queue.retry_alone(a[0].clone());
        assert!(queue.next_batch(None).is_empty());
        queue.end_batch(&b);
        queue.retry_alone(b[0].clone());
        assert_eq!(names(&queue.next_batch(None)), ["b"]);
        assert!(queue.is_alone() && queue.next_batch(None).is_empty());
        built(&mut queue, &b);
        assert_eq!(names(&queue.next_batch(None)), ["a"]);
    }

    #[test]
    fn parts_come_before_what_joins_them() {
        let join = |parts: &[&Task]| Task {
            needs: parts.iter().map(|part| part.derivation.clone()).collect(),
            ..task("join", 1, 99.0)
        };
        let (a, b) = (task("a", 1, 2.0), task("b", 1, 1.0));
        let mut queue = Queue::new(vec![a.clone(), b.clone(), join(&[&a, &b])], 8);
        let [first, second] = [queue.next_batch(None), queue.next_batch(None)];
        assert_eq!([names(&first), names(&second)], [["a"], ["b"]]);
        assert!(queue.next_batch(None).is_empty());
        built(&mut queue, &first);
        queue.end_batch(&second);
        queue.retry_alone(b.clone());
        let batch = queue.next_batch(None);
        assert_eq!(names(&batch), ["b"]);
        built(&mut queue, &batch);
        assert_eq!(names(&queue.next_batch(None)), ["join"]);

        let mut queue = Queue::new(vec![a.clone(), join(&[&a])], 8);
        let batch = queue.next_batch(None);
        queue.end_batch(&batch);
        queue.mark_failed(&a);
        assert!(queue.next_batch(None).is_empty());
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
        assert_eq!(
            costs.expected_cost(&derivation("x"), Some("nvcc")).bytes,
            3 * GB
        );
        costs.record(&derivation("x"), cost);
        costs.save().expect("written");
        assert_eq!(
            Costs::open(&file).expected_cost(&derivation("y"), Some("nvcc")),
            cost
        );
        std::fs::write(&file, "{").expect("written");
        assert_eq!(
            Costs::open(&file)
                .expected_cost(&derivation("y"), Some("g++"))
                .bytes,
            1536 << 20
        );
    }
}
