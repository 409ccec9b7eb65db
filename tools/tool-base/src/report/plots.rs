//! Plots as SVG: curves over two logarithmic axes, and bars beside names. Their legends are HTML beside them.
//!
//! Text stays text in the viewer's sans-serif font, so making a plot needs no fonts. Plots are drawn in the colours for a
//! light page; the style sheet replaces each of them on a dark page.

use std::fmt::Write;
use std::io;
use std::ops::Range;

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange, LogCoord, WithKeyPoints};
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::series::DashedLineSeries;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::measure::Spread;

/// The most curves that a plot has room for: it has no more colours.
pub const MOST_CURVES: usize = CURVES.len();

/// How many looks there are: colours with markers. [`MOST_CURVES`] in a row differ in colour.
pub const LOOKS: usize = CURVES.len() * MARKERS.len();

/// The most bars below a name, and the most names with bars in a plot.
pub const MOST_BARS: usize = 2;
pub const MOST_NAMES: usize = 12;

/// Plots of the same quantity.
pub struct Figure {
    pub heading: String,
    /// The first is shown at once.
    pub plots: Vec<Plot>,
    /// What the others have, such as "The other sources".
    pub others: &'static str,
}

/// A plot.
pub enum Plot {
    Curves(Curves),
    Bars(Bars),
}

/// Curves over two logarithmic axes.
pub struct Curves {
    /// The name of the horizontal axis; the labels of the vertical one name it.
    pub name: &'static str,
    /// Makes the labels of the horizontal axis, at powers of two.
    pub across: fn(f64) -> String,
    /// Makes the labels of the vertical axis, at powers of ten.
    pub up: fn(f64) -> String,
    /// The curves, most important first; it is drawn on top of the others.
    pub curves: Vec<Curve>,
}

/// A curve.
pub struct Curve {
    pub name: String,
    /// Its colour and its marker, below [`LOOKS`].
    pub look: usize,
    /// Whether it is dashed with hollow markers, for values that were not measured here.
    pub is_dashed: bool,
    /// The points, in the order of the horizontal axis; all values are above 0.
    pub points: Vec<(f64, f64)>,
}

/// Bars of ratios beside names.
pub struct Bars {
    /// The name of the axis, which is in percent.
    pub axis: &'static str,
    /// What the bars below each name are, [`MOST_BARS`] at most.
    pub bars: Vec<&'static str>,
    /// The names, [`MOST_NAMES`] at most, each with its ratios.
    pub rows: Vec<(String, Vec<Option<Spread>>)>,
}

impl Plot {
    /// The names of what is drawn.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Plot::Curves(plot) => {
                let measured = plot.curves.iter().filter(|curve| !curve.is_dashed);
                measured.map(|curve| curve.name.as_str()).collect()
            }
            Plot::Bars(plot) => plot.rows.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// The legend: colours with their markers and names.
    pub(super) fn legend(&self) -> Vec<(usize, &'static str, &str)> {
        match self {
            Plot::Curves(plot) => {
                let line = |curve: &'_ Curve| match curve.is_dashed {
                    true => (colour(curve.look), "╌○╌"),
                    false => (colour(curve.look), marker(curve.look)),
                };
                let lines = plot.curves.iter().map(|curve| (line(curve), &*curve.name));
                lines
                    .map(|((colour, marker), name)| (colour, marker, name))
                    .collect()
            }
            Plot::Bars(plot) => {
                let bars = plot.bars.iter().enumerate();
                bars.map(|(look, name)| (colour(look), marker(look), *name))
                    .collect()
            }
        }
    }

    /// The plot as SVG; `None` if there is nothing to draw.
    pub(super) fn svg(&self) -> Option<String> {
        match self {
            Plot::Curves(plot) => plot.svg(),
            Plot::Bars(plot) => (!plot.rows.is_empty()).then(|| plot.svg()),
        }
    }
}

/// The CSS rules for pages with plots.
pub fn style() -> String {
    light() + &dark()
}

type Logarithmic = WithKeyPoints<LogCoord<f64>>;

impl Curves {
    fn svg(&self) -> Option<String> {
        /// Height in drawing units.
        const HEIGHT: u32 = 320;
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = logarithmic(2.0, points().map(|point| point.0))?;
        let up = logarithmic(10.0, points().map(|point| point.1))?;
        let draw = |area: &Area| self.draw(area, across, up);
        Some(svg((WIDTH, HEIGHT), draw))
    }

    fn draw(&self, area: &Area, across: Logarithmic, up: Logarithmic) -> Drawn {
        // Space for labels below and on the left, and margins, in drawing units.
        let mut context = ChartBuilder::on(area)
            .margin(8)
            .margin_right(18)
            .x_label_area_size(42)
            .y_label_area_size(66)
            .build_cartesian_2d(across, up)?;
        mesh(&mut context)
            .x_desc(self.name)
            .x_label_formatter(&|value| (self.across)(*value))
            .y_label_formatter(&|value| (self.up)(*value))
            .draw()?;
        for curve in self.curves.iter().rev() {
            let points = || curve.points.iter().copied();
            let style = CURVES[colour(curve.look)].0.stroke_width(2);
            if curve.is_dashed {
                context.draw_series(DashedLineSeries::new(points(), 5, 4, style))?;
                context.draw_series(points().map(|at| Circle::new(at, 4, style)))?;
            } else {
                context.draw_series(LineSeries::new(points(), style))?;
                mark(&mut context, curve.look, points())?;
            }
        }
        Ok(())
    }
}

/// An axis that covers `values`, with labels at powers of its base.
fn logarithmic(base: f64, values: impl Iterator<Item = f64>) -> Option<Logarithmic> {
    /// Space around the curves, as a fraction of the axis (in powers).
    const ROOM: f64 = 0.03;
    let powers: Vec<f64> = values.map(|value| value.log(base)).collect();
    let low = powers.iter().copied().min_by(f64::total_cmp)?;
    let high = powers.iter().copied().max_by(f64::total_cmp)?;
    let (low, high) = match high - low {
        ..1.0 => (low.floor(), low.floor().max(high.ceil() - 1.0) + 1.0),
        _ => (low, high),
    };
    let room = (high - low) * ROOM;
    let Range { start, end } = low - room..high + room;
    let value = |power: f64| base.powf(power);
    let keys = keys(start, end).map(value).collect();
    let range = (value(start)..value(end)).log_scale().base(base);
    Some(range.with_key_points(keys))
}

/// Whole powers from `start` to `end`, as many as fit as labels.
fn keys(start: f64, end: f64) -> impl Iterator<Item = f64> {
    /// The most labels that fit on an axis.
    const LABELS: usize = 7;
    let count = (end.floor() - start.ceil()) as usize + 1;
    let step = count.div_ceil(LABELS);
    (0..count)
        .step_by(step)
        .map(move |n| start.ceil() + n as f64)
}

/// Heights in drawing units: of a name with its bars, of the axis labels, and of the space above the plot.
const ROW: u32 = 52;
const BELOW: u32 = 46;
const ABOVE: u32 = 4;

/// Space for the labels at both ends of the axis.
const SIDES: u32 = 22;

/// Positions in a row, as fractions of its height: the name, the first bar, the distance to the next
/// one; and half of a bar's height.
const NAME: f64 = 0.16;
const BAR: f64 = 0.56;
const STEP: f64 = 0.26;
const HALF: f64 = 0.05;

type BarContext<'a> = Context<'a, RangedCoordf64, RangedCoordf64>;

impl Bars {
    fn svg(&self) -> String {
        let height = ROW * self.rows.len() as u32 + BELOW + ABOVE;
        svg((WIDTH, height), |area| self.draw(area))
    }

    fn draw(&self, area: &Area) -> Drawn {
        // From 0 to a ratio of 1, or further if a value is larger.
        let ratios = self.rows.iter().flat_map(|(_, ratios)| ratios).flatten();
        let highest = ratios.map(|ratio| ratio.high).fold(1.0, f64::max);
        let mut context = ChartBuilder::on(area)
            .margin_top(ABOVE)
            .margin_left(SIDES)
            .margin_right(SIDES)
            .x_label_area_size(BELOW)
            .build_cartesian_2d(0.0..highest, self.rows.len() as f64..0.0)?;
        mesh(&mut context)
            .disable_y_mesh()
            .disable_y_axis()
            .x_desc(self.axis)
            .x_labels(6)
            .x_label_formatter(&|ratio| format!("{:.0} %", ratio * 100.0))
            .draw()?;
        for (place, (name, ratios)) in self.rows.iter().enumerate() {
            let top = place as f64;
            let style = FONT.into_font().color(&TEXT.0);
            let style = style.pos(Pos::new(HPos::Left, VPos::Top));
            context.draw_series([Text::new(name.clone(), (0.0, top + NAME), style)])?;
            for (number, ratio) in ratios.iter().enumerate() {
                if let Some(ratio) = ratio {
                    draw_bar(
                        &mut context,
                        top + BAR + STEP * number as f64,
                        number,
                        ratio,
                    )?;
                }
            }
        }
        Ok(())
    }
}

/// Draws a bar to the median, a line between the quartiles, and a marker.
fn draw_bar(context: &mut BarContext, middle: f64, number: usize, ratio: &Spread) -> Drawn {
    let colour = CURVES[number].0;
    let corners = [(0.0, middle - HALF), (ratio.median, middle + HALF)];
    context.draw_series([Rectangle::new(corners, MESH.0.filled())])?;
    let quartiles = vec![(ratio.low, middle), (ratio.high, middle)];
    context.draw_series([PathElement::new(quartiles, colour.stroke_width(2))])?;
    mark(context, number, [(ratio.median, middle)].into_iter())
}

/// Width of a page's plot in drawing units. The plot is scaled to the page: a unit is four fifths of a
/// pixel on a phone, and more than one pixel on a wide page.
pub const WIDTH: u32 = 440;

/// The font of a page's plots. The backend draws letters at four fifths of this height.
pub const FONT: (&str, u32) = ("sans-serif", 17);

/// What is drawn on.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The outcome of drawing.
pub type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<io::Error>>;

/// A plot with two axes of numbers.
pub type Context<'a, X, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>;

/// A plot of this width and height, drawn by `draw`.
pub fn svg(size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> String {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    draw(&area)
        .and_then(|()| area.present())
        .expect("a string takes everything");
    drop(area);
    text
}

/// The lines and labels of a plot's axes.
pub fn mesh<'a, 'b, X, Y>(
    context: &'b mut Context<'a, X, Y>,
) -> MeshStyle<'a, 'b, X, Y, SVGBackend<'a>>
where
    X: Ranged + ValueFormatter<X::ValueType>,
    Y: Ranged + ValueFormatter<Y::ValueType>,
{
    let text = FONT.into_font().color(&TEXT.0);
    let mut mesh = context.configure_mesh();
    mesh.axis_desc_style(text.clone()).label_style(text);
    mesh.axis_style(AXIS.0).bold_line_style(MESH.0);
    mesh.light_line_style(TRANSPARENT);
    mesh
}

/// As many as colours: curves that differ in colour can differ in their markers too.
const MARKERS: [&str; CURVES.len()] = ["●", "▲", "✕", "■", "△", "□", "◆", "◇"];

/// The index in [`CURVES`] of this look's colour.
pub fn colour(look: usize) -> usize {
    look % CURVES.len()
}

pub fn marker(look: usize) -> &'static str {
    MARKERS[(look % CURVES.len() + look / CURVES.len()) % MARKERS.len()]
}

/// The corners of a marker around its place.
fn corners(marker: &str) -> Vec<(i32, i32)> {
    match marker {
        "▲" | "△" => vec![(0, -4), (4, 3), (-4, 3)],
        "■" | "□" => vec![(-3, -3), (3, -3), (3, 3), (-3, 3)],
        _ => vec![(0, -4), (4, 0), (0, 4), (-4, 0)],
    }
}

/// Draws the marker of this look at each of `points`.
pub fn mark<X: Ranged<ValueType = f64>, Y: Ranged<ValueType = f64>>(
    context: &mut Context<X, Y>,
    look: usize,
    points: impl Iterator<Item = (f64, f64)>,
) -> Drawn {
    let style = CURVES[colour(look)].0;
    let (filled, line) = (style.filled(), style.stroke_width(2));
    let marker = marker(look);
    let mut corners = corners(marker);
    match marker {
        "●" => drop(context.draw_series(points.map(|at| Circle::new(at, 3, filled)))?),
        "✕" => drop(context.draw_series(points.map(|at| Cross::new(at, 3, line)))?),
        "▲" | "■" | "◆" => {
            let shape = |at| EmptyElement::at(at) + Polygon::new(corners.clone(), filled);
            context.draw_series(points.map(shape))?;
        }
        _ => {
            corners.push(corners[0]);
            let shape = |at| EmptyElement::at(at) + PathElement::new(corners.clone(), line);
            context.draw_series(points.map(shape))?;
        }
    }
    Ok(())
}

/// A colour on a light page and on a dark one.
pub struct Pair(pub RGBColor, pub RGBColor);

/// The colours of curves. All have a contrast of at least 3 to both pages; markers help the
/// colour-blind to tell them apart.
pub const CURVES: [Pair; 8] = [
    Pair(RGBColor(0x00, 0x66, 0xAD), RGBColor(0x5C, 0xB8, 0xFF)),
    Pair(RGBColor(0xC2, 0x4A, 0x00), RGBColor(0xFF, 0x9A, 0x57)),
    Pair(RGBColor(0x00, 0x7F, 0x5F), RGBColor(0x43, 0xD6, 0xA6)),
    Pair(RGBColor(0x84, 0x4B, 0xB3), RGBColor(0xCB, 0xA2, 0xF2)),
    Pair(RGBColor(0x8A, 0x68, 0x00), RGBColor(0xE3, 0xC2, 0x4A)),
    Pair(RGBColor(0xC0, 0x3A, 0x74), RGBColor(0xFF, 0x8F, 0xC1)),
    Pair(RGBColor(0x5A, 0x64, 0x6E), RGBColor(0xB0, 0xBA, 0xC4)),
    Pair(RGBColor(0x8A, 0x45, 0x2A), RGBColor(0xDB, 0xA5, 0x80)),
];

/// The colour of the lines behind the curves.
pub const MESH: Pair = Pair(RGBColor(0xE3, 0xE6, 0xEA), RGBColor(0x2C, 0x33, 0x3B));
pub const AXIS: Pair = Pair(RGBColor(0x86, 0x90, 0x9B), RGBColor(0x6A, 0x75, 0x81));

pub const TEXT: Pair = Pair(RGBColor(0x44, 0x4C, 0x56), RGBColor(0xB4, 0xBD, 0xC8));

/// The rules for dark pages, which replace each light colour by its dark one.
fn dark() -> String {
    let mut css = String::from("@media(prefers-color-scheme:dark){");
    for Pair(light, dark) in CURVES.iter().chain([&MESH, &AXIS, &TEXT]) {
        let [light, dark] = [light, dark].map(hex);
        let _ = write!(
            css,
            "[stroke=\"{light}\"]{{stroke:{dark}}}[fill=\"{light}\"]{{fill:{dark}}}"
        );
    }
    for (index, Pair(_, dark)) in CURVES.iter().enumerate() {
        let _ = write!(css, ".c{index}{{color:{}}}", hex(dark));
    }
    css + "}"
}

/// The rules that colour the names of curves on light pages.
fn light() -> String {
    let curves = CURVES.iter().enumerate();
    let rules = curves.map(|(index, Pair(light, _))| format!(".c{index}{{color:{}}}", hex(light)));
    rules.collect()
}

/// The colour as plots and style sheets write it.
fn hex(colour: &RGBColor) -> String {
    let RGBColor(red, green, blue) = colour;
    format!("#{red:02X}{green:02X}{blue:02X}")
}
