//! The kernel module that shows vmgenid's page, in guests: what it shows and refuses, that it stays
//! while it is used, and that it does not believe bad firmware.

#[allow(dead_code, reason = "of other tests")]
#[path = "../common/mod.rs"]
mod common;

mod firmware;
mod page;
mod use_of_it;
mod workspace;
