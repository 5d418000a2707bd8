//! Which sources answer: the servers and programs that the downloads of a run ask. A source that is
//! silent for too long is given up for all files. Asks no source itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time after which a source without an answer is worth a line to the user.
const WORTH_A_LINE: Duration = Duration::from_secs(3);

/// The time after which a source that failed, and was asked again, is worth one.
const WORTH_A_LINE_AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Seconds without a byte after which a download is tried again: `KERNEL_BUILDER_STALL_SECONDS`,
/// else 15. A source is given up after twice that time.
pub fn stall_time() -> Duration {
    let seconds = std::env::var("KERNEL_BUILDER_STALL_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(15))
}

/// The sources of a run, by name: the host and port of a server, or a program.
#[derive(Debug)]
pub struct SourceWatch {
    sources: Mutex<BTreeMap<String, SourceState>>,
    /// The silence after which a source is given up.
    limit: Duration,
}

#[derive(Debug)]
struct SourceState {
    /// The number of questions without an end.
    open: usize,
    /// Whether it is a program, which also works without receiving anything.
    is_program: bool,
    /// The time of its last answer, or of the first open question.
    heard: Instant,
    /// The failure of the last try; `None` after an answer.
    failure: Option<String>,
    /// Whether a notice of this silence was given.
    is_noted: bool,
    /// The reason why the source is not asked any more.
    given_up: Option<String>,
}

/// A source that is asked and does not answer.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceNotice {
    pub source: String,
    pub why: String,
}

/// A request to a source with all its tries, until it is dropped.
#[derive(Debug)]
pub struct Question<'a> {
    watch: &'a SourceWatch,
    source: String,
    began: Instant,
}

impl Default for SourceWatch {
    fn default() -> Self {
        Self::new(2 * stall_time())
    }
}

impl SourceWatch {
    /// Sources that are given up after a time of silence.
    pub fn new(limit: Duration) -> Self {
        Self {
            sources: Mutex::default(),
            limit,
        }
    }

    /// Begins a question to a server.
    ///
    /// # Errors
    /// The reason why the server is not asked any more, with its name.
    pub fn ask(&self, server: &str) -> Result<Question<'_>, String> {
        self.begin(server, false)
    }

    /// Begins a question to a program that downloads.
    ///
    /// # Errors
    /// The reason why the program is not asked any more, with its name.
    pub fn ask_program(&self, program: &str) -> Result<Question<'_>, String> {
        self.begin(program, true)
    }

    fn begin(&self, source: &str, is_program: bool) -> Result<Question<'_>, String> {
        let mut sources = self.lock();
        let now = Instant::now();
        let state = sources.entry(source.to_owned()).or_insert(SourceState {
            open: 0,
            is_program,
            heard: now,
            failure: None,
            is_noted: false,
            given_up: None,
        });
        if let Some(why) = &state.given_up {
            return Err(why.clone());
        }
        // A source that nobody asks is not silent.
        if state.open == 0 {
            state.heard = now;
        }
        state.open += 1;
        Ok(Question {
            watch: self,
            source: source.to_owned(),
            began: now,
        })
    }

    /// The reason why a source is not asked any more, with its name.
    pub fn given_up(&self, source: &str) -> Option<String> {
        self.lock().get(source)?.given_up.clone()
    }

    /// The sources that are asked now.
    pub fn asked(&self) -> Vec<String> {
        let sources = self.lock();
        let open = sources.iter().filter(|(_, state)| state.open > 0);
        open.map(|(source, _)| source.clone()).collect()
    }

    /// The sources whose silence is worth a line now, each once until it answers.
    pub fn notices(&self) -> Vec<SourceNotice> {
        let mut notices = Vec::new();
        for (source, state) in self.lock().iter_mut() {
            let silence = state.heard.elapsed();
            let worth = match state.failure {
                Some(_) => WORTH_A_LINE_AFTER_A_FAILURE,
                None if state.is_program => continue,
                None => WORTH_A_LINE,
            };
            let is_waiting = state.open > 0 && state.given_up.is_none();
            if is_waiting && !state.is_noted && silence >= worth {
                state.is_noted = true;
                let why = state.failure.clone();
                notices.push(SourceNotice {
                    source: source.clone(),
                    why: why.unwrap_or_else(|| format!("no answer for {} s", silence.as_secs())),
                });
            }
        }
        notices
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, SourceState>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question<'_> {
    /// Records bytes of the source, or another answer that is final.
    pub fn answered(&self) {
        self.with_state(|state| {
            state.heard = Instant::now();
            state.failure = None;
            state.is_noted = false;
            state.given_up = None;
        });
    }

    /// Records a try that failed and may succeed later. Returns the reason if the source has been
    /// silent for too long and is given up.
    pub fn failed(&self, why: &str) -> Option<String> {
        self.with_state(|state| {
            state.failure = Some(why.to_owned());
            if state.heard.elapsed() >= self.watch.limit {
                state.given_up = Some(format!("{}: {why}", self.source));
            }
            state.given_up.clone()
        })
    }

    /// Records that no try is left. Gives up the source, unless it answered another question
    /// meanwhile; then returns the reason.
    pub fn gave_up(&self, why: &str) -> Option<String> {
        self.with_state(|state| {
            if state.heard <= self.began {
                state.given_up = Some(format!("{}: {why}", self.source));
            }
            state.given_up.clone()
        })
    }

    /// Whether the source answered a question since this one began.
    pub fn was_answered(&self) -> bool {
        self.with_state(|state| state.heard > self.began)
    }

    /// The silence after which the source is given up.
    pub fn limit(&self) -> Duration {
        self.watch.limit
    }

    /// The time that the source may still be silent.
    pub fn time_left(&self) -> Duration {
        let silence = self.with_state(|state| state.heard.elapsed());
        self.watch.limit.saturating_sub(silence)
    }

    fn with_state<T: Default>(&self, action: impl FnOnce(&mut SourceState) -> T) -> T {
        let mut sources = self.watch.lock();
        sources
            .get_mut(&self.source)
            .map(action)
            .unwrap_or_default()
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.with_state(|state| state.open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_secs(1000);

    #[test]
    fn a_silent_source_is_given_up_for_all_questions() {
        let watch = SourceWatch::new(Duration::ZERO);
        let first = watch.ask("a:1").expect("a question");
        let second = watch.ask("a:1").expect("a question");
        assert_eq!(first.failed("no route").as_deref(), Some("a:1: no route"));
        assert_eq!(watch.ask("a:1").err().as_deref(), Some("a:1: no route"));
        assert!(watch.ask("b:1").is_ok());
        // A slow answer is an answer.
        second.answered();
        assert!(watch.ask("a:1").is_ok());
    }

    #[test]
    fn a_source_that_serves_other_files_is_not_given_up() {
        let watch = SourceWatch::new(NEVER);
        let fails = watch.ask("a:1").expect("a question");
        assert_eq!(fails.failed("status 503"), None);
        watch.ask("a:1").expect("a question").answered();
        assert_eq!(fails.gave_up("status 503"), None);
        drop(fails);
        let alone = watch.ask("a:1").expect("a question");
        assert_eq!(alone.failed("status 503"), None);
        let why = alone.gave_up("status 503");
        assert_eq!(why.as_deref(), Some("a:1: status 503"));
    }

    #[test]
    fn a_silence_is_noted_once() {
        let watch = SourceWatch::new(NEVER);
        let question = watch.ask("a:1").expect("a question");
        assert_eq!(watch.notices(), []);
        question.failed("no route");
        let long_ago = Instant::now().checked_sub(Duration::from_secs(2));
        question.with_state(|state| state.heard = long_ago.expect("a machine up for 2 s"));
        let notice = SourceNotice {
            source: "a:1".to_owned(),
            why: "no route".to_owned(),
        };
        assert_eq!(watch.notices(), [notice]);
        assert_eq!(watch.notices(), []);
    }
}
