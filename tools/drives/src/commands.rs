//! Commands that go to a drive past the kernel's block layer, and what it answers: those of SCSI, those of ATA behind
//! a SCSI / ATA translation, and those of NVMe.
//!
//! A caller builds commands, sends them to a [`scsi::Scsi`] or an [`nvme::Admin`], and judges the answers. An open
//! device is both; tests put models of drives in its place. All unsafe code is in `scsi.rs` and `nvme.rs`.

pub mod ata;
pub mod nvme;
pub mod scsi;
pub mod sense;
