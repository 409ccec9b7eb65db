//! The plots, and which sources each shows.

use squall_tool_base::report::plots::{Curve, Curves, Figure, LOOKS, MOST_CURVES, Plot};
use squall_tool_base::units;

use super::model::{Group, Report, Series, SourceReport, State, Workload, workload};
use super::published;

/// What is drawn over the places of a workload.
#[derive(Clone, Copy)]
enum Quantity {
    Time,
    Rate,
}

#[rustfmt::skip]
const PLOTS: [(&str, Quantity, &str); 4] = [
    (workload::FILL, Quantity::Rate, "Throughput by length of a request"),
    (workload::FILL, Quantity::Time, "Time of a request by its length"),
    (workload::THREADS_SMALL, Quantity::Rate, "Requests of 32 bytes by threads"),
    (workload::THREADS_LARGE, Quantity::Rate, "Requests of 16 KiB by threads"),
];

/// Sources by their looks, which they have in every plot and on every page: those of a line differ in colour, and those
/// of a column have the same one. What is new comes last.
#[rustfmt::skip]
const BY_LOOK: [&str; 43] = [
    "squall", "vdso", "getrandom", "urandom", "thread-rng", "openssl-rand", "openssl-aes128-ctr", "openssl-aes128-ctr-noaes",
    "squall-vaes512", "squall-fresh", "squall-no-signal", "squall-preloaded", "chacha8", "chacha12", "go-crypto-rand", "go-math-rand",
    "squall-vaes256", "aes128-vaes512", "aes128-vaes256", "aes128-aesni", "squall-openssl", "chacha20", "thread-rng-call", "whirlwind",
    "squall-aesni", "openssl-aes256-ctr", "openssl-chacha20", "chacha20-erasing", "aes128-portable", "libsquall", "squall-simulation", "dev-squall",
    "squall-portable", "memset", "arc4random", "libsodium", "aes256-vaes512", "aes256-vaes256", "aes256-aesni", "aes256-portable",
    "squall-chacha20", "robust", "legacy",
];
const _: () = assert!(BY_LOOK.len() < LOOKS);

/// The look of the source named `name`.
fn look(name: &str) -> usize {
    let place = BY_LOOK.iter().position(|source| *source == name);
    place.unwrap_or(BY_LOOK.len())
}

/// Whether two sources have the same colour, as any has with itself: then they are not in the same plot.
fn is_alike(one: &Series, other: &Series) -> bool {
    let [one, other] = [one, other].map(|series| look(&series.source) % MOST_CURVES);
    one == other
}

/// Every plot of which there are figures.
pub fn figures(report: &Report) -> Vec<Figure> {
    let figure = |(name, quantity, heading): (&str, _, &str)| {
        let workload = report.workload(name)?;
        let groups = groups(report, workload);
        let plots = groups
            .iter()
            .map(|series| Plot::Curves(curves(report, workload, quantity, series)));
        (!groups[0].is_empty()).then(|| Figure {
            heading: heading.into(),
            plots: plots.collect(),
            others: "The other sources",
        })
    };
    PLOTS.into_iter().filter_map(figure).collect()
}

/// A curve for each of `series`, and for what others published of it.
fn curves(report: &Report, workload: &Workload, quantity: Quantity, series: &[&Series]) -> Curves {
    let mut curves = Vec::new();
    for series in series {
        let look = look(&series.source);
        let title = report.title(&series.source);
        curves.push(Curve {
            name: title.into(),
            look,
            is_dashed: false,
            points: measured(quantity, series),
        });
        let published = published::figures_of(&workload.name, &series.source);
        let published: Vec<_> = published.filter(|figure| figure.at.is_some()).collect();
        if let Some(first) = published.first() {
            let document = first.document;
            let published = published
                .iter()
                .filter_map(|figure| published_point(quantity, figure));
            curves.push(Curve {
                name: format!("{title}, published: {} ({})", document.title, document.year),
                look,
                is_dashed: true,
                points: published.collect(),
            });
        }
    }
    let is_of_lengths = workload.name == workload::FILL;
    Curves {
        name: if is_of_lengths {
            "length of a request"
        } else {
            "threads that draw at the same time"
        },
        across: if is_of_lengths {
            |bytes| units::length(bytes.round() as u64)
        } else {
            |count| format!("{count:.0}")
        },
        up: match quantity {
            Quantity::Time => |ns| whole(units::time(ns)),
            Quantity::Rate => |rate| whole(units::rate(rate)),
        },
        curves,
    }
}

/// A label at a power of ten, whose digits say nothing.
fn whole(label: String) -> String {
    label.replace(".00 ", " ").replace(".0 ", " ")
}

fn measured(quantity: Quantity, series: &Series) -> Vec<(f64, f64)> {
    let points = series.points.iter().filter_map(|point| {
        let value = match quantity {
            Quantity::Time => point.ns.median,
            Quantity::Rate => point.rate()?,
        };
        Some((point.at as f64, value))
    });
    points.collect()
}

fn published_point(quantity: Quantity, figure: &published::Published) -> Option<(f64, f64)> {
    let at = figure.at?;
    let value = match quantity {
        Quantity::Time => at as f64 / figure.rate * 1e9,
        Quantity::Rate => figure.rate,
    };
    Some((at as f64, value))
}

/// Most ways to the kernel's generator in a plot, and most libraries.
const KERNEL: usize = 3;
const LIBRARIES: usize = 2;

/// The sources of a workload, in groups whose colours differ, because more curves in a plot are hard to tell
/// apart. The first group has squall, the fastest of the kernel's ways and of libraries, those of which figures are
/// published, and where there is room the fastest of all others.
fn groups<'a>(report: &Report, workload: &'a Workload) -> Vec<Vec<&'a Series>> {
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
            .collect();
        wanted.sort_by(|one, other| slowness(workload, one).total_cmp(&slowness(workload, other)));
        let before = first.len();
        for series in wanted {
            if first.len() < before + most {
                add(&mut first, series);
            }
        }
    };
    let is_published = |series: &Series| {
        published::figures_of(&workload.name, &series.source).any(|figure| figure.at.is_some())
    };
    take(1, &|series, _| series.source == "squall");
    take(1, &|series, _| {
        workload.kernel.as_ref() == Some(&series.source)
    });
    take(KERNEL - 1, &|_, source| source.group == Group::Kernel);
    take(LIBRARIES, &|_, source| source.group == Group::Library);
    take(MOST_CURVES, &|series, _| is_published(series));
    take(MOST_CURVES, &|_, source| {
        !matches!(source.group, Group::Squall | Group::Variant)
    });
    take(MOST_CURVES, &|_, _| true);
    let rest = measured.iter().map(|(series, _)| *series);
    let mut rest: Vec<&Series> = rest
        .filter(|series| !first.iter().any(|taken| taken.source == series.source))
        .collect();
    let mut groups = vec![first];
    while !rest.is_empty() {
        let mut group = Vec::new();
        rest.retain(|series| !add(&mut group, series));
        groups.push(group);
    }
    groups
}

/// Adds `series` to a group, unless one there has its colour; says whether it did.
fn add<'a>(group: &mut Vec<&'a Series>, series: &'a Series) -> bool {
    let is_new = !group.iter().any(|other| is_alike(other, series));
    if is_new {
        group.push(series);
    }
    is_new
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::{self, RunsIn};

    #[test]
    fn every_source_of_a_plot_has_a_look_of_its_own() {
        for entry in sources::all().filter(|entry| entry.runs_in != RunsIn::OtherProgram) {
            let places = BY_LOOK.iter().filter(|name| **name == entry.name);
            assert_eq!(places.count(), 1, "{}", entry.name);
        }
    }
}
