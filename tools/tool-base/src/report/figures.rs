//! The colours of plots.
//!
//! Plots are drawn in the colours for a light page; the style sheet replaces each of them on a dark
//! page.

use std::fmt::Write;

use plotters::style::RGBColor;

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

/// The CSS rules for pages with plots.
pub fn style() -> String {
    light() + &dark()
}

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
