//! One program and one tool: a checkpoint, and what its copies draw.

use serde_json::Value;
use squall_tool_base::Failure;
use squall_tool_base::failure::at;
use tempfile::TempDir;

use super::namespace::Process;
use super::program::{CommandLine, Program};
use super::report::Finding;
use super::tool::Tool;

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
    pub generations: Generations,
}

/// The clone generations of a process and its child: before the checkpoint, and in copies. Nothing if nothing is claimed.
#[derive(Debug, Default)]
pub struct Generations {
    pub before: Option<[String; 2]>,
    pub of_copies: Vec<[String; 2]>,
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
    let has_generation = program.claim_of_generations(tool.name).is_some();
    let mut generations = Generations::default();
    if has_generation {
        generations.before = Some(generation(original.process())?);
    }
    let checkpoint = original.checkpoint()?;
    let plans: &[&[&str]] = match program.can_fork() {
        true => &PLANS,
        false => &PLANS_WITHOUT_FORKS,
    };
    let mut copies = Vec::new();
    for number in 0..restores {
        let mut copy = checkpoint.restore(number)?;
        let mut answers = Vec::new();
        for line in plans[number * plans.len() / restores] {
            answers.extend(ask(&mut copy, line)?);
        }
        copies.push(answers);
        if has_generation {
            generations.of_copies.push(generation(&mut copy)?);
        }
        copy.end()?;
    }
    Ok(Outcome {
        status,
        copies,
        generations,
    })
}

fn generation(process: &mut Process) -> Result<[String; 2], Failure> {
    process.send("generation ")?;
    Ok([process.line()?, process.line()?])
}

fn status(process: &mut Process) -> Result<Value, Failure> {
    process.send("status ")?;
    let line = process.line()?;
    serde_json::from_str(&line).map_err(|_| Failure::Runtime(format!("{line} is no status")))
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
