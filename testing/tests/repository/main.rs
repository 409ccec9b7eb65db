//! Tests of the source tree as a whole.

mod direction;
mod installed;
mod readme;
