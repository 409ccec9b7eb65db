//! What came of a run, and the ways to show it.

mod columns;
pub mod csv;
#[cfg(test)]
mod fixture;
pub mod list;
pub mod page;
pub mod table;
#[cfg(test)]
mod tests;
pub mod words;
