//! One plot, as SVG: under each name a bar for each direction, with median and quartiles.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use squall_tools::measure::Spread;
use squall_tools::page::figures::{CURVES, MESH, TEXT};
use squall_tools::page::svg::{self, Area, Drawn, FONT, WIDTH, mark, mesh};

/// The most bars under a name.
pub const BARS: usize = 2;

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

/// The plot as SVG.
pub fn svg(rows: &[Row]) -> String {
    let height = ROW * rows.len() as u32 + BELOW + ABOVE;
    svg::svg((WIDTH, height), |area| draw(area, rows))
}

/// The axis, from 0 to the raw device's speed, or further if a value is larger.
fn axis(rows: &[Row]) -> std::ops::Range<f64> {
    let ratios = rows.iter().flat_map(|row| &row.ratios).flatten();
    let highest = ratios.map(|ratio| ratio.high).fold(1.0, f64::max);
    0.0..highest
}

type Context<'a> = svg::Context<'a, RangedCoordf64, RangedCoordf64>;

fn draw(area: &Area, rows: &[Row]) -> Drawn {
    let mut context = ChartBuilder::on(area)
        .margin_top(ABOVE)
        .margin_left(SIDES)
        .margin_right(SIDES)
        .x_label_area_size(BELOW)
        .build_cartesian_2d(axis(rows), rows.len() as f64..0.0)?;
    mesh(&mut context)
        .disable_y_mesh()
        .disable_y_axis()
        .x_desc("percent of the device without encryption")
        .x_labels(6)
        .x_label_formatter(&|ratio| format!("{:.0} %", ratio * 100.0))
        .draw()?;
    for (place, row) in rows.iter().enumerate() {
        draw_row(&mut context, place as f64, row)?;
    }
    Ok(())
}

/// Draws the row that begins at `top`.
fn draw_row(context: &mut Context, top: f64, row: &Row) -> Drawn {
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

fn draw_ratio(context: &mut Context, middle: f64, number: usize, ratio: &Spread) -> Drawn {
    let colour = CURVES[number].0;
    let corners = [(0.0, middle - HALF), (ratio.median, middle + HALF)];
    context.draw_series([Rectangle::new(corners, MESH.0.filled())])?;
    let quartiles = vec![(ratio.low, middle), (ratio.high, middle)];
    context.draw_series([PathElement::new(quartiles, colour.stroke_width(2))])?;
    mark(context, number, [(ratio.median, middle)].into_iter())
}
