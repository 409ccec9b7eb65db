//! What was measured, and the ways to show it.

pub mod model;
