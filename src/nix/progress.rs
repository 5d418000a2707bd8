//! The display while Nix builds: a bar over all derivations and a line for each that runs. If
//! standard error is no terminal, no bar is drawn, and a line is printed when a derivation is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::event::BuildEvent;
use super::name_of;
use crate::terminal::{end_bars, print_event, status};

/// The most lines of running derivations. Further derivations are only counted.
const MAX_ROWS: usize = 8;

/// The number of a Nix, then that Nix's number of an activity.
pub type ActivityId = (u64, u64);

pub struct Progress {
    /// Titles of derivations. Nix's name stands for a missing one.
    titles: BTreeMap<String, String>,
    bars: MultiProgress,
    total: ProgressBar,
    running: BTreeMap<ActivityId, RunningStep>,
    /// Store paths that came from binary caches.
    copied: BTreeSet<String>,
    /// Whether every line of every build is printed.
    print_logs: bool,
    terminal: bool,
}

struct RunningStep {
    /// A derivation, or a path that is being copied.
    path: String,
    title: String,
    place: BuildPlace,
    since: Instant,
    row: Option<ProgressBar>,
    last_lines: Vec<String>,
    peak: Option<u64>,
    all_headers: Option<String>,
}

/// The place where a store path comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildPlace {
    /// This machine builds it.
    Here,
    /// Another machine builds it.
    Builder(String),
    /// A binary cache has it.
    Cache(String),
}

/// The activity that has ended.
#[derive(Debug)]
pub enum StoppedActivity {
    Built(Finished),
    /// A store path, and the binary cache that it came from.
    Copied(String, String),
}

/// A derivation that was built or failed.
#[derive(Clone, Debug)]
pub struct Finished {
    pub derivation: String,
    pub title: String,
    /// The remote builder; `None` for this machine.
    pub machine: Option<String>,
    pub started: Instant,
    pub seconds: f64,
    /// Bytes of its largest process. Only compilations report them.
    pub peak: Option<u64>,
    /// The reason why it was compiled with all of torch's headers; `None` if it was not.
    pub all_headers: Option<String>,
    /// Its last lines of output.
    pub last_lines: Vec<String>,
}

impl Finished {
    /// Whether its last lines say that it was killed or got no memory, in the words of compilers
    /// and shells. Only these words tell it; if they mislead, the unit is tried once more.
    pub fn ran_out_of_memory(&self) -> bool {
        const WORDS: [&str; 6] = [
            "Killed",
            "SIGKILL",
            "signal 9",
            "out of memory",
            "Cannot allocate memory",
            "virtual memory exhausted",
        ];
        let mut lines = self.last_lines.iter();
        lines.any(|line| WORDS.iter().any(|word| line.contains(word)))
    }
}

impl Progress {
    /// The display of `count` derivations in `bars`. `titles` are those of derivations that have
    /// one.
    pub fn new(
        count: usize,
        titles: BTreeMap<String, String>,
        print_logs: bool,
        bars: MultiProgress,
    ) -> Self {
        let terminal = !bars.is_hidden();
        let total = bars.add(ProgressBar::new(count as u64));
        total.set_style(style("{bar:24} {pos}/{len} built, {elapsed}  {msg}"));
        if terminal {
            total.enable_steady_tick(Duration::from_millis(200));
        }
        Self {
            titles,
            bars,
            total,
            running: BTreeMap::new(),
            copied: BTreeSet::new(),
            print_logs,
            terminal,
        }
    }

    /// The title of a derivation, or Nix's name of a path.
    pub fn title_of(&self, path: &str) -> String {
        let title = self.titles.get(path).map(String::as_str);
        title.unwrap_or_else(|| name_of(path)).to_owned()
    }

    pub fn start(&mut self, id: ActivityId, path: String, place: BuildPlace) {
        let terminal = self.terminal;
        let title = self.title_of(&path);
        if !matches!(place, BuildPlace::Cache(_)) {
            print_event(&BuildEvent::StepStarted {
                step: &title,
                derivation: &path,
                machine: place.builder(),
            });
        }
        let row = (self
            .running
            .values()
            .filter(|running| running.row.is_some())
            .count()
            < MAX_ROWS)
            .then(|| {
                let row = self.bars.add(ProgressBar::new_spinner());
                row.set_style(style("  {elapsed:>4} {prefix} {wide_msg}"));
                row.set_prefix(format!("{}{place}", shorten(&title)));
                if terminal {
                    row.enable_steady_tick(Duration::from_secs(1));
                }
                row
            });
        self.running.insert(
            id,
            RunningStep {
                path,
                title,
                place,
                since: Instant::now(),
                row,
                last_lines: Vec::new(),
                peak: None,
                all_headers: None,
            },
        );
        let hidden = self
            .running
            .values()
            .filter(|running| running.row.is_none())
            .count();
        self.total.set_message(if hidden > 0 {
            format!("(+{hidden} more)")
        } else {
            String::new()
        });
    }

    /// Records the peak memory of a compilation, in kB.
    pub fn record_peak(&mut self, id: ActivityId, kilobytes: Option<u64>) {
        if let Some(running) = self.running.get_mut(&id) {
            running.peak = running
                .peak
                .max(kilobytes.map(|kilobytes| kilobytes * 1024));
        }
    }

    /// Records the reason why a unit is compiled with all of torch's headers.
    pub fn record_all_headers(&mut self, id: ActivityId, reason: &str) {
        if let Some(running) = self.running.get_mut(&id) {
            running.all_headers = Some(reason.to_owned());
        }
    }

    pub fn add_line(&mut self, id: ActivityId, text: &str) {
        let Some(running) = self.running.get_mut(&id) else {
            return;
        };
        if let Some(row) = &running.row {
            row.set_message(text.to_owned());
        }
        if running.last_lines.len() == 40 {
            running.last_lines.remove(0);
        }
        running.last_lines.push(text.to_owned());
        if self.print_logs {
            let line = format!("{}> {text}", running.title);
            self.print(&line);
        }
    }

    pub fn stop(&mut self, id: ActivityId) -> Option<StoppedActivity> {
        let running = self.running.remove(&id)?;
        let seconds = running.since.elapsed().as_secs_f64();
        if let Some(row) = running.row {
            row.finish_and_clear();
            self.bars.remove(&row);
        }
        let (title, place) = (running.title, &running.place);
        if let BuildPlace::Cache(cache) = place {
            // Several Nixes may wait for the same copy.
            if self.copied.insert(running.path.clone()) {
                self.log(&format!("copied {title}{place} {seconds:.1} s"));
                print_event(&BuildEvent::Copied {
                    path: &running.path,
                    cache,
                    seconds,
                });
            }
            return Some(StoppedActivity::Copied(running.path, cache.clone()));
        }
        print_event(&BuildEvent::StepEnded {
            step: &title,
            derivation: &running.path,
            machine: place.builder(),
            seconds,
            peak_memory: running.peak,
        });
        self.total.inc(1);
        let (done, of) = (
            self.total.position(),
            self.total.length().unwrap_or_default(),
        );
        self.log(&format!("[{done}/{of}] {title}{place} {seconds:.1} s"));
        Some(StoppedActivity::Built(Finished {
            machine: place.builder().map(str::to_owned),
            derivation: running.path,
            title,
            started: running.since,
            seconds,
            peak: running.peak,
            all_headers: running.all_headers,
            last_lines: running.last_lines,
        }))
    }

    /// Prints a line if no bars are drawn.
    fn log(&self, line: &str) {
        if !self.terminal {
            self.print(line);
        }
    }

    /// Prints a note of a step or a warning of Nix above the bars.
    pub fn print_note(&self, text: &str) {
        let plain = strip_str(text).to_string();
        print_event(&BuildEvent::Note { text: &plain });
        self.print(text);
    }

    /// Prints a line above the bars.
    pub fn print(&self, line: &str) {
        if self.terminal {
            // NB: if the terminal has gone away, the build goes on without it.
            let _ = self.bars.println(line);
        } else {
            status(line);
        }
    }

    pub fn finish(&self) {
        self.total.finish_and_clear();
        end_bars();
    }
}

impl BuildPlace {
    /// The remote builder; `None` if there is none.
    fn builder(&self) -> Option<&str> {
        match self {
            Self::Builder(machine) => Some(machine),
            Self::Here | Self::Cache(_) => None,
        }
    }
}

impl fmt::Display for BuildPlace {
    /// Prints the place as it follows the name of a derivation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildPlace::Here => Ok(()),
            BuildPlace::Builder(machine) => write!(f, " on {machine}"),
            BuildPlace::Cache(cache) => write!(f, " from {cache}"),
        }
    }
}

/// A title that leaves space for the last line of output on a terminal of 80 columns. The end of a
/// title tells it from others, so the middle is left out.
fn shorten(title: &str) -> String {
    const COLUMNS: usize = 52;
    const END: usize = 30;
    let number = title.chars().count();
    if number <= COLUMNS {
        return title.to_owned();
    }
    let start: String = title.chars().take(COLUMNS - END - 1).collect();
    let end: String = title.chars().skip(number - END).collect();
    format!("{start}…{end}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};

    #[test]
    fn a_running_derivation_is_a_line_and_then_gone() {
        let terminal = InMemoryTerm::new(10, 80);
        let derivation = "/nix/store/abc-relu.cu.o.drv".to_owned();
        let title = "csrc/relu.cu (torch211 cu130)".to_owned();
        let mut progress = Progress::new(
            2,
            BTreeMap::from([(derivation.clone(), title)]),
            false,
            MultiProgress::with_draw_target(ProgressDrawTarget::term_like(Box::new(
                terminal.clone(),
            ))),
        );
        progress.start(
            (1, 1),
            derivation,
            BuildPlace::Builder("ssh://b".to_owned()),
        );
        progress.add_line((1, 1), "compiling");
        let draw = |progress: &Progress| {
            for running in progress.running.values() {
                running.row.as_ref().expect("a row").force_draw();
            }
            progress.total.force_draw();
        };
        draw(&progress);
        let shown = terminal.contents();
        assert!(shown.contains("0/2 built"), "{shown}");
        assert!(
            shown.contains("csrc/relu.cu (torch211 cu130) on ssh://b compiling"),
            "{shown}"
        );
        let Some(StoppedActivity::Built(finished)) = progress.stop((1, 1)) else {
            panic!("it ran");
        };
        assert_eq!(finished.last_lines, ["compiling"]);
        assert_eq!(finished.machine.as_deref(), Some("ssh://b"));
        assert_eq!(finished.title, "csrc/relu.cu (torch211 cu130)");
        draw(&progress);
        let shown = terminal.contents();
        assert!(shown.contains("1/2 built"), "{shown}");
        assert!(!shown.contains("relu.cu"), "{shown}");
    }

    #[test]
    fn the_end_of_a_long_title_is_shown() {
        let title = "csrc/a_folder_with_a_long_name/attention_backward.cu sm_90a (torch211 cu130)";
        let short = shorten(title);
        assert_eq!(short.chars().count(), 52);
        assert_eq!(
            short,
            "csrc/a_folder_with_a_…ard.cu sm_90a (torch211 cu130)"
        );
        assert_eq!(shorten("csrc/a.cu"), "csrc/a.cu");
    }
}
