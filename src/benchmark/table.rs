//! Measurements as a table: a line for each workload and build.

use super::{MeasuredBuild, Quartiles, Workload, time_in_words};

/// The table, in columns as wide as their widest cell. The times are medians; the spread is from
/// the first quarter of the samples to the third.
pub fn table(builds: &[MeasuredBuild]) -> String {
    let header = [
        "workload",
        "build",
        "time",
        "spread",
        "reference",
        "speed",
        "result",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    let first = builds
        .first()
        .map(|build| &build.workloads[..])
        .unwrap_or_default();
    for name in first.iter().map(|workload| &workload.name) {
        for build in builds {
            let found = build
                .workloads
                .iter()
                .find(|workload| &workload.name == name);
            rows.extend(found.and_then(|workload| row(build, workload)));
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..header.len()).filter_map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            2..=5 => format!("{cell:>width$}"),
            _ => format!("{cell:width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// The line of a workload; `None` without samples.
fn row(build: &MeasuredBuild, workload: &Workload) -> Option<[String; 7]> {
    let own = Quartiles::new(&workload.samples)?;
    let reference = Quartiles::new(&workload.reference);
    let result = match (workload.matches, workload.largest_difference) {
        (None, _) => "not compared".to_owned(),
        (Some(true), Some(0.0)) => "equal".to_owned(),
        (Some(true), difference) => format!("within {:.1e}", difference.unwrap_or_default()),
        (Some(false), difference) => format!("WRONG by {:.1e}", difference.unwrap_or_default()),
    };
    Some([
        workload.name.clone(),
        build.build.clone(),
        time_in_words(own.median),
        format!(
            "{} to {}",
            time_in_words(own.lower),
            time_in_words(own.upper)
        ),
        reference.map_or("-".to_owned(), |reference| time_in_words(reference.median)),
        reference.map_or("-".to_owned(), |reference| {
            format!("{:.2}x", reference.median / own.median)
        }),
        result,
    ])
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn builds_of_a_workload_stand_together() {
        insta::assert_snapshot!(table(&sample()), @r"
        workload    build                               time              spread  reference  speed  result
        Relu.large  torch211-cxx11-cpu-x86_64-linux  3.00 ms  2.50 ms to 3.50 ms    6.00 ms  2.00x  equal
        Relu.large  ../old                           6.00 ms  5.00 ms to 7.00 ms    6.00 ms  1.00x  WRONG by 2.0e0
        Relu.small  torch211-cxx11-cpu-x86_64-linux  5.00 µs  5.00 µs to 5.00 µs          -      -  not compared
        Relu.small  ../old                           10.0 µs  10.0 µs to 10.0 µs          -      -  not compared
        ");
    }
}
