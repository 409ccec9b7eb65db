//! What was measured, and the ways to show it.

mod columns;
pub mod compare;
pub mod csv;
mod facts;
pub mod model;
pub mod page;
pub mod published;
pub mod table;
