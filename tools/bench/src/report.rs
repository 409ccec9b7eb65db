//! What was measured, and the ways to show it.

pub mod compare;
pub mod csv;
pub mod model;
pub mod page;
pub mod published;
pub mod table;
