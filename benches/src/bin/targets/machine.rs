//! What the figures were measured on.

use std::fs;
use std::process::Command;

use squall_benches::peers::openssl;

/// Prints processor, kernel, compiler, OpenSSL and date.
pub fn describe() {
    println!("- CPU: {}", cpu());
    println!("- kernel: {}", file("/proc/sys/kernel/osrelease"));
    println!("- {}", output("rustc", &["--version"]));
    println!("- {}", openssl::version().unwrap_or("no OpenSSL".into()));
    println!(
        "- date: {}",
        output("date", &["--utc", "+%Y-%m-%d %H:%M UTC"])
    );
    println!("- squall: {:?}", squall::status());
    println!();
}

fn cpu() -> String {
    let info = file("/proc/cpuinfo");
    let field = |name: &str| {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map_or("unknown", |(_, value)| value.trim())
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, family {family} model {model}, {cores} cores visible")
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().into())
}

fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().into(),
        Err(_) => format!("{program}: unknown"),
    }
}
