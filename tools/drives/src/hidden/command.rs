//! ATA commands, and what carries them to a drive.

/// The registers of a command. Sector count and addresses are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub code: u8,
    pub features: u8,
    /// Whether its addresses have 48 bits.
    pub is_extended: bool,
}

impl Command {
    pub const IDENTIFY_DEVICE: Command = Command::short(0xec, 0);
    pub const DEVICE_CONFIGURATION_IDENTIFY: Command = Command::short(0xb1, 0xc2);
    pub const READ_NATIVE_MAX_ADDRESS: Command = Command::short(0xf8, 0);
    pub const READ_NATIVE_MAX_ADDRESS_EXT: Command = Command::long(0x27);
    pub const GET_NATIVE_MAX_ADDRESS_EXT: Command = Command::long(0x78);

    const fn short(code: u8, features: u8) -> Command {
        Command {
            code,
            features,
            is_extended: false,
        }
    }

    const fn long(code: u8) -> Command {
        Command {
            code,
            features: 0,
            is_extended: true,
        }
    }
}

/// A drive that takes ATA commands. `None` is the answer of one that refuses a command or does not know it.
pub trait Drive {
    /// Reads the 512 bytes that `command` returns.
    fn read(&self, command: Command, data: &mut [u8; 512]) -> Option<()>;

    /// The address that `command` returns in the drive's registers.
    fn address(&self, command: Command) -> Option<u64>;
}
