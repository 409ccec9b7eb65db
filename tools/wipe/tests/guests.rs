//! Tests `squall wipe` on a real kernel with drives that refuse, corrupt, slow down, hang or vanish,
//! with power cuts, and with drives that are in use.
//!
//! Each scenario has a control: the same without the fault, which must end differently.

pub mod becoming_slow;
pub mod chosen;
pub mod given_up;
pub mod health;
pub mod plugged_in;
pub mod power;
pub mod purge;
pub mod refused;
pub mod returning;
pub mod sanitize;
pub mod slow;
pub mod used;
pub mod vanished;
pub mod workspace;
