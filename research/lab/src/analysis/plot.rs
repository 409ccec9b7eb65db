//! Plots as SVG: the uncertainty of Whirlwind's outputs, and the windows after resets.
//!
//! Text stays text in the viewer's sans-serif font, so making a plot needs no fonts.

mod bits;
mod windows;

use std::fmt::Debug;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::report::Experiment;

pub use bits::plot_uncertainty;
pub use windows::plot_window;

const WIDTH: u32 = 960;
const FONT: &str = "sans-serif";
const TITLE_SIZE: u32 = 22;
const TEXT_SIZE: u32 = 16;
const MARGIN: u32 = 16;

/// Colours that the colour-blind tell apart (M. Okabe, K. Ito: Color Universal Design, 2008).
const BLUE: RGBColor = RGBColor(0, 114, 178);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const VERMILLION: RGBColor = RGBColor(213, 94, 0);
const SKY: RGBColor = RGBColor(148, 203, 236);
const GREY: RGBColor = RGBColor(110, 110, 110);
const MESH: RGBColor = RGBColor(225, 225, 225);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// An SVG of this height, drawn by `draw`.
fn svg<E: Debug>(height: u32, draw: impl FnOnce(&Area) -> Result<(), E>) -> String {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
    draw(&area).expect("a string takes everything");
    drop(area);
    text
}

/// A title that begins with the experiment's name.
fn title(experiment: &Experiment, about: &str) -> String {
    let setup = &experiment.setup;
    let kind = experiment.kind.name();
    let runs = experiment.runs;
    format!(
        "{}, {}, {runs} {kind}s ({}): {about}",
        setup.machine, setup.mode, setup.accelerator
    )
}
