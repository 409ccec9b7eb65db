//! What the figures were measured on.

use std::process::Command;

use squall_benches::peers::openssl;
use squall_measure::machine::{cpu, kernel};

/// Prints processor, kernel, compiler, OpenSSL and date.
pub fn describe() {
    println!("- CPU: {}", cpu());
    println!("- kernel: {}", kernel());
    println!("- {}", output("rustc", &["--version"]));
    println!("- {}", openssl::version().unwrap_or("no OpenSSL".into()));
    println!(
        "- date: {}",
        output("date", &["--utc", "+%Y-%m-%d %H:%M UTC"])
    );
    println!("- squall: {:?}", squall::status());
    println!();
}

fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().into(),
        Err(_) => format!("{program}: unknown"),
    }
}
