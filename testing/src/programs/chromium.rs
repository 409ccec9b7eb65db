//! Chromium, whose pages draw in a sandbox of seccomp filters that it sets up itself.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use crate::programs::has;
use crate::workspace::{Way, Workspace, said};

/// A page that draws 16 bytes itself and in three workers, and shows how many values differ.
const PAGE: &str = "<p></p><script>
const draw = `crypto.getRandomValues(new Uint8Array(16)).join()`;
const values = new Set([eval(draw)]);
const source = URL.createObjectURL(new Blob([`postMessage(${draw})`]));
for (let count = 0; count < 3; count++) {
    new Worker(source).onmessage = event => {
        values.add(event.data);
        document.querySelector('p').textContent = 'values: ' + values.size;
    };
}
</script>";

/// Longest time of a run, in seconds.
const LONGEST: u32 = 300;

/// The IDs of Debian's nobody and nogroup.
const NOBODY: u32 = 65534;

/// Whether Chromium and a sandbox for it are available.
pub fn available() -> Result<(), String> {
    has("chromium", "chromium")?;
    let status = Command::new("timeout")
        .args(limits())
        .args(["unshare", "--user", "true"])
        .status();
    status
        .is_ok_and(|status| status.success())
        .then_some(())
        .ok_or_else(|| {
            "Chromium's sandbox requires user namespaces, which are disabled here".into()
        })
}

/// Arguments for timeout(1), so that Chromium ends and does not run as root, for which it refuses a
/// sandbox.
fn limits() -> Vec<String> {
    // A browser that crashes restarts forever.
    let mut limits = vec![format!("{LONGEST}")];
    if rustix::process::geteuid().is_root() {
        let [user_id, group_id] = ["reuid", "regid"].map(|id| format!("--{id}={NOBODY}"));
        limits.extend(["setpriv".into(), user_id, group_id, "--clear-groups".into()]);
    }
    limits
}

/// The page's final content in the browser.
pub fn page(workspace: &Workspace, way: Way) -> String {
    let page = workspace.write("page.html", PAGE);
    let home = workspace.folder("home");
    if rustix::process::geteuid().is_root() {
        chown(&home, Some(NOBODY), Some(NOBODY)).expect("its owner");
    }
    let mut command = workspace.command(way, "timeout");
    command.args(limits()).arg("chromium");
    command.env("HOME", &home).current_dir(&home);
    command.args(["--headless", "--disable-gpu", "--virtual-time-budget=5000"]);
    command.arg(format!("--user-data-dir={}", home.display()));
    let page = said(command.arg("--dump-dom").arg(page));
    fs::remove_dir_all(home).expect("what it wrote");
    page
}
