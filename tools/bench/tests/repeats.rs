//! Whether a forked child gives the bytes that its parent gives.

use std::io::{self, PipeWriter, Read, Write};

use squall_bench::sources::{self, RunsIn};
use squall_tools::Failure;
use squall_tools::failure::cause;
use squall_tools::measure::fork;

const LEN: usize = 256;

/// What is compared: as long as two draws never are alike by chance.
const BLOCK: usize = 16;

/// Seconds after which a child that does not come back from drawing is ended.
const TIMEOUT: u32 = 300;

/// Whether a forked child of this process draws bytes that the process itself draws: any 16 of
/// `LEN` of them. The process draws first, so that there is something to inherit.
///
/// With more threads than one, `draw` is to take no lock that another may hold.
///
/// # Errors
/// The child did not come back with its bytes, or they are none: the buffer was left as it was.
fn repeats_in_child(draw: &mut dyn FnMut(&mut [u8])) -> Result<bool, Failure> {
    let drawn = draw_in_both(draw);
    let [own, of_child] = drawn.map_err(|error| failure(&cause(&error)))?;
    if [own, of_child].contains(&[0; LEN]) {
        return Err(failure("no bytes were drawn"));
    }
    let own = own.as_chunks::<BLOCK>().0;
    let of_child = of_child.as_chunks::<BLOCK>().0;
    Ok(of_child.iter().any(|block| own.contains(block)))
}

/// What this process draws after the fork, and what the child does.
fn draw_in_both(draw: &mut dyn FnMut(&mut [u8])) -> io::Result<[[u8; LEN]; 2]> {
    let (mut own, mut of_child) = ([0; LEN], [0; LEN]);
    draw(&mut own[..BLOCK]);
    let (mut reader, writer) = io::pipe()?;
    let forked = fork::fork(|| tell(draw, &writer))?;
    drop(writer);
    own.fill(0);
    draw(&mut own);
    let told = reader.read_exact(&mut of_child);
    forked.wait()?;
    told.map(|()| [own, of_child])
}

/// Draws, and writes it to the parent.
fn tell(draw: &mut dyn FnMut(&mut [u8]), mut parent: &PipeWriter) -> bool {
    // SAFETY: alarm has no preconditions; a fork inherits no alarm.
    unsafe { libc::alarm(TIMEOUT) };
    let mut out = [0; LEN];
    draw(&mut out);
    parent.write_all(&out).is_ok()
}

fn failure(cause: &str) -> Failure {
    Failure::Runtime(format!("what a forked child draws: {cause}"))
}

/// No source of this process that is called fit for secrets repeats itself in a forked child. Those
/// of which it is said that they do are the control.
pub fn check() {
    let (mut kept, mut repeated) = (0, 0);
    assert!(repeats_in_child(&mut |_| ()).is_err());
    for entry in sources::all().filter(|entry| entry.runs_in == RunsIn::ThisProcess) {
        let Ok(mut source) = (entry.open)() else {
            continue;
        };
        let draw = &mut |out: &mut [u8]| source.fill(out).expect("a source that works");
        let is_said = entry
            .caveat
            .starts_with("a forked child and a VM clone repeat it");
        if entry.secure || is_said {
            let repeats = repeats_in_child(draw).expect("a child");
            assert_eq!(repeats, !entry.secure, "{}", entry.name);
            *if repeats { &mut repeated } else { &mut kept } += 1;
        }
    }
    assert!(kept >= 5 && repeated >= 5, "{kept} {repeated}");
    // A buffer that is used up after the first block: 16 bytes of it are the same.
    let mut inherited = vec![7; 32];
    let draw = &mut |out: &mut [u8]| {
        squall::fill(out);
        let len = inherited.len().min(out.len()).min(16);
        out[..len].copy_from_slice(&inherited[..len]);
        inherited.drain(..len);
    };
    assert!(repeats_in_child(draw).expect("a child"));
}
