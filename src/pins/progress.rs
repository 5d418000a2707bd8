//! The display of a fetch: a bar of downloads and a bar of files in the store; where standard error
//! is no terminal, a line now and then. Also its events, for programs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::space::megabytes;
use crate::terminal::{end_bars, print_event, status};

/// The time between two lines where no bars are drawn.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The time between two events of progress.
const EVENT_EVERY: Duration = Duration::from_secs(1);

/// The most files of a fetch that prints a line for each.
const FEW_FILES: usize = 10;

/// The time over which the rate of downloads is taken.
const RATE_OVER: Duration = Duration::from_secs(5);

/// An event of a fetch, as `--json` prints it. Sizes are bytes.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FetchEvent<'a> {
    /// Files are missing in the store.
    FetchStarted {
        files: usize,
        download: u64,
        /// The number of files whose size is not known before.
        unknown_sizes: usize,
        store: u64,
    },
    /// Another fetch downloads a file now.
    Waiting { name: &'a str },
    /// A source does not answer, and is asked again.
    Unanswered { source: &'a str, why: &'a str },
    /// The state, once a second.
    FetchProgress {
        files: usize,
        of: usize,
        downloaded: u64,
        download: u64,
        bytes_per_second: u64,
    },
    /// A file is in the store.
    Fetched { name: &'a str },
    /// A reason why files are missing.
    FetchFailed {
        code: String,
        message: String,
        help: String,
        /// Store names of the files; empty for a reason that concerns none in particular.
        files: &'a [String],
    },
}

/// The progress of one fetch.
pub struct FetchProgress {
    bars: MultiProgress,
    downloads: ProgressBar,
    store: ProgressBar,
    has_terminal: bool,
    state: Mutex<ProgressState>,
}

struct ProgressState {
    began: Instant,
    files: usize,
    in_store: usize,
    /// The files that are being unpacked or added to the store.
    adding: Vec<String>,
    received: u64,
    /// Announced bytes of downloads that have not begun, or that failed.
    announced: u64,
    /// Bytes that running downloads are expected to take.
    running: HashMap<ThreadId, u64>,
    /// Bytes that finished downloads took.
    finished: u64,
    /// The number of files of unknown size that are not downloaded.
    unknown: usize,
    rate: DownloadRate,
    last_line: Instant,
    last_event: Instant,
}

/// A file that is being unpacked or added to the store, until it is dropped.
pub struct AddedFile<'a> {
    progress: &'a FetchProgress,
    name: String,
}

impl FetchProgress {
    /// The progress, in `bars`, of a fetch of files with the sizes of their downloads, `None` for
    /// an unknown size.
    pub fn new(sizes: &[Option<u64>], bars: MultiProgress) -> Self {
        let has_terminal = !bars.is_hidden();
        let bar = |template| {
            let bar = bars.add(ProgressBar::new(0));
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        };
        let now = Instant::now();
        Self {
            downloads: bar("download {bar:16} {wide_msg}"),
            store: bar("store    {bar:16} {wide_msg}"),
            bars,
            has_terminal,
            state: Mutex::new(ProgressState {
                began: now,
                files: sizes.len(),
                in_store: 0,
                adding: Vec::new(),
                received: 0,
                announced: sizes.iter().flatten().sum(),
                running: HashMap::new(),
                finished: 0,
                unknown: sizes.iter().filter(|size| size.is_none()).count(),
                rate: DownloadRate {
                    samples: [(Duration::ZERO, 0)].into(),
                },
                last_line: now,
                last_event: now,
            }),
        }
    }

    /// The progress of a fetch that shows none.
    pub fn hidden() -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        Self::new(&[], bars)
    }

    /// Begins a download of this thread. `sizes` are those that were announced.
    pub fn begin(&self, sizes: &[Option<u64>]) {
        let mut state = self.lock();
        let announced = sizes.iter().flatten().sum();
        state.announced = state.announced.saturating_sub(announced);
        state.running.insert(std::thread::current().id(), announced);
    }

    /// Expects more bytes of this thread's download.
    pub fn extend(&self, bytes: u64) {
        let mut state = self.lock();
        *state
            .running
            .entry(std::thread::current().id())
            .or_default() += bytes;
    }

    /// Ends this thread's download of some files, which took a number of bytes.
    pub fn end_download(&self, sizes: &[Option<u64>], bytes: u64) {
        let mut state = self.lock();
        state.running.remove(&std::thread::current().id());
        state.finished += bytes;
        let unknown = sizes.iter().filter(|size| size.is_none()).count();
        state.unknown = state.unknown.saturating_sub(unknown);
    }

    /// Ends this thread's download without its files.
    pub fn fail_download(&self) {
        let mut state = self.lock();
        let expected = state.running.remove(&std::thread::current().id());
        state.announced += expected.unwrap_or_default();
    }

    /// Begins to unpack a file, or to add it to the store.
    pub fn adding(&self, name: &str) -> AddedFile<'_> {
        let name = name.to_owned();
        self.lock().adding.push(name.clone());
        let progress = self;
        AddedFile { progress, name }
    }

    /// Counts a file that has come into the store.
    pub fn count_added(&self, name: &str) {
        let mut state = self.lock();
        state.in_store += 1;
        let (number, of) = (state.in_store, state.files);
        if !self.has_terminal && of <= FEW_FILES {
            state.last_line = Instant::now();
            status(format_args!("[{number}/{of}] {name}"));
        }
        print_event(&FetchEvent::Fetched { name });
    }

    /// Shows the bytes that came until now. `asked` are the sources that are asked.
    pub fn update(&self, received: u64, asked: &[String]) {
        let mut state = self.lock();
        let now = state.began.elapsed();
        state.received = received;
        state.rate.add(now, received);
        let total = state.total();
        self.downloads.set_length(total.max(1));
        self.downloads.set_position(match state.is_downloaded() {
            true => total.max(1),
            false => received,
        });
        self.downloads.set_message(state.download_words(asked));
        self.store.set_length(state.files as u64);
        self.store.set_position(state.in_store as u64);
        self.store.set_message(state.store_words());
        if !self.has_terminal && state.last_line.elapsed() >= LINE_EVERY {
            state.last_line = Instant::now();
            let (download, store) = (state.download_words(asked), state.store_words());
            status(format_args!("{download}; {store}"));
        }
        if state.last_event.elapsed() >= EVENT_EVERY {
            state.last_event = Instant::now();
            print_event(&FetchEvent::FetchProgress {
                files: state.in_store,
                of: state.files,
                downloaded: received,
                download: total,
                bytes_per_second: state.rate.bytes_per_second().unwrap_or_default(),
            });
        }
    }

    /// Prints a line above the bars.
    pub fn print(&self, line: &str) {
        if self.has_terminal {
            // NB: if the terminal has gone away, the fetch goes on without it.
            let _ = self.bars.println(line);
        } else {
            status(line);
        }
    }

    /// Removes the bars.
    pub fn finish(&self) {
        self.downloads.finish_and_clear();
        self.store.finish_and_clear();
        end_bars();
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AddedFile<'_> {
    fn drop(&mut self) {
        let mut state = self.progress.lock();
        if let Some(place) = state.adding.iter().position(|name| *name == self.name) {
            state.adding.remove(place);
        }
    }
}

impl ProgressState {
    /// The bytes that all downloads take, as far as they are known.
    fn total(&self) -> u64 {
        let expected = self.announced + self.running.values().sum::<u64>() + self.finished;
        expected.max(self.received)
    }

    fn is_downloaded(&self) -> bool {
        self.unknown == 0 && self.received >= self.total()
    }

    fn download_words(&self, asked: &[String]) -> String {
        let (received, total) = (megabytes(self.received), self.total());
        if self.is_downloaded() {
            return format!("{received} downloaded");
        }
        let unknown = files_in_words(self.unknown);
        let amount = match (self.unknown, total - self.received) {
            (0, _) => format!("{received} of {}", megabytes(total)),
            (_, 0) => format!("{received}, {unknown} of unknown size"),
            _ => format!(
                "{received} of {} and {unknown} of unknown size",
                megabytes(total)
            ),
        };
        match self.rate.bytes_per_second() {
            Some(rate) if self.unknown == 0 => {
                let seconds = (total - self.received + rate / 2) / rate;
                format!(
                    "{amount}, {}/s, {} left",
                    megabytes(rate),
                    time_in_words(seconds.max(1))
                )
            }
            Some(rate) => format!("{amount}, {}/s", megabytes(rate)),
            None if asked.is_empty() => amount,
            None => format!("{amount}, waiting for {}", asked.join(" and ")),
        }
    }

    fn store_words(&self) -> String {
        let amount = format!(
            "{} of {} in the store",
            self.in_store,
            files_in_words(self.files)
        );
        match self.adding.last() {
            Some(name) => format!("{amount}, adding {name}"),
            None => amount,
        }
    }
}

fn files_in_words(number: usize) -> String {
    format!("{number} file{}", if number == 1 { "" } else { "s" })
}

fn time_in_words(seconds: u64) -> String {
    match seconds {
        0..=99 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

/// The rate of downloads over the last seconds.
#[derive(Default)]
struct DownloadRate {
    /// Bytes received until a time, the oldest first.
    samples: VecDeque<(Duration, u64)>,
}

impl DownloadRate {
    fn add(&mut self, at: Duration, received: u64) {
        self.samples.push_back((at, received));
        let oldest = at.saturating_sub(RATE_OVER);
        while self.samples.len() > 2 && self.samples[1].0 <= oldest {
            self.samples.pop_front();
        }
    }

    /// Bytes in a second; `None` as long as nothing comes.
    fn bytes_per_second(&self) -> Option<u64> {
        let (&(first, before), &(last, after)) = (self.samples.front()?, self.samples.back()?);
        let rate = after.saturating_sub(before) as f64 / (last - first).as_secs_f64().max(0.5);
        (rate >= 1.0).then_some(rate as u64)
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    const MB: u64 = 1_000_000;

    struct Shown {
        terminal: InMemoryTerm,
        progress: FetchProgress,
    }

    impl Shown {
        fn new(sizes: &[Option<u64>]) -> Self {
            let terminal = InMemoryTerm::new(10, 80);
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let bars = MultiProgress::with_draw_target(target);
            let progress = FetchProgress::new(sizes, bars);
            Self { terminal, progress }
        }

        /// Adds a second of downloads, and returns the lines of the terminal.
        fn after_a_second(&self, received: u64, asked: &[&str]) -> Vec<String> {
            self.progress.lock().began -= Duration::from_secs(1);
            let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
            self.progress.update(received, &asked);
            self.progress.downloads.force_draw();
            self.progress.store.force_draw();
            let shown = self.terminal.contents();
            shown
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect()
        }
    }

    /// Bars ended at 103 %, and said "0 B/s, 0s left" before the first byte and after the last.
    #[test]
    fn bars_end_full_whatever_was_announced() {
        let sizes = [Some(60 * MB), Some(20 * MB)];
        let shown = Shown::new(&sizes);
        let lines = shown.after_a_second(0, &["apt's sources", "a:1"]);
        assert_eq!(
            lines,
            [
                "download ░░░░░░░░░░░░░░░░ 0 MB of 80 MB, waiting for apt's sources and a:1",
                "store    ░░░░░░░░░░░░░░░░ 0 of 2 files in the store",
            ]
        );
        shown.progress.begin(&sizes[..1]);
        let lines = shown.after_a_second(40 * MB, &["a:1"]);
        assert_eq!(
            lines[0],
            "download ████████░░░░░░░░ 40 MB of 80 MB, 20 MB/s, 2 s left"
        );
        // It was more than announced.
        shown.progress.end_download(&sizes[..1], 65 * MB);
        shown.progress.begin(&sizes[1..]);
        let lines = shown.after_a_second(65 * MB, &["a:1"]);
        assert!(lines[0].contains("65 MB of 85 MB"), "{lines:?}");
        // It was less, as parts came from the cache.
        shown.progress.end_download(&sizes[1..], 15 * MB);
        let adding = shown.progress.adding("gcc-12");
        shown.progress.count_added("python");
        let lines = shown.after_a_second(80 * MB, &[]);
        assert_eq!(
            lines,
            [
                "download ████████████████ 80 MB downloaded",
                "store    ████████░░░░░░░░ 1 of 2 files in the store, adding gcc-12",
            ]
        );
        drop(adding);
        shown.progress.count_added("gcc-12");
        let lines = shown.after_a_second(80 * MB, &[]);
        assert_eq!(
            lines[1],
            "store    ████████████████ 2 of 2 files in the store"
        );
        shown.progress.finish();
        assert_eq!(shown.terminal.contents(), "");
    }

    #[test]
    fn unknown_sizes_are_said_to_be_so() {
        let sizes = [Some(2 * MB), None, None];
        let shown = Shown::new(&sizes);
        let lines = shown.after_a_second(MB, &["a:1"]);
        assert!(
            lines[0].ends_with("1.0 MB of 2.0 MB and 2 files of unknown size, 1.0 MB/s"),
            "{lines:?}"
        );
        shown.progress.begin(&sizes[..1]);
        shown.progress.end_download(&sizes[..1], 2 * MB);
        shown.progress.begin(&sizes[1..2]);
        let lines = shown.after_a_second(9 * MB, &["a:1"]);
        assert!(
            lines[0].contains("9.0 MB, 2 files of unknown size, "),
            "{lines:?}"
        );
        shown.progress.end_download(&sizes[1..2], 8 * MB);
        shown.progress.begin(&sizes[2..]);
        shown.progress.end_download(&sizes[2..], MB);
        let lines = shown.after_a_second(11 * MB, &[]);
        assert!(lines[0].ends_with(" 11 MB downloaded"), "{lines:?}");
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut rate = DownloadRate::default();
        assert_eq!(rate.bytes_per_second(), None);
        for second in 0..=20 {
            rate.add(Duration::from_secs(second), second.min(10) * MB);
            let expected = match second {
                0 => None,
                1..=10 => Some(MB),
                11..15 => Some((15 - second) * MB / 5),
                _ => None,
            };
            assert_eq!(rate.bytes_per_second(), expected, "after {second} s");
        }
    }
}
