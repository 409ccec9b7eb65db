//! Chromium, whose pages draw in a sandbox of seccomp filters that it sets for its processes itself.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use crate::programs::installed;
use crate::workspace::{Way, Workspace, said};

/// Has 16 bytes drawn by the page and by three threads of it, and shows how many values there were.
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

/// Longest time that it may take, in seconds.
const LONGEST: u32 = 300;

/// The numbers of Debian's nobody and nogroup.
const NOBODY: u32 = 65534;

/// Whether there is Chromium, and a sandbox for it.
///
/// # Errors
/// Why not.
pub fn available() -> Result<(), String> {
    installed("chromium", "chromium")?;
    let status = Command::new("timeout")
        .args(limits())
        .args(["unshare", "--user", "true"])
        .status();
    status
        .is_ok_and(|status| status.success())
        .then_some(())
        .ok_or_else(|| "Chromium's sandbox takes user namespaces, which are off here".into())
}

/// What timeout(1) is told, so that it ends, and is not root, for whom it refuses to have a sandbox.
fn limits() -> Vec<String> {
    // One that crashes starts over for ever.
    let mut limits = vec![format!("{LONGEST}")];
    if rustix::process::geteuid().is_root() {
        let [user_id, group_id] = ["reuid", "regid"].map(|id| format!("--{id}={NOBODY}"));
        limits.extend(["setpriv".into(), user_id, group_id, "--clear-groups".into()]);
    }
    limits
}

/// The page as the browser has it at last.
///
/// # Errors
/// Why there is no Chromium, or none in a sandbox.
pub fn page(workspace: &Workspace, way: Way) -> Result<String, String> {
    available()?;
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
    Ok(page)
}
