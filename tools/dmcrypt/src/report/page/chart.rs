//! One plot, as SVG: under each name a bar for each direction, with median and quartiles.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use squall_tools::measure::Spread;
use squall_tools::page::figures::{self, AXIS, FONT, MESH, TEXT, WIDTH};

/// The most bars under a name.
pub const CURVES: usize = 2;

/// Heights in drawing units: of a name with its bars, and of the axis labels.
const ROW: u32 = 52;
const BELOW: u32 = 46;

/// Space for the labels at both ends of the axis, and above the plot.
const SIDES: u32 = 22;
const ABOVE: u32 = 4;

/// Positions in a row, as fractions of its height: the name, the first bar, the distance to the next
/// one; and half of a bar's height.
const NAME: f64 = 0.16;
const BAR: f64 = 0.56;
const STEP: f64 = 0.26;
const HALF: f64 = 0.05;

/// A name with its ratios, one for each direction.
pub struct Row {
    pub name: String,
    pub ratios: Vec<Option<Spread>>,
}

/// The marker character of ratio `number`.
pub fn marker(number: usize) -> char {
    ['●', '▲'][number % CURVES]
}

/// The plot as SVG.
pub fn svg(rows: &[Row]) -> String {
    let mut text = String::new();
    let height = ROW * rows.len() as u32 + BELOW + ABOVE;
    let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
    draw(&area, rows).expect("a string takes everything");
    drop(area);
    text
}

/// The axis, from 0 to the raw device's speed, or further if a value is larger.
fn axis(rows: &[Row]) -> std::ops::Range<f64> {
    let ratios = rows.iter().flat_map(|row| &row.ratios).flatten();
    let highest = ratios.map(|ratio| ratio.high).fold(1.0, f64::max);
    0.0..highest
}

type Context<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn draw<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, rows: &[Row]) -> Drawn<DB> {
    let mut context = ChartBuilder::on(area)
        .margin_top(ABOVE)
        .margin_left(SIDES)
        .margin_right(SIDES)
        .x_label_area_size(BELOW)
        .build_cartesian_2d(axis(rows), rows.len() as f64..0.0)?;
    let text = FONT.into_font().color(&TEXT.0);
    context
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_desc("percent of the device without encryption")
        .x_labels(6)
        .axis_desc_style(text.clone())
        .label_style(text)
        .axis_style(AXIS.0)
        .bold_line_style(MESH.0)
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|ratio| format!("{:.0} %", ratio * 100.0))
        .draw()?;
    for (place, row) in rows.iter().enumerate() {
        draw_row(&mut context, place as f64, row)?;
    }
    area.present()
}

/// Draws the row that begins at `top`.
fn draw_row<DB: DrawingBackend>(context: &mut Context<DB>, top: f64, row: &Row) -> Drawn<DB> {
    let style = FONT.into_font().color(&TEXT.0);
    let style = style.pos(Pos::new(HPos::Left, VPos::Top));
    let name = Text::new(row.name.clone(), (0.0, top + NAME), style);
    context.draw_series([name])?;
    for (number, ratio) in row.ratios.iter().enumerate() {
        if let Some(ratio) = ratio {
            draw_ratio(context, top + BAR + STEP * number as f64, number, ratio)?;
        }
    }
    Ok(())
}

fn draw_ratio<DB: DrawingBackend>(
    context: &mut Context<DB>,
    middle: f64,
    number: usize,
    ratio: &Spread,
) -> Drawn<DB> {
    let colour = figures::CURVES[number].0;
    let corners = [(0.0, middle - HALF), (ratio.median, middle + HALF)];
    context.draw_series([Rectangle::new(corners, MESH.0.filled())])?;
    let quartiles = vec![(ratio.low, middle), (ratio.high, middle)];
    context.draw_series([PathElement::new(quartiles, colour.stroke_width(2))])?;
    let at = (ratio.median, middle);
    match marker(number) {
        '●' => context.draw_series([Circle::new(at, 4, colour.filled())])?,
        _ => context.draw_series([TriangleMarker::new(at, 5, colour.filled())])?,
    };
    Ok(())
}
