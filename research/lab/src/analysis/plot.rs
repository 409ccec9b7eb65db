//! Plots the uncertainty of Whirlwind's outputs against time, as SVG.
//!
//! Text stays text in the viewer's sans-serif font, so making a plot needs no fonts.

use std::ops::Range;

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::RGBColor;
use squall_tools::page::figures;
use squall_tools::page::svg::{Area, Drawn, FONT, mesh, svg};

use super::report::{Experiment, Kind};
use super::uncertainty::{BOTH_SEEDS, FAST_SEED, OutputUncertainty, Uncertainty};

const WIDTH: u32 = 960;
const TITLE: (&str, u32) = ("sans-serif", 22);
const MARGIN: u32 = 16;

/// The colours of a light page.
const BLUE: RGBColor = figures::CURVES[0].0;
const ORANGE: RGBColor = figures::CURVES[1].0;
const GREEN: RGBColor = figures::CURVES[2].0;
const GREY: RGBColor = figures::CURVES[6].0;
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

const HEIGHT: u32 = 540;

/// How much longer the axes are than the curves; the legend is above them.
const ROOM: f64 = 1.05;
const ROOM_ABOVE: f64 = 1.4;

/// A curve of the plot.
struct Curve {
    name: &'static str,
    colour: RGBColor,
    width: u32,
    bits: fn(&OutputUncertainty) -> u32,
}

/// Later curves are drawn over earlier ones; a wide curve stays visible below another.
const CURVES: [Curve; 3] = [
    Curve {
        name: "by the paper: greatest sum between two outputs",
        colour: BLUE,
        width: 2,
        bits: |output| output.paper,
    },
    Curve {
        name: "in both seeds, conservative",
        colour: ORANGE,
        width: 6,
        bits: |output| output.both,
    },
    Curve {
        name: "in the fast seed, conservative",
        colour: GREEN,
        width: 2,
        bits: |output| output.fast,
    },
];

/// Plots the uncertainty of Whirlwind's outputs against the time since the boot or resume, as SVG. None
/// if there are no outputs.
pub fn plot_uncertainty(experiment: &Experiment) -> Option<String> {
    let uncertainty = experiment.uncertainty.as_ref()?;
    let first = uncertainty.outputs.first()?.ms;
    let last = uncertainty.outputs.last()?.ms;
    // A boot takes a long time before its first output.
    let begin = match experiment.kind {
        Kind::Boot => first - (last - first) * 0.02,
        Kind::Reset => 0.0,
    };
    let time = begin..((last - begin) * ROOM).max(0.001) + begin;
    Some(svg((WIDTH, HEIGHT), |area| {
        draw(area, experiment, uncertainty, time)
    }))
}

fn draw(
    area: &Area,
    experiment: &Experiment,
    uncertainty: &Uncertainty,
    time: Range<f64>,
) -> Drawn {
    let outputs = &uncertainty.outputs;
    let counts = CURVES
        .iter()
        .flat_map(|curve| outputs.iter().map(curve.bits));
    let greatest = counts.max().unwrap_or(0).max(BOTH_SEEDS);
    area.fill(&WHITE)?;
    let title = title(experiment, "bits nobody knows of Whirlwind's outputs");
    let mut chart = ChartBuilder::on(area)
        .caption(title, TITLE)
        .margin(MARGIN)
        .x_label_area_size(48)
        .y_label_area_size(70)
        .build_cartesian_2d(time.clone(), 0.0..f64::from(greatest) * ROOM_ABOVE)?;
    mesh(&mut chart)
        .x_desc(format!("time since the {}, ms", since(experiment.kind)))
        .y_desc("bits")
        .y_label_formatter(&|bits| format!("{bits:.0}"))
        .draw()?;
    for limit in [BOTH_SEEDS, FAST_SEED].map(f64::from) {
        let line = [(time.start, limit), (time.end, limit)];
        let dashes = DashedPathElement::new(line, 6, 4, GREY.stroke_width(1));
        let drawn = chart.draw_series([dashes])?;
        if limit == f64::from(BOTH_SEEDS) {
            drawn
                .label("1024: both seeds full; 512: one")
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], GREY));
        }
    }
    for curve in CURVES {
        let style = curve.colour.stroke_width(curve.width);
        chart
            .draw_series(LineSeries::new(steps(outputs, curve.bits), style))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(MESH)
        .label_font(FONT)
        .draw()
}

/// A step curve: each output's value lasts until the next output.
fn steps(outputs: &[OutputUncertainty], bits: fn(&OutputUncertainty) -> u32) -> Vec<(f64, f64)> {
    let ends = outputs.iter().skip(1).chain(outputs.last());
    let steps = outputs.iter().zip(ends).flat_map(|(output, end)| {
        let bits = f64::from(bits(output));
        [(output.ms, bits), (end.ms, bits)]
    });
    steps.collect()
}

/// The event from which time is counted.
fn since(kind: Kind) -> &'static str {
    match kind {
        Kind::Boot => "boot",
        Kind::Reset => "resume",
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::campaign;
    use super::*;

    #[test]
    fn axes_and_curves_have_names() {
        for experiment in &campaign().experiments {
            let svg = plot_uncertainty(experiment).expect("a plot");
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            let unit = format!("time since the {}, ms", since(experiment.kind));
            let names = CURVES.map(|curve| curve.name);
            for text in [&[unit.as_str(), "bits"], &names[..]].concat() {
                assert!(svg.contains(text), "{text}");
            }
        }
    }

    #[test]
    fn without_outputs_there_is_no_plot() {
        let mut experiment = campaign().experiments.remove(1);
        let uncertainty = experiment.uncertainty.as_mut().expect("inputs");
        uncertainty.outputs.clear();
        assert_eq!(plot_uncertainty(&experiment), None);
        experiment.uncertainty = None;
        assert_eq!(plot_uncertainty(&experiment), None);
    }
}
