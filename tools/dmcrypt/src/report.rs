//! Reports: the results of a run as tables, CSV and HTML.

pub mod csv;
#[cfg(test)]
mod fixture;
pub mod list;
pub mod page;
pub mod phrases;
pub mod table;
#[cfg(test)]
mod tests;
