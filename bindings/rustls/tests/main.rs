//! Handshakes of TLS 1.2 and 1.3 with squall's provider.

mod handshake;
mod sources;

use std::process::ExitCode;

use squall_testing::suite;

fn main() -> ExitCode {
    if sources::is_child() {
        sources::shake_hands_and_count();
        return ExitCode::SUCCESS;
    }
    suite::main(&[sources::TESTS])
}
