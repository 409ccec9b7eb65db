//! `squall blank` answers whether drives are empty, by reading them. It needs no record, and changes nothing.
//!
//! Each target has a thread of its own, which reads until the end, or until it finds data.

mod answer;
mod contents;
mod screen;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use squall_drives::Target;
use squall_drives::io::{Buffer, Device, Direction};
use squall_tool_base::failure::cause;
use squall_tool_base::in_child::Ended;
use squall_tool_base::{Failure, Inquiry, Interrupt, output};

use crate::args::{BlankArguments, TransferArguments};

use crate::pipeline::Pipeline;
use crate::progress::{EventSender, Phase, Progress};
use crate::ranges::Ranges;
use crate::record::{Extent, Outcome};
use crate::resources;
use crate::run::supervised;
use crate::sample::samples;
use crate::task::{OpenTarget, Stop, Task, changed_size};
use crate::text;
use crate::threads::{Control, DriveThread};

pub use answer::Answer;
use answer::Verdict;
use contents::{Contents, SEARCHED, Surface, signatures};
use screen::Screen;

/// Time between two updates of what is shown.
const TICK: Duration = Duration::from_millis(100);

/// A target is read in pieces of this many bytes, after each of which it may be known to hold data.
const PIECE: u64 = 256 << 20;

/// A thread's answer about the target of this number.
type NumberedAnswer = (usize, Answer);

/// A target that is read, and all that its thread needs. The thread may outlive the run.
struct Reading {
    device: Device,
    progress: Arc<Progress>,
    control: Arc<Control>,
    transfer: TransferArguments,
    sample: bool,
}

/// How many drives are not blank, as far as they answered.
#[derive(Default)]
struct Count {
    not_blank: usize,
    unread: usize,
}

pub fn blank(options: &BlankArguments) -> Result<(), Failure> {
    let found = open(options).map_err(|failure| Failure::Usage(failure.into_text()))?;
    let inquiry = Inquiry::watch()?;
    supervised(options.transfer.stall.is_some(), || {
        work(options, found, &inquiry)
    })
}

/// Reads the targets that are open, and answers for those that are missing.
fn work(
    options: &BlankArguments,
    (opened, missing): (Vec<Device>, Vec<Answer>),
    inquiry: &Inquiry,
) -> Result<Ended, Failure> {
    let interrupt = Interrupt::watch("the drives were not read to their ends")?;
    let mut count = Count::default();
    for answer in &missing {
        count.add(answer);
        output::print(&answer.text(options.json))?;
    }
    let mut screen = Screen::new(opened.iter().map(Device::target));
    let (sender, answers) = channel();
    let mut readers = Vec::new();
    let depth = resources::depth(options.transfer.depth, opened.len());
    for one in opened {
        let reading = Reading::new(one, &interrupt, options, depth);
        readers.push(start(readers.len(), reading, sender.clone())?);
    }
    let mut printed = Ok(());
    while printed.is_ok() && readers.iter().any(|reader| !reader.has_ended) {
        let answered = answers.recv_timeout(TICK);
        if answered.is_err() {
            let all = readers.iter().enumerate();
            let under_way = all.filter(|(_, reader)| !reader.has_ended);
            let progress = under_way.map(|(number, reader)| (number, &*reader.worker.progress));
            screen.show(progress, inquiry.take());
        }
        let all = readers.iter_mut().enumerate();
        let stalled = all.filter_map(|(number, it)| Some((number, give_up_if_stalled(it)?)));
        let stalled: Vec<NumberedAnswer> = stalled.collect();
        for (number, answer) in answered.into_iter().chain(stalled) {
            // What the thread of a target that was given up says counts for nothing.
            if std::mem::replace(&mut readers[number].has_ended, true) {
                continue;
            }
            count.add(&answer);
            let text = answer.text(options.json);
            printed = printed.and(screen.bars.suspend(|| output::print(&text)));
        }
    }
    let mut is_stuck = false;
    for reader in readers {
        if !reader.has_ended {
            // The answers could not be printed.
            reader.worker.control.give_up();
        }
        is_stuck |= !reader.join();
    }
    let result = printed.and(match count.text(options.targets.len()) {
        None => Ok(()),
        Some(text) => Err(Failure::Runtime(text)),
    });
    Ok(Ended { result, is_stuck })
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

/// Finds and opens the targets, with an answer about each that is missing or cannot be opened. Fails if that is all of
/// them, and if there is too little memory to read the others.
fn open(options: &BlankArguments) -> Result<(Vec<Device>, Vec<Answer>), Failure> {
    output::check()?;
    let (mut opened, mut missing) = (Vec::new(), Vec::new());
    let mut first = None;
    for path in &options.targets {
        let found = Target::find(path);
        let identity = found.as_ref().ok().map(|target| target.identity.clone());
        let open = |target| Device::open_to_read(target, options.transfer.direct);
        match found.and_then(open) {
            Ok(device) => opened.push(device),
            Err(failure) => {
                let why = failure.into_text();
                missing.push(Answer::unread(path, identity, &why));
                first.get_or_insert(why);
            }
        }
    }
    match first {
        Some(why) if opened.is_empty() => Err(Failure::Usage(why)),
        _ => resources::check_memory(opened.len()).map(|()| (opened, missing)),
    }
}

fn start(
    number: usize,
    reading: Reading,
    answers: Sender<NumberedAnswer>,
) -> Result<DriveThread<Reading>, Failure> {
    let limit = reading.transfer.stall;
    let reading = Arc::new(reading);
    let (progress, control) = (reading.progress.clone(), reading.control.clone());
    let its_own = reading.clone();
    let answer = move || {
        let read = catch_unwind(AssertUnwindSafe(|| its_own.read()));
        let failed = |_| its_own.unread("squall failed (see the message)");
        // Nobody listens any more if the answers could not be printed.
        let _ = answers.send((number, read.unwrap_or_else(failed)));
    };
    let thread = DriveThread::start(reading, progress, control, limit, answer);
    match thread.error() {
        Some(error) => Err(Failure::Runtime(format!("thread: {}", cause(error)))),
        None => Ok(thread),
    }
}

/// Gives the target up if it has stalled. Then its answer is this one.
fn give_up_if_stalled(reader: &mut DriveThread<Reading>) -> Option<Answer> {
    if reader.has_ended {
        return None;
    }
    let why = reader.stall_reason()?;
    let reading = &reader.worker;
    reading.control.give_up();
    let at = reading.progress.read();
    let percent = text::percent(at.done, at.total);
    Some(reading.unread(&format!("{why}, at {percent} %")))
}

impl Reading {
    /// The reading of a target with this many transfers in flight.
    fn new(device: Device, interrupt: &Interrupt, options: &BlankArguments, depth: u32) -> Reading {
        Reading {
            device,
            progress: Arc::default(),
            control: Arc::new(Control::new(interrupt.clone())),
            transfer: TransferArguments {
                depth,
                ..options.transfer.clone()
            },
            sample: options.sample,
        }
    }

    /// The answer about a target of which nothing is known, for this reason.
    fn unread(&self, reason: &str) -> Answer {
        let identity = &self.device.target().identity;
        Answer {
            sample: self.sample,
            read: self.progress.read().moved,
            ..Answer::unread(&identity.given, Some(identity.clone()), reason)
        }
    }

    /// Reads the target to its end, or until it is known to hold data.
    fn read(&self) -> Answer {
        let (device, identity) = (&self.device, &self.device.target().identity);
        let size = identity.size;
        let regions = match self.sample {
            true => samples(size, squall::u64),
            false => vec![Extent::new(0, size)],
        };
        let total = regions.iter().map(|region| region.length).sum();
        self.progress.begin(Phase::Verifying(1), 0, total);
        let mut start = Buffer::new(SEARCHED);
        let length = size.min(start.len() as u64) as usize;
        let start = &mut start[..length];
        // What cannot be read shows below.
        let found = match device.transfer(Direction::Read, start, 0) {
            Ok(()) => signatures(start),
            Err(_) => Vec::new(),
        };
        let (events, _) = channel();
        let events = EventSender::new(0, events);
        let mut seen = Scan::default();
        let open = OpenTarget {
            device,
            progress: &self.progress,
            interrupt: &self.control,
            refused_in_a_row: None,
        };
        let read = Pipeline::new(open, &self.transfer, Duration::MAX, &events)
            .and_then(|mut pipeline| scan(&mut pipeline, &regions, &mut seen))
            .and_then(|()| match seen.surface.has_data() {
                true => Ok(()),
                false => check_size(device),
            });
        let reason = read.err().map(failure_reason);
        let contents = match reason {
            None => seen.surface.contents(),
            Some(_) => Contents::Unknown,
        };
        let unreadable = seen.unreadable.extents();
        let answer = Answer::new(&identity.given, Some(identity.clone()), contents, found);
        Answer {
            blank: answer.blank && unreadable.is_empty(),
            reason,
            sample: self.sample,
            read: seen.surface.read,
            unreadable,
            ..answer
        }
    }
}

fn scan(pipeline: &mut Pipeline<'_>, regions: &[Extent], seen: &mut Scan) -> Result<(), Stop> {
    let dropped = pipeline.open.device.drop_cached_pages();
    dropped.map_err(|error| Stop::Failed(format!("page cache: {}", cause(&error))))?;
    for piece in regions.iter().flat_map(|region| region.pieces(PIECE)) {
        pipeline.run(&[piece], seen)?;
        if seen.surface.has_data() {
            break;
        }
    }
    Ok(())
}

/// Fails if `device` is no longer as long as when its reading began: what was added was not read.
fn check_size(device: &Device) -> Result<(), Stop> {
    let before = device.target().identity.size;
    match changed_size(device)? {
        None => Ok(()),
        Some(now) => Err(Stop::Failed(format!(
            "it has {now} bytes now, and had {before} when this began: read it again"
        ))),
    }
}

fn failure_reason(stop: Stop) -> String {
    match Outcome::from(stop) {
        Outcome::Vanished => "it disappeared".into(),
        Outcome::Failed { reason } => reason,
        Outcome::Dead { reason } => format!("it has died: {reason}"),
        _ => "interrupted: it was not read to its end".into(),
    }
}

#[derive(Default)]
struct Scan {
    surface: Surface,
    unreadable: Ranges,
}

impl Task for Scan {
    const DIRECTION: Direction = Direction::Read;

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
        let (mut opened, _) = open(&options).expect("a target");
        let interrupt = Interrupt::watch("a test").expect("signals");
        let reading = Reading::new(opened.remove(0), &interrupt, &options, 1);
        before(&reading.control, &image);
        reading.read()
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
        let expected = [
            "image: blank: zeros (5.00 kB read)",
            "image: blank: bytes 0x55 (a sample, 5.00 kB read)",
            "image: not blank: data from byte 1,080 on: ext2, ext3 or ext4 (",
            "image: not read: interrupted: it was not read to its end (0 B read)",
        ];
        for (line, words) in lines.iter().zip(expected) {
            assert!(line.contains(words), "{words}: {line}");
        }
        let mut count = Count::default();
        answers.iter().for_each(|answer| count.add(answer));
        let text = count.text(answers.len()).expect("a failure");
        assert_eq!(text, "1 of 4 drives are not blank, and 1 could not be read");
        let mut answers = answers;
        answers[2].unreadable.push(Extent::new(0, 512));
        let answers = answers.map(|answer| serde_json::to_value(answer).expect("JSON"));
        Schema::derive::<Answer>().check(&answers, &[]);
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
}
