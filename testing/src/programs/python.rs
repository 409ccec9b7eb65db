//! Python: `os.urandom`, `secrets`, `uuid`, which ask getrandom(3), and /dev/urandom as a file.

use crate::programs::installed;
use crate::workspace::{Way, Workspace, said};

/// Draws 16 bytes `count` times in each way, and prints how many values differ for each.
const DRAWS: &str = "
import os, secrets, sys, uuid
count = int(sys.argv[1])
with open('/dev/urandom', 'rb', buffering=0) as device:
    ways = [
        lambda: os.urandom(16),
        lambda: secrets.token_bytes(16),
        lambda: uuid.uuid4().bytes,
        lambda: device.read(16),
    ]
    for way in ways:
        print(len({way() for _ in range(count)}), len(way()))
assert all(uuid.uuid4().version == 4 for _ in range(10))
";

/// Prints nanoseconds per call of `os.urandom(16)` and of `uuid.uuid4()`, over `count` calls each.
const TIMES: &str = "
import os, sys, time, uuid
count = int(sys.argv[1])
def cost(call):
    begin = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - begin) / count
print(cost(lambda: os.urandom(16)), cost(uuid.uuid4))
";

fn run(workspace: &Workspace, way: Way, script: &str, count: u64) -> String {
    let python = installed("python3");
    let mut command = workspace.command(way, python);
    said(command.args(["-c", script]).arg(count.to_string()))
}

/// Numbers of different values in `count` draws of each way, and a value's length, as Python prints
/// them.
pub fn draws(workspace: &Workspace, way: Way, count: u64) -> String {
    run(workspace, way, DRAWS, count)
}

/// Nanoseconds per call of `os.urandom(16)` and of `uuid.uuid4()`, over `count` calls each.
pub fn times(workspace: &Workspace, way: Way, count: u64) -> [f64; 2] {
    let line = run(workspace, way, TIMES, count);
    let mut numbers = line.split_whitespace().map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).expect("a number");
    [next(), next()]
}
