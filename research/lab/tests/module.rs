//! The kernel module that shows vmgenid's page, in guests: what it shows and refuses, that it stays
//! while it is used, and that it does not believe bad firmware.

pub mod firmware;
pub mod page;
pub mod usage;
pub mod workspace;
