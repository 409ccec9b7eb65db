//! Which sources a plot shows: thirty curves are none.

use crate::report::model::{Group, Report, Series, SourceReport, State, Workload};
use crate::report::published;

pub const CURVES: usize = 8;

/// Most ways to the kernel's generator among them, and of libraries.
const KERNEL: usize = 3;
const LIBRARIES: usize = 2;

/// The sources of a workload, in parts of [`CURVES`] at most: the first has squall, the fastest of
/// the kernel's ways and of libraries, those of which figures are published, and where there is
/// room the fastest of all others.
pub fn plots<'a>(report: &Report, workload: &'a Workload) -> Vec<Vec<&'a Series>> {
    let measured: Vec<(&Series, &SourceReport)> = workload
        .series
        .iter()
        .filter_map(|series| Some((series, report.source(&series.source)?)))
        .filter(|(series, source)| source.state == State::Measured && !series.points.is_empty())
        .collect();
    let mut first: Vec<&Series> = Vec::new();
    let mut take = |most: usize, is_wanted: &dyn Fn(&Series, &SourceReport) -> bool| {
        let mut wanted: Vec<&Series> = measured
            .iter()
            .filter(|(series, source)| is_wanted(series, source))
            .map(|(series, _)| *series)
            .filter(|series| !first.iter().any(|taken| taken.source == series.source))
            .collect();
        wanted.sort_by(|one, other| slowness(workload, one).total_cmp(&slowness(workload, other)));
        let room = CURVES - first.len();
        first.extend(wanted.into_iter().take(most.min(room)));
    };
    let is_published = |series: &Series| {
        published::of(&workload.name, &series.source).any(|figure| figure.at.is_some())
    };
    take(1, &|series, _| series.source == "squall");
    take(1, &|series, _| {
        workload.kernel.as_ref() == Some(&series.source)
    });
    take(KERNEL - 1, &|_, source| source.group == Group::Kernel);
    take(LIBRARIES, &|_, source| source.group == Group::Library);
    take(CURVES, &|series, _| is_published(series));
    take(CURVES, &|_, source| {
        !matches!(source.group, Group::Squall | Group::Variant)
    });
    take(CURVES, &|_, _| true);
    let rest = measured.iter().map(|(series, _)| *series);
    let rest: Vec<&Series> = rest
        .filter(|series| !first.iter().any(|taken| taken.source == series.source))
        .collect();
    let mut plots = vec![first];
    plots.extend(rest.chunks(CURVES).map(<[_]>::to_vec));
    plots
}

/// How much slower than the fastest a source is, in powers: the mean over its places.
fn slowness(workload: &Workload, series: &Series) -> f64 {
    let beside_best = series.points.iter().map(|point| {
        let all = workload.series.iter();
        let at = all.filter_map(|series| series.points.iter().find(|p| p.at == point.at));
        let best = at
            .map(|point| point.ns.median)
            .fold(f64::INFINITY, f64::min);
        (point.ns.median / best).ln()
    });
    beside_best.sum::<f64>() / series.points.len() as f64
}
