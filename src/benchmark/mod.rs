//! Measurements of builds of a kernel: as templates/trial/run_benchmarks.py writes them, their
//! medians, and how they are shown (table.rs, plot.rs). Measures nothing itself.

mod plot;
mod table;

use camino::Utf8Path;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::plot::{PLOT_MARKER, plot};
pub use self::table::table;
use crate::file::{MAX_TEXT, help_for_io, read_at_most};

/// The program that measures a build.
pub const RUN_BENCHMARKS: &str = include_str!("../../templates/trial/run_benchmarks.py");

/// The reason why measurements could not be read or drawn.
#[derive(Debug, Diagnostic, Error)]
pub enum BenchmarkError {
    #[error("failed to read the measurements in {path}")]
    #[diagnostic(code(benchmark::read), help("{}", help_for_io(source)))]
    Read {
        path: String,
        source: std::io::Error,
    },

    #[error("failed to draw a plot: {0}")]
    #[diagnostic(
        code(benchmark::plot),
        help("this is a defect of kernel-builder, please report it")
    )]
    Plot(String),
}

/// The measurements of one build, with the words of its machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct MeasuredBuild {
    /// The build as the user named it.
    pub build: String,
    /// The name under which the client loaded it, which holds its build id.
    pub module: String,
    pub torch: String,
    pub device: String,
    pub gpu: Option<String>,
    pub workloads: Vec<Workload>,
}

/// The measurements of one workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Workload {
    /// Its class and its name.
    pub name: String,
    /// Seconds of one call, in each sample.
    pub samples: Vec<f64>,
    /// The same of the `verify_*` function, if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<f64>,
    /// Whether the result is that of the `verify_*` function, as the client compares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_difference: Option<f64>,
}

/// The middle of some samples, and the quarters beside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    pub lower: f64,
    pub median: f64,
    pub upper: f64,
}

impl Quartiles {
    /// The quartiles of some samples; `None` without samples.
    pub fn new(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |quarters: usize| {
            let place = last as f64 * quarters as f64 / 4.0;
            let (low, high) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            low + (high - low) * place.fract()
        };
        Some(Self {
            lower: at(1),
            median: at(2),
            upper: at(3),
        })
    }
}

impl MeasuredBuild {
    /// Reads measurements from a file of `run_benchmarks.py`.
    ///
    /// # Errors
    /// `BenchmarkError::Read`
    pub fn read(path: &Utf8Path) -> Result<Self, BenchmarkError> {
        let failed = |source| BenchmarkError::Read {
            path: path.to_string(),
            source,
        };
        let text = read_at_most(path, MAX_TEXT).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|error| failed(error.into()))
    }

    /// The workloads whose result is wrong.
    pub fn wrong(&self) -> impl Iterator<Item = &str> {
        let wrong = self
            .workloads
            .iter()
            .filter(|workload| workload.matches == Some(false));
        wrong.map(|workload| workload.name.as_str())
    }
}

/// The results as data: the measurements with their quartiles.
pub fn json(kernel: &str, builds: &[MeasuredBuild]) -> serde_json::Value {
    let workload = |workload: &Workload| {
        serde_json::json!({
            "name": workload.name,
            "seconds": Quartiles::new(&workload.samples),
            "reference_seconds": Quartiles::new(&workload.reference),
            "matches": workload.matches,
            "largest_difference": workload.largest_difference,
            "samples": workload.samples,
        })
    };
    let build = |build: &MeasuredBuild| {
        let workloads: Vec<_> = build.workloads.iter().map(workload).collect();
        serde_json::json!({
            "build": build.build,
            "module": build.module,
            "torch": build.torch,
            "device": build.device,
            "gpu": build.gpu,
            "workloads": workloads,
        })
    };
    let builds: Vec<_> = builds.iter().map(build).collect();
    serde_json::json!({ "kernel": kernel, "builds": builds })
}

/// A time in the unit that suits it: "12.3 µs".
fn time_in_words(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| seconds >= *unit)
        .unwrap_or((1e-9, "ns"));
    let number = seconds / unit;
    let digits = match number {
        hundreds if hundreds >= 100.0 => 0,
        tens if tens >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.digits$} {name}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two builds with two workloads each, of which one has no reference.
    pub fn sample() -> Vec<MeasuredBuild> {
        let build = |name: &str, factor: f64| MeasuredBuild {
            build: name.to_owned(),
            module: "_relu_cpu_0a".to_owned(),
            torch: "2.11.0".to_owned(),
            device: "cpu".to_owned(),
            gpu: None,
            workloads: vec![
                Workload {
                    name: "Relu.large".to_owned(),
                    samples: vec![3e-3 * factor, 2e-3 * factor, 4e-3 * factor],
                    reference: vec![6e-3],
                    matches: Some(factor < 2.0),
                    largest_difference: Some(2.0 * (factor - 1.0)),
                },
                Workload {
                    name: "Relu.small".to_owned(),
                    samples: vec![5e-6 * factor],
                    reference: Vec::new(),
                    matches: None,
                    largest_difference: None,
                },
            ],
        };
        vec![
            build("torch211-cxx11-cpu-x86_64-linux", 1.0),
            build("../old", 2.0),
        ]
    }

    #[test]
    fn quartiles_of_few_and_of_many_samples() {
        let quartiles = |samples: &[f64]| {
            let found = Quartiles::new(samples)?;
            Some((found.lower, found.median, found.upper))
        };
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[3.0]), Some((3.0, 3.0, 3.0)));
        assert_eq!(quartiles(&[5.0, 1.0, 4.0, 2.0, 3.0]), Some((2.0, 3.0, 4.0)));
        assert_eq!(quartiles(&[2.0, 1.0]), Some((1.25, 1.5, 1.75)));
    }

    #[test]
    fn times_have_three_digits() {
        let words = [2.5, 0.0123, 1e-3, 4.567e-5, 9e-8].map(time_in_words);
        assert_eq!(
            words,
            ["2.50 s", "12.3 ms", "1.00 ms", "45.7 µs", "90.0 ns"]
        );
    }

    #[test]
    fn wrong_results_are_named() {
        let builds = sample();
        assert_eq!(builds[0].wrong().count(), 0);
        assert_eq!(builds[1].wrong().collect::<Vec<_>>(), ["Relu.large"]);
        let json = json("relu", &builds);
        assert_eq!(json["builds"][1]["workloads"][0]["seconds"]["median"], 6e-3);
    }
}
