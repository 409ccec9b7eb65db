//! Plots as SVG. Text stays text in the viewer's sans-serif font, so making a plot needs no fonts.

use std::io;

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

use super::figures::{AXIS, CURVES, MESH, TEXT};

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

/// How many looks there are: colours with markers. [`MOST_CURVES`](super::plots::MOST_CURVES) in a row differ in colour.
pub const LOOKS: usize = CURVES.len() * MARKERS.len();

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
