//! The plots, each with its names and, folded away, the sources it has no room for.

use maud::{Markup, PreEscaped, html};

use super::left_out::title;
use super::selection;
use crate::report::model::{Point, Report, Series, Workload, workload};
use crate::report::published::{self, Document};
use squall_tools::page::curves::{self, Axis, Chart, Curve};
use squall_tools::units;

struct Plot {
    workload: &'static str,
    heading: &'static str,
    /// What is drawn, of a time and the bytes that were made in it.
    value: Quantity,
    across: &'static str,
}

#[derive(Clone, Copy)]
enum Quantity {
    Time,
    Rate,
}

const PLOTS: [Plot; 4] = [
    Plot {
        workload: workload::FILL,
        heading: "Throughput by length of a request",
        value: Quantity::Rate,
        across: "length of a request",
    },
    Plot {
        workload: workload::FILL,
        heading: "Time of a request by its length",
        value: Quantity::Time,
        across: "length of a request",
    },
    Plot {
        workload: workload::THREADS_SMALL,
        heading: "Requests of 32 bytes by threads",
        value: Quantity::Rate,
        across: "threads that draw at the same time",
    },
    Plot {
        workload: workload::THREADS_LARGE,
        heading: "Requests of 16 KiB by threads",
        value: Quantity::Rate,
        across: "threads that draw at the same time",
    },
];

/// Every plot of which there are figures.
pub fn section(report: &Report) -> Markup {
    let drawn: Vec<Markup> = PLOTS
        .iter()
        .filter_map(|plot| plot.figure(report))
        .collect();
    html! {
        @if !drawn.is_empty() {
            section {
                h2 id="plots" { "Plots" }
                p.note { "Both axes are logarithmic. Dashed: published figures, of other machines." }
                div.plots { @for figure in drawn { (figure) } }
            }
        }
    }
}

impl Plot {
    fn figure(&self, report: &Report) -> Option<Markup> {
        let workload = report.workload(self.workload)?;
        let plots = selection::plots(report, workload);
        let drawings = plots
            .iter()
            .map(|series| self.drawing(report, workload, series));
        let mut drawings = drawings.flatten();
        let first = drawings.next()?;
        let rest: Vec<_> = drawings.collect();
        Some(html! {
            figure {
                figcaption { h3 { (self.heading) } }
                (first)
                @if !rest.is_empty() {
                    details {
                        summary { "The other sources" }
                        @for drawing in rest { (drawing) }
                    }
                }
            }
        })
    }

    /// A drawing and its names; none if there is nothing to draw.
    fn drawing(&self, report: &Report, workload: &Workload, series: &[&Series]) -> Option<Markup> {
        let mut curves = Vec::new();
        let mut names = Vec::new();
        for (colour, series) in series.iter().enumerate() {
            let points = series
                .points
                .iter()
                .filter_map(|point| self.measured(point));
            curves.push(Curve {
                colour,
                is_dashed: false,
                points: points.collect(),
            });
            names.push((colour, title(report, &series.source).to_owned(), None));
            let (points, document) = self.published(workload, series);
            if let Some(document) = document {
                curves.push(Curve {
                    colour,
                    is_dashed: true,
                    points,
                });
                names.push((colour, title(report, &series.source).into(), Some(document)));
            }
        }
        let listed = names.iter().filter(|(.., document)| document.is_none());
        let listed: Vec<_> = listed.map(|(_, name, _)| name.as_str()).collect();
        let label = format!("{}, a plot of {}", self.heading, listed.join(", "));
        let svg = curves::svg(&self.chart(workload, curves))?;
        Some(html! {
            div.drawing role="img" aria-label=(label) { (PreEscaped(svg)) }
            ul.names { @for (colour, name, document) in &names { (entry(*colour, name, *document)) } }
        })
    }

    fn chart<'a>(&'a self, workload: &'a Workload, curves: Vec<Curve>) -> Chart<'a> {
        let is_length = workload.name == workload::FILL;
        let across: &dyn Fn(f64) -> String = if is_length {
            &|bytes| units::length(bytes.round() as u64)
        } else {
            &|count| format!("{count:.0}")
        };
        Chart {
            name: self.across,
            across: Axis {
                base: 2.0,
                label: across,
            },
            up: Axis {
                base: 10.0,
                label: match self.value {
                    Quantity::Time => &|ns| whole(units::time(ns)),
                    Quantity::Rate => &|rate| whole(units::rate(rate)),
                },
            },
            curves,
        }
    }

    fn measured(&self, point: &Point) -> Option<(f64, f64)> {
        let value = match self.value {
            Quantity::Time => Some(point.ns.median),
            Quantity::Rate => point.rate(),
        };
        Some((point.at as f64, value?))
    }

    /// What was published of a source, and where.
    fn published(
        &self,
        workload: &Workload,
        series: &Series,
    ) -> (Vec<(f64, f64)>, Option<&'static Document>) {
        let mut points = Vec::new();
        let mut document = None;
        for figure in published::of(&workload.name, &series.source) {
            let Some(at) = figure.at else { continue };
            let value = match self.value {
                Quantity::Time => figure.value.ns(at),
                Quantity::Rate => figure.value.rate(at),
            };
            points.extend(value.map(|value| (at as f64, value)));
            document = Some(figure.document);
        }
        (points, document)
    }
}

fn entry(colour: usize, name: &str, document: Option<&Document>) -> Markup {
    let class = format!("c{colour}");
    html! {
        li {
            @match document {
                Some(Document { title, year }) => {
                    span.marker.(class) aria-hidden="true" { "╌○╌" }
                    span { (name) ", published: " cite { (title) } " (" (year) ")" }
                }
                None => {
                    span.marker.(class) aria-hidden="true" { (curves::marker(colour)) }
                    span { (name) }
                }
            }
        }
    }
}

/// A label at a power of ten, whose digits say nothing.
fn whole(label: String) -> String {
    label.replace(".00 ", " ").replace(".0 ", " ")
}
