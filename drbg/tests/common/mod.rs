//! What tests and fuzz targets share.

pub mod answers;
pub mod drbg;
pub mod guarded;
pub mod requests;
