//! The plots, each with its names and, folded away, the sources it has no room for.

use maud::{Markup, html};
use squall_tools::page::curves::{self, Axis, Chart, Curve};
use squall_tools::page::{figures, svg};
use squall_tools::units;

use super::selection;
use crate::report::model::{Report, Series, Workload, workload};
use crate::report::published;

/// What is drawn over the places of a workload.
#[derive(Clone, Copy)]
enum Quantity {
    Time,
    Rate,
}

const PLOTS: [(&str, Quantity, &str); 4] = [
    (
        workload::FILL,
        Quantity::Rate,
        "Throughput by length of a request",
    ),
    (
        workload::FILL,
        Quantity::Time,
        "Time of a request by its length",
    ),
    (
        workload::THREADS_SMALL,
        Quantity::Rate,
        "Requests of 32 bytes by threads",
    ),
    (
        workload::THREADS_LARGE,
        Quantity::Rate,
        "Requests of 16 KiB by threads",
    ),
];

/// Every plot of which there are figures.
pub fn section(report: &Report) -> Markup {
    let figure = |(workload, quantity, heading)| {
        let workload = report.workload(workload)?;
        let plots = selection::plots(report, workload).into_iter();
        let drawings =
            plots.filter_map(|series| drawing(report, workload, quantity, heading, &series));
        figures::figure(heading, &drawings.collect::<Vec<_>>(), "The other sources")
    };
    let drawn: Vec<Markup> = PLOTS.into_iter().filter_map(figure).collect();
    let note = "Both axes are logarithmic. Dashed: published figures, of other machines.";
    figures::section("Plots", note, &drawn)
}

/// A drawing and its names; none if there is nothing to draw.
fn drawing(
    report: &Report,
    workload: &Workload,
    quantity: Quantity,
    heading: &str,
    series: &[&Series],
) -> Option<Markup> {
    let (mut curves, mut names) = (Vec::new(), Vec::new());
    for (colour, series) in series.iter().enumerate() {
        let title = report.title(&series.source);
        curves.push(Curve {
            colour,
            is_dashed: false,
            points: measured(quantity, series),
        });
        names.push(figures::name(
            colour,
            svg::marker(colour),
            &html! { (title) },
        ));
        let published = published::of(&workload.name, &series.source);
        let published: Vec<_> = published.filter(|figure| figure.at.is_some()).collect();
        if let Some(first) = published.first() {
            curves.push(Curve {
                colour,
                is_dashed: true,
                points: published
                    .iter()
                    .filter_map(|figure| of_others(quantity, figure))
                    .collect(),
            });
            let document = first.document;
            let name = html! { (title) ", published: " cite { (document.title) } " (" (document.year) ")" };
            names.push(figures::name(colour, "╌○╌", &name));
        }
    }
    let titles: Vec<_> = series
        .iter()
        .map(|series| report.title(&series.source))
        .collect();
    let svg = curves::svg(&chart(workload, quantity, curves))?;
    Some(html! {
        (figures::drawing(heading, &titles, svg))
        ul.names { @for name in names { (name) } }
    })
}

fn chart(workload: &Workload, quantity: Quantity, curves: Vec<Curve>) -> Chart<'static> {
    let (name, across): (_, &dyn Fn(f64) -> String) = match workload.name.as_str() {
        workload::FILL => ("length of a request", &|bytes| {
            units::length(bytes.round() as u64)
        }),
        _ => ("threads that draw at the same time", &|count| {
            format!("{count:.0}")
        }),
    };
    Chart {
        name,
        across: Axis {
            base: 2.0,
            label: across,
        },
        up: Axis {
            base: 10.0,
            label: match quantity {
                Quantity::Time => &|ns| whole(units::time(ns)),
                Quantity::Rate => &|rate| whole(units::rate(rate)),
            },
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

fn of_others(quantity: Quantity, figure: &published::Published) -> Option<(f64, f64)> {
    let at = figure.at?;
    let value = match quantity {
        Quantity::Time => figure.value.ns(at),
        Quantity::Rate => figure.value.rate(at),
    };
    Some((at as f64, value?))
}
