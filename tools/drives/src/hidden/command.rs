//! The commands that tell how many sectors a drive has, with and without its areas.

use crate::commands::ata::Command;

pub const DEVICE_CONFIGURATION_IDENTIFY: Command = Command {
    code: 0xb1,
    feature: 0xc2,
    ..Command::IDENTIFY_DEVICE
};

pub const READ_NATIVE_MAX_ADDRESS: Command = max_address(0xf8, false);
pub const READ_NATIVE_MAX_ADDRESS_EXT: Command = max_address(0x27, true);
pub const GET_NATIVE_MAX_ADDRESS_EXT: Command = max_address(0x78, true);

const fn max_address(code: u8, is_extended: bool) -> Command {
    Command {
        code,
        count: 0,
        is_extended,
        ..Command::IDENTIFY_DEVICE
    }
}
