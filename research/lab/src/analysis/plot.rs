//! Plots as SVG: the uncertainty of Whirlwind's outputs, and the windows after resets.
//!
//! Text stays text in the viewer's sans-serif font, so making a plot needs no fonts.

mod bits;
mod windows;

use plotters::style::RGBColor;
use squall_tools::page::figures::{self, CURVES};

use super::report::Experiment;

pub use bits::plot_uncertainty;
pub use windows::plot_window;

const WIDTH: u32 = 960;
const TITLE: (&str, u32) = ("sans-serif", 22);
const MARGIN: u32 = 16;

/// The colours of a light page.
const BLUE: RGBColor = CURVES[0].0;
const ORANGE: RGBColor = CURVES[1].0;
const GREEN: RGBColor = CURVES[2].0;
const GREY: RGBColor = CURVES[6].0;
const MESH: RGBColor = figures::MESH.0;

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
