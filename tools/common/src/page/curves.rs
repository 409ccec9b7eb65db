//! A plot of curves over two logarithmic axes, as SVG. The legend is HTML beside it.

use std::ops::Range;

use super::figures::CURVES;
use super::svg::{self, Area, Drawn, WIDTH, mark, mesh};
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange, LogCoord, WithKeyPoints};
use plotters::prelude::*;
use plotters::series::DashedLineSeries;

/// Height in drawing units.
const HEIGHT: u32 = 320;

/// Space for labels below and on the left, and margins, in drawing units.
const BELOW: u32 = 42;
const LEFT: u32 = 66;
const MARGIN: u32 = 8;
const MARGIN_RIGHT: u32 = 18;

/// Space around the curves, as a fraction of the axis (in powers).
const ROOM: f64 = 0.03;

/// The most labels that fit on an axis.
const LABELS: usize = 7;

/// A plot.
pub struct Chart<'a> {
    /// The name of the horizontal axis; the labels of the vertical one name it.
    pub name: &'a str,
    /// The horizontal axis.
    pub across: Axis<'a>,
    /// The vertical axis.
    pub up: Axis<'a>,
    /// The curves, most important first; it is drawn on top of the others.
    pub curves: Vec<Curve>,
}

/// A logarithmic axis.
pub struct Axis<'a> {
    /// The base; labels stand at some or all of its powers.
    pub base: f64,
    /// Makes the label of a value.
    pub label: &'a dyn Fn(f64) -> String,
}

/// A curve.
pub struct Curve {
    /// The index of its colour in [`CURVES`].
    pub colour: usize,
    /// Whether it is dashed with hollow markers, for values that were not measured here.
    pub is_dashed: bool,
    /// The points, in the order of the horizontal axis; all values are above 0.
    pub points: Vec<(f64, f64)>,
}

/// The plot as SVG; `None` if there are no points.
pub fn svg(chart: &Chart) -> Option<String> {
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let across = coordinates(&chart.across, points().map(|point| point.0))?;
    let up = coordinates(&chart.up, points().map(|point| point.1))?;
    let draw = |area: &Area| draw(area, chart, across, up);
    Some(svg::svg((WIDTH, HEIGHT), draw))
}

type Logarithmic = WithKeyPoints<LogCoord<f64>>;

/// An axis that covers `values`, with labels at powers of its base.
fn coordinates(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<Logarithmic> {
    let power = |value: f64| value.log(axis.base);
    let powers: Vec<f64> = values.map(power).collect();
    let low = powers.iter().copied().min_by(f64::total_cmp)?;
    let high = powers.iter().copied().max_by(f64::total_cmp)?;
    let (low, high) = match high - low {
        ..1.0 => (low.floor(), low.floor().max(high.ceil() - 1.0) + 1.0),
        _ => (low, high),
    };
    let room = (high - low) * ROOM;
    let Range { start, end } = low - room..high + room;
    let value = |power: f64| axis.base.powf(power);
    let keys = keys(start, end).map(value).collect();
    let range = (value(start)..value(end)).log_scale().base(axis.base);
    Some(range.with_key_points(keys))
}

/// Whole powers from `start` to `end`, as many as fit as labels.
fn keys(start: f64, end: f64) -> impl Iterator<Item = f64> {
    let count = (end.floor() - start.ceil()) as usize + 1;
    let step = count.div_ceil(LABELS);
    (0..count)
        .step_by(step)
        .map(move |n| start.ceil() + n as f64)
}

fn draw(area: &Area, chart: &Chart, across: Logarithmic, up: Logarithmic) -> Drawn {
    let mut context = ChartBuilder::on(area)
        .margin(MARGIN)
        .margin_right(MARGIN_RIGHT)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(across, up)?;
    mesh(&mut context)
        .x_desc(chart.name)
        .x_label_formatter(&|value| (chart.across.label)(*value))
        .y_label_formatter(&|value| (chart.up.label)(*value))
        .draw()?;
    for curve in chart.curves.iter().rev() {
        let points = || curve.points.iter().copied();
        let style = CURVES[curve.colour].0.stroke_width(2);
        if curve.is_dashed {
            context.draw_series(DashedLineSeries::new(points(), 5, 4, style))?;
            context.draw_series(points().map(|at| Circle::new(at, 4, style)))?;
        } else {
            context.draw_series(LineSeries::new(points(), style))?;
            mark(&mut context, curve.colour, points())?;
        }
    }
    Ok(())
}
