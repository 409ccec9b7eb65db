//! `squall blank` answers whether drives are empty, by reading them. It needs no record, and changes nothing.
//!
//! Each target has a thread of its own, which reads until the end, or until it finds data.

mod answer;
mod screen;
mod signature;
mod surface;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use squall_drives::Target;
use squall_drives::io::{Access, Buffer, Device, Direction};
use squall_tools::failure::cause;
use squall_tools::{Failure, Inquiry, Interrupt, output};

use crate::args::BlankArguments;
use crate::control::Control;
use crate::event::EventSender;
use crate::open_target::OpenTarget;
use crate::pipeline::Pipeline;
use crate::progress::{Phase, Progress};
use crate::ranges::Ranges;
use crate::record::{Extent, Outcome};
use crate::sample::samples;
use crate::task::{Stop, Task};

use answer::{Answer, Verdict};
use screen::Screen;
use surface::{Contents, Surface};

/// Time between two updates of what is shown.
const TICK: Duration = Duration::from_millis(100);

/// A target is read in pieces of this many bytes, after each of which it may be known to hold data.
const PIECE: u64 = 256 << 20;

/// A thread's answer about the target of this number.
type Told = (usize, Answer);

/// How many drives are not blank, as far as they answered.
#[derive(Default)]
struct Count {
    not_blank: usize,
    unread: usize,
}

/// Runs `squall blank`.
pub fn blank(options: &BlankArguments) -> Result<(), Failure> {
    let (opened, missing) = open(options).map_err(|failure| Failure::Usage(failure.into_text()))?;
    let inquiry = Inquiry::watch()?;
    let control = Control::new(Interrupt::watch("the drives were not read to their ends")?);
    let progress: Vec<_> = opened.iter().map(|_| Progress::default()).collect();
    let (sender, answers) = channel();
    let all = options.targets.len();
    let mut count = Count::default();
    for answer in &missing {
        count.add(answer);
        output::print(&answer.text(options.json))?;
    }
    thread::scope(|scope| {
        for (number, (target, device)) in opened.iter().enumerate() {
            let (sender, control) = (sender.clone(), &control);
            let progress = &progress[number];
            scope.spawn(move || {
                let answer = read(target, device, progress, control, options);
                // Nobody listens any more if the answers could not be printed.
                let _ = sender.send((number, answer));
            });
        }
        drop(sender);
        print_answers(
            &opened,
            &progress,
            &answers,
            options.json,
            &inquiry,
            &mut count,
        )
    })?;
    match count.text(all) {
        None => Ok(()),
        Some(text) => Err(Failure::Runtime(text)),
    }
}

impl Count {
    fn add(&mut self, answer: &Answer) {
        match answer.verdict {
            Verdict::Unread => self.unread += 1,
            _ => self.not_blank += usize::from(!answer.blank),
        }
    }

    /// What is to be said about `all` drives; `None` if they are blank.
    fn text(&self, all: usize) -> Option<String> {
        Some(match (self.not_blank, self.unread) {
            (0, 0) => return None,
            (0, _) if all == 1 => "the drive could not be read".into(),
            (_, 0) if all == 1 => "the drive is not blank".into(),
            (0, unread) => format!("{unread} of {all} drives could not be read"),
            (others, 0) => format!("{others} of {all} drives are not blank"),
            (others, unread) => {
                format!("{others} of {all} drives are not blank, and {unread} could not be read")
            }
        })
    }
}

/// A target that is open.
type Opened = (Target, Device);

/// Finds and opens the targets, with an answer about each that is missing or cannot be opened. Fails if that is all of
/// them.
fn open(options: &BlankArguments) -> Result<(Vec<Opened>, Vec<Answer>), Failure> {
    output::check()?;
    let (mut opened, mut missing) = (Vec::new(), Vec::new());
    let mut first = None;
    for path in &options.targets {
        let found = Target::find(path);
        let identity = found.as_ref().ok().map(|target| target.identity.clone());
        let open = |target: Target| {
            let device = Device::open(&target, Access::Read, options.transfer.direct)?;
            Ok((target, device))
        };
        match found.and_then(open) {
            Ok(one) => opened.push(one),
            Err(failure) => {
                let why = failure.into_text();
                missing.push(Answer::missing(path, identity, &why));
                first.get_or_insert(why);
            }
        }
    }
    match first {
        Some(why) if opened.is_empty() => Err(Failure::Usage(why)),
        _ => Ok((opened, missing)),
    }
}

/// Prints each answer as it comes, below bars if there is a terminal.
fn print_answers(
    opened: &[Opened],
    progress: &[Progress],
    answers: &Receiver<Told>,
    json: bool,
    inquiry: &Inquiry,
    count: &mut Count,
) -> Result<(), Failure> {
    let mut screen = Screen::new(opened);
    loop {
        match answers.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => screen.show(progress, inquiry.take()),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok((number, answer)) => {
                count.add(&answer);
                screen.end(number);
                let text = answer.text(json);
                screen.all.suspend(|| output::print(&text))?;
            }
        }
    }
}

/// Reads `target` to its end, or until it is known to hold data.
fn read(
    target: &Target,
    device: &Device,
    progress: &Progress,
    control: &Control,
    options: &BlankArguments,
) -> Answer {
    let size = target.identity.size;
    let regions = match options.sample {
        true => samples(size, squall::u64),
        false => vec![Extent {
            offset: 0,
            length: size,
        }],
    };
    let mut start = Buffer::new(signature::SEARCHED);
    let length = size.min(start.len() as u64) as usize;
    let start = &mut start[..length];
    // What cannot be read shows below.
    let signatures = match device.transfer(Direction::Read, start, 0) {
        Ok(()) => signature::found(start),
        Err(_) => Vec::new(),
    };
    let total = regions.iter().map(|region| region.length).sum();
    progress.begin(Phase::Verifying(1), 0, total);
    let (events, _) = channel();
    let events = EventSender::new(0, events);
    let mut seen = Scan::default();
    let open = OpenTarget {
        target,
        device,
        progress,
        interrupt: control,
        refused_in_a_row: None,
    };
    let read = Pipeline::new(open, &options.transfer, Duration::MAX, &events)
        .and_then(|mut pipeline| scan(&mut pipeline, &regions, &mut seen))
        .and_then(|()| match seen.surface.has_data() {
            true => Ok(()),
            false => check_size(target, device),
        });
    let reason = read.err().map(failure_reason);
    let contents = match reason {
        None => seen.surface.contents(),
        Some(_) => Contents::Unknown,
    };
    let unreadable = seen.unreadable.extents();
    let answer = Answer::new(
        &target.identity.given,
        Some(target.identity.clone()),
        contents,
        signatures,
    );
    Answer {
        blank: answer.blank && unreadable.is_empty(),
        reason,
        sample: options.sample,
        read: seen.surface.read,
        unreadable,
        ..answer
    }
}

fn scan(pipeline: &mut Pipeline<'_>, regions: &[Extent], seen: &mut Scan) -> Result<(), Stop> {
    let dropped = pipeline.open.device.drop_cached_pages();
    dropped.map_err(|error| Stop::Failed(format!("page cache: {}", cause(&error))))?;
    for piece in regions.iter().flat_map(|region| pieces(*region)) {
        pipeline.run(&[piece], seen)?;
        if seen.surface.has_data() {
            break;
        }
    }
    Ok(())
}

/// Fails if `target` is no longer as long as when its reading began: what was added was not read.
fn check_size(target: &Target, device: &Device) -> Result<(), Stop> {
    let (before, now) = (target.identity.size, device.length());
    match now.map_err(|error| Stop::Failed(format!("size: {}", cause(&error))))? {
        now if now == before => Ok(()),
        _ if !target.is_attached() => Err(Stop::Vanished),
        now => Err(Stop::Failed(format!(
            "it has {now} bytes now, and had {before} when this began: read it again"
        ))),
    }
}

fn pieces(region: Extent) -> impl Iterator<Item = Extent> {
    let end = region.offset + region.length;
    let offsets = std::iter::successors(Some(region.offset), |at| Some(at + PIECE));
    offsets
        .take_while(move |at| *at < end)
        .map(move |offset| Extent {
            offset,
            length: PIECE.min(end - offset),
        })
}

fn failure_reason(stop: Stop) -> String {
    match Outcome::from(stop) {
        Outcome::Vanished => "it disappeared".into(),
        Outcome::Failed { reason } => reason,
        Outcome::Dead { reason } => format!("it has died: {reason}"),
        _ => "interrupted: it was not read to its end".into(),
    }
}

/// Looks at what is read.
#[derive(Default)]
struct Scan {
    surface: Surface,
    unreadable: Ranges,
}

impl Task for Scan {
    const DIRECTION: Direction = Direction::Read;

    fn prepare(&mut self, _: u64, _: &mut [u8]) {}

    fn done(&mut self, offset: u64, bytes: &[u8]) {
        self.surface.see(offset, bytes);
    }

    fn refused(&mut self, sector: Extent) {
        self.unreadable.add(sector);
    }

    fn checkpoint(&mut self, _: u64) -> Result<(), Stop> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use squall_testing::loops::Lab;
    use squall_testing::schema::Schema;

    use super::*;
    use crate::args::tests::blank_arguments;

    fn answer(bytes: &[u8], options: &str) -> Answer {
        answer_if(|_, _| {}, bytes, options)
    }

    /// The answer about `bytes` if `before` happens before they are read.
    fn answer_if(before: impl Fn(&Control, &Path), bytes: &[u8], options: &str) -> Answer {
        let lab = Lab::new();
        let image = lab.image("image", 1);
        fs::write(&image, bytes).unwrap();
        let options = blank_arguments(&format!("{options} {}", image.display()));
        let (opened, _) = open(&options).expect("a target");
        let control = Control::new(Interrupt::watch("a test").expect("signals"));
        before(&control, &image);
        let (target, device) = &opened[0];
        read(target, device, &Progress::default(), &control, &options)
    }

    #[test]
    fn answers_are_in_the_schema() {
        let mut ext = vec![0; 3 << 20];
        ext[0x438..0x43a].copy_from_slice(b"\x53\xef");
        let answers = [
            answer(&[0; 5000], ""),
            answer(&[0x55; 5000], "--sample"),
            answer(&ext, ""),
            answer_if(|control, _| _ = control.skip(), &ext, ""),
        ];
        let lines = answers.each_ref().map(Answer::line);
        let line = |number: usize, words: &str| {
            assert!(lines[number].contains(words), "{words}: {}", lines[number]);
        };
        line(0, "image: blank: zeros (5.00 kB read)");
        line(1, "image: blank: bytes 0x55 (a sample, 5.00 kB read)");
        line(
            2,
            "image: not blank: data from byte 1,080 on: ext2, ext3 or ext4 (",
        );
        line(
            3,
            "image: not read: interrupted: it was not read to its end (0 B read)",
        );
        let mut count = Count::default();
        answers.iter().for_each(|answer| count.add(answer));
        let text = count.text(answers.len()).expect("a failure");
        assert_eq!(text, "1 of 4 drives are not blank, and 1 could not be read");
        let mut answers = answers;
        answers[2].unreadable.push(Extent {
            offset: 0,
            length: 512,
        });
        let answers = answers.map(|answer| serde_json::to_value(answer).expect("JSON"));
        Schema::of::<Answer>("schema/blank.schema.json").check(&answers, &[]);
    }

    /// What was added was not read, and may be anything.
    #[test]
    fn a_target_that_grows_or_shrinks_is_not_blank() {
        for size in [4096, 16384] {
            let resize = |_: &Control, image: &Path| {
                let file = fs::OpenOptions::new().write(true).open(image);
                file.expect("it opens").set_len(size).expect("room");
            };
            for options in ["", "--sample"] {
                let answer = answer_if(resize, &[0; 8192], options);
                assert!(!answer.blank && answer.verdict == Verdict::Unread);
                let expected = format!("it has {size} bytes now, and had 8192 when this began");
                let reason = answer.reason.expect("a reason");
                assert!(reason.starts_with(&expected), "{reason}");
            }
        }
    }

    #[test]
    fn reading_ends_with_the_piece_that_has_data() {
        let pieces: Vec<_> = pieces(Extent {
            offset: 5,
            length: 2 * PIECE + 1,
        })
        .collect();
        let ends: Vec<_> = pieces
            .iter()
            .map(|piece| (piece.offset, piece.length))
            .collect();
        assert_eq!(ends, [(5, PIECE), (5 + PIECE, PIECE), (5 + 2 * PIECE, 1)]);
    }
}
