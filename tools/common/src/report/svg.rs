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

/// The marker of what has this colour.
pub fn marker(colour: usize) -> &'static str {
    ["●", "▲", "✕"][colour % 3]
}

/// Draws the marker of this colour at each of `points`.
pub fn mark<X: Ranged<ValueType = f64>, Y: Ranged<ValueType = f64>>(
    context: &mut Context<X, Y>,
    colour: usize,
    points: impl Iterator<Item = (f64, f64)>,
) -> Drawn {
    let style = CURVES[colour].0;
    match marker(colour) {
        "●" => context.draw_series(points.map(|at| Circle::new(at, 3, style.filled())))?,
        "▲" => {
            context.draw_series(points.map(|at| TriangleMarker::new(at, 4, style.filled())))?
        }
        _ => context.draw_series(points.map(|at| Cross::new(at, 3, style.stroke_width(2))))?,
    };
    Ok(())
}
