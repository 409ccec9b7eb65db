//! One program and one tool: a checkpoint, and what its copies draw.

use serde_json::Value;
use squall_tools::Failure;
use squall_tools::failure::at;
use tempfile::TempDir;

use super::namespace::Process;
use super::program::{CommandLine, Program};
use super::report::Finding;
use super::tool::{Checkpoint, Tool};

/// What copies are asked, a third of them each: short values first, long ones first, and a fork before anything else.
const PLANS: [&[&str]; 3] = [
    &["draw 4 8 16 32 1024", "fork 4 8 16 32 1024"],
    &["draw 1024 32 16 8 4", "fork 1024 32 16 8 4"],
    &["fork 4 8 16 32 1024"],
];

/// The same for programs that cannot fork.
const PLANS_WITHOUT_FORKS: [&[&str]; 2] = [&["draw 4 8 16 32 1024"], &["draw 1024 32 16 8 4"]];

/// So often a control may fail to repeat. A reseed of the kernel, once a minute, makes stock generators differ; and the
/// kernel drops droppable memory when it needs it.
const ATTEMPTS: usize = 3;

/// The values that a process printed in one line, in hexadecimal.
#[derive(Debug)]
pub struct Answer {
    pub is_childs: bool,
    pub values: Vec<String>,
}

/// The answers of each copy, and squall's status.
#[derive(Debug)]
pub struct Outcome {
    pub status: Value,
    pub copies: Vec<Vec<Answer>>,
}

/// Restores the program so often, and finds what is shared.
pub fn run(
    tool: &Tool,
    program: &Program,
    command: &CommandLine,
    restores: usize,
) -> Result<Finding, Failure> {
    let attempt = || {
        Ok(Finding::new(
            tool.name,
            program,
            &copy(tool, program, command, restores)?,
        ))
    };
    let mut found = attempt();
    for _ in 1..ATTEMPTS {
        if !found.as_ref().is_ok_and(|found| found.lacks_a_repeat()) {
            break;
        }
        found = attempt();
    }
    found.map_err(|failure: Failure| {
        squall_guests::emulator::reworded(failure, |message| {
            format!("{}, {}: {message}", tool.name, program.name)
        })
    })
}

fn copy(
    tool: &Tool,
    program: &Program,
    command: &CommandLine,
    restores: usize,
) -> Result<Outcome, Failure> {
    let directory = TempDir::new().map_err(at(&std::env::temp_dir()))?;
    let mut original = tool.start(command, directory.path())?;
    // Before it is checkpointed, it has drawn.
    ask(original.process(), PLANS[0][0])?;
    let status = match program.has_status() {
        true => status(original.process())?,
        false => Value::Null,
    };
    let checkpoint = original.checkpoint()?;
    let plans: &[&[&str]] = match program.can_fork() {
        true => &PLANS,
        false => &PLANS_WITHOUT_FORKS,
    };
    let copies = (0..restores).map(|number| {
        let plan = plans[number * plans.len() / restores];
        restored(&checkpoint, number, plan)
    });
    Ok(Outcome {
        status,
        copies: copies.collect::<Result<_, _>>()?,
    })
}

fn status(process: &mut Process) -> Result<Value, Failure> {
    process.send("status ")?;
    let line = process.line()?;
    serde_json::from_str(&line).map_err(|_| Failure::Runtime(format!("{line} is no status")))
}

/// The answers of one copy, which has ended then.
fn restored(checkpoint: &Checkpoint, number: usize, plan: &[&str]) -> Result<Vec<Answer>, Failure> {
    let mut copy = checkpoint.restore(number)?;
    let mut answers = Vec::new();
    for line in plan {
        answers.extend(ask(&mut copy, line)?);
    }
    copy.end()?;
    Ok(answers)
}

/// The answers to a line: of the child, if it asks for a fork, and of the process.
fn ask(process: &mut Process, line: &str) -> Result<Vec<Answer>, Failure> {
    process.send(line)?;
    let (order, lengths) = line.split_once(' ').expect("an order and lengths");
    let mut answer = |is_childs| {
        let answer = process.line()?;
        let values: Vec<_> = answer.split(' ').map(str::to_owned).collect();
        let digits = |length: &str| length.parse::<usize>().expect("a length") * 2;
        if !lengths
            .split(' ')
            .map(digits)
            .eq(values.iter().map(String::len))
        {
            return Err(Failure::Runtime(format!(
                "the answer to `{line}` is {answer}"
            )));
        }
        Ok(Answer { is_childs, values })
    };
    let is_fork = order == "fork";
    let authors = [true, false].into_iter().skip(usize::from(!is_fork));
    authors.map(&mut answer).collect()
}
