//! What holds for the whole source tree.

mod direction;
mod installed;
mod readme;
