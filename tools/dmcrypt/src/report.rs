//! What came of a run, and the ways to show it.

mod columns;
pub mod csv;
pub mod list;
#[cfg(test)]
mod made;
pub mod page;
pub mod table;
#[cfg(test)]
mod tests;
pub mod words;
