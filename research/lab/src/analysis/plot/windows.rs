//! Plots the requests that each source served in the window after a reset.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use squall_tools::page::svg::{Area, Context, Drawn, FONT, mesh, svg};

use super::{BLUE, MARGIN, MESH, TITLE, WIDTH};
use crate::analysis::report::Experiment;
use crate::analysis::window::Window;

/// Height of a source's row, and of everything else together, in pixels.
const ROW: u32 = 34;
const REST: u32 = 140;

/// Rows that the legend takes, below the sources.
const LEGEND_ROWS: u32 = 2;

/// A name, the opacity of a bar and its height as a fraction of its row, and the bar's length.
type Bar = (&'static str, f64, f64, fn(&Window) -> usize);

/// Later bars are drawn over earlier ones.
const BARS: [Bar; 2] = [
    ("maximum of the clones", 0.4, 0.7, |window| {
        window.requests.max
    }),
    ("median", 1.0, 0.35, |window| window.requests.median),
];

/// Plots how many requests each source served before a clone had its own state, as SVG. None if there
/// are no windows. The axis shows log(1 + requests), because most numbers are 0.
pub fn plot_window(experiment: &Experiment) -> Option<String> {
    let sources = experiment.sources.iter();
    let windows = sources.filter_map(|s| Some((s.source.name(), s.window.as_ref()?)));
    let windows: Vec<_> = windows.collect();
    let height = REST + ROW * (windows.len() as u32 + LEGEND_ROWS);
    (!windows.is_empty()).then(|| svg((WIDTH, height), |area| draw(area, experiment, &windows)))
}

fn draw(area: &Area, experiment: &Experiment, windows: &[(&str, &Window)]) -> Drawn {
    area.fill(&WHITE)?;
    let title = super::title(experiment, "requests with common state");
    let (requests, rows) = axes(windows);
    let mut chart = ChartBuilder::on(area)
        .caption(title, TITLE)
        .margin(MARGIN)
        .x_label_area_size(48)
        .y_label_area_size(170)
        .build_cartesian_2d(requests, rows)?;
    mesh(&mut chart)
        .disable_y_mesh()
        .x_desc("requests of a clone before its first output of its own, count (logarithmic)")
        .x_label_formatter(&|&place| format!("{:.0}", requests_at(place)))
        .y_label_formatter(&|&row| windows[index(row, windows.len())].0.into())
        .draw()?;
    for (name, opacity, part, requests) in BARS {
        let colour = BLUE.mix(opacity);
        let bars = windows.iter().enumerate().map(|(index, (_, window))| {
            let row = row(index, windows.len());
            let corners = [
                (0.0, row - part / 2.0),
                (place(requests(window)), row + part / 2.0),
            ];
            Rectangle::new(corners, colour.filled())
        });
        chart
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 6), (x + 18, y + 6)], colour.filled()));
    }
    figures(&mut chart, windows)?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE)
        .border_style(MESH)
        .label_font(FONT)
        .draw()
}

/// Writes each bar's numbers next to it.
fn figures(chart: &mut Context<Axis, Axis>, windows: &[(&str, &Window)]) -> Drawn {
    let style = TextStyle::from(FONT).pos(Pos::new(HPos::Left, VPos::Center));
    let texts = windows.iter().enumerate().map(|(index, (_, window))| {
        let requests = window.requests;
        let never = match window.clones_without_new_state {
            0 => String::new(),
            never => format!(", never in {never} clones"),
        };
        let figures = format!("{} (at most {}){never}", requests.median, requests.max);
        let at = (place(requests.max), row(index, windows.len()));
        EmptyElement::at(at) + Text::new(figures, (6, 0), style.clone())
    });
    chart.draw_series(texts).map(drop)
}

/// The axes: one for requests with room for text, and one for rows with room for the legend.
fn axes(windows: &[(&str, &Window)]) -> (Axis, Axis) {
    let greatest = windows.iter().map(|(_, window)| window.requests.max).max();
    let end = place(greatest.unwrap_or(0).max(9));
    let powers = [
        0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000,
    ];
    let ticks: Vec<f64> = powers
        .map(place)
        .into_iter()
        .filter(|&t| t <= end)
        .collect();
    let rows: Vec<f64> = (0..windows.len()).map(|i| row(i, windows.len())).collect();
    let axis = |end, ticks| Axis { end, ticks };
    (
        axis(end * 1.6, ticks),
        axis(windows.len() as f64 + f64::from(LEGEND_ROWS), rows),
    )
}

/// An axis from 0 with given ticks.
struct Axis {
    end: f64,
    ticks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * value / self.end).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        0.0..self.end
    }
}

/// The position of a number of requests on the axis; `requests_at` is its inverse.
fn place(requests: usize) -> f64 {
    (1.0 + requests as f64).log10()
}

fn requests_at(place: f64) -> f64 {
    10f64.powf(place) - 1.0
}

/// The middle of the row of source `index` of `sources`; the first is on top.
fn row(index: usize, sources: usize) -> f64 {
    (sources - index) as f64 - 0.5 + f64::from(LEGEND_ROWS)
}

fn index(row: f64, sources: usize) -> usize {
    sources - (row + 0.5 - f64::from(LEGEND_ROWS)).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::campaign;

    #[test]
    fn bars_have_names_and_figures() {
        let svg = plot_window(&campaign().experiments[0]).expect("a plot");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in [
            "squall_signal_only",
            "0 (at most 0)",
            "median",
            "requests of a clone",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn boots_have_no_windows() {
        assert_eq!(plot_window(&campaign().experiments[1]), None);
    }

    #[test]
    fn places_and_rows_come_back() {
        for requests in [0, 1, 30, 100_000] {
            assert_eq!(requests_at(place(requests)).round(), requests as f64);
        }
        assert!((0..5).all(|i| index(row(i, 5), 5) == i));
    }
}
