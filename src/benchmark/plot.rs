//! Measurements as an SVG: for each workload a bar for each build and one for the reference. Drawn
//! by this program, so that a kernel's environment needs no matplotlib.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{BenchmarkError, MeasuredBuild, Quartiles, time_in_words};

/// Sizes in pixels.
const WIDTH: u32 = 760;
const LEFT: i32 = 16;
const RIGHT: i32 = 140;
const BAR: i32 = 18;
const TITLE: i32 = 30;
const GAP: i32 = 14;

/// A bar: its label, its quartiles and its colour.
struct Bar<'a> {
    label: &'a str,
    time: Quartiles,
    color: RGBColor,
}

/// Draws measurements. Bars of one workload are to one scale: the slowest one has the full width.
///
/// # Errors
/// `BenchmarkError::Plot` for a defect of this program.
pub fn plot(kernel: &str, builds: &[MeasuredBuild]) -> Result<String, BenchmarkError> {
    let workloads = workloads(builds);
    let rows: usize = workloads.iter().map(|(_, bars)| bars.len()).sum();
    let groups = i32::try_from(workloads.len()).unwrap_or(i32::MAX);
    let rows = i32::try_from(rows).unwrap_or(i32::MAX);
    let height = 2 * TITLE + groups * (TITLE + GAP) + rows * BAR;
    let mut svg = String::new();
    draw(kernel, builds, &workloads, height, &mut svg)
        .map_err(|error| BenchmarkError::Plot(error.to_string()))?;
    Ok(svg)
}

/// The bars of each workload: those of the builds, then the reference as the first build has it.
fn workloads(builds: &[MeasuredBuild]) -> Vec<(&str, Vec<Bar<'_>>)> {
    const REFERENCE: RGBColor = RGBColor(150, 150, 150);
    let first = builds
        .first()
        .map(|build| &build.workloads[..])
        .unwrap_or_default();
    let bars = |name: &str| {
        let own = builds.iter().enumerate().filter_map(|(place, build)| {
            let workload = build
                .workloads
                .iter()
                .find(|workload| workload.name == name)?;
            let (r, g, b) = Palette99::COLORS[place % Palette99::COLORS.len()];
            Some(Bar {
                label: &build.build,
                time: Quartiles::new(&workload.samples)?,
                color: RGBColor(r, g, b),
            })
        });
        let reference = first.iter().find(|workload| workload.name == name);
        let reference = reference.and_then(|workload| Quartiles::new(&workload.reference));
        let reference = reference.map(|time| Bar {
            label: "reference",
            time,
            color: REFERENCE,
        });
        own.chain(reference).collect()
    };
    let names = first.iter().map(|workload| workload.name.as_str());
    names.map(|name| (name, bars(name))).collect()
}

fn draw(
    kernel: &str,
    builds: &[MeasuredBuild],
    workloads: &[(&str, Vec<Bar<'_>>)],
    height: i32,
    svg: &mut String,
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let height = u32::try_from(height).unwrap_or_default();
    let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let style = |size: i32| {
        let left = Pos::new(HPos::Left, VPos::Center);
        ("sans-serif", size).into_font().color(&BLACK).pos(left)
    };
    let machine = builds.first().map(|build| {
        let device = build.gpu.as_deref().unwrap_or(&build.device);
        format!(
            "{kernel}: time of a call, torch {} on {device}",
            build.torch
        )
    });
    let title = machine.unwrap_or_else(|| kernel.to_owned());
    area.draw(&Text::new(title, (LEFT, TITLE / 2 + 4), style(17)))?;
    let full = f64::from(WIDTH) - f64::from(LEFT + RIGHT);
    let mut top = TITLE + GAP;
    for (name, bars) in workloads {
        area.draw(&Text::new(
            (*name).to_owned(),
            (LEFT, top + TITLE / 2),
            style(14),
        ))?;
        top += TITLE;
        let slowest = bars
            .iter()
            .map(|bar| bar.time.upper)
            .fold(f64::MIN_POSITIVE, f64::max);
        let at = |seconds: f64| LEFT + (seconds / slowest * full).round() as i32;
        for bar in bars {
            let end = at(bar.time.median);
            let middle = top + BAR / 2 - 1;
            let corners = [(LEFT, top), (end, top + BAR - 3)];
            area.draw(&Rectangle::new(corners, bar.color.filled()))?;
            let spread = vec![(at(bar.time.lower), middle), (at(bar.time.upper), middle)];
            area.draw(&PathElement::new(spread, BLACK.stroke_width(1)))?;
            let words = time_in_words(bar.time.median);
            let beside = (at(bar.time.upper).max(end) + 6, middle);
            area.draw(&Text::new(words, beside, style(12)))?;
            area.draw(&Text::new(
                bar.label.to_owned(),
                (LEFT + 5, middle),
                style(12),
            ))?;
            top += BAR;
        }
        top += GAP;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn every_bar_has_its_label_and_its_time() {
        let svg = plot("relu", &sample()).expect("a plot");
        assert!(
            svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"),
            "{svg}"
        );
        for words in [
            "relu: time of a call, torch 2.11.0 on cpu",
            "Relu.large",
            "../old",
            "3.00 ms",
            "6.00 ms",
        ] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        assert_eq!(svg.matches("reference").count(), 1, "{svg}");
        assert_eq!(
            plot("relu", &sample()).expect("a plot"),
            svg,
            "not deterministic"
        );
        plot("relu", &[]).expect("an empty plot");
    }
}
