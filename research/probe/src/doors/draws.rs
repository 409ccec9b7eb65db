//! The C program: it gets a letter and answers with 64 bytes.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Result;
use crate::generator::{Bits, Generator, words};

/// The program's path in the initramfs.
const PATH: &str = "/doors/draws";

/// The running program, which ends with the last of its sources.
#[derive(Clone)]
pub struct Program(Arc<Mutex<Pipes>>);

struct Pipes {
    requests: ChildStdin,
    answers: ChildStdout,
}

impl Program {
    /// Starts the program with only these environment variables.
    pub fn start(environment: &[(&str, &str)]) -> Result<Program> {
        Program::start_at(PATH, environment)
    }

    fn start_at(path: &str, environment: &[(&str, &str)]) -> Result<Program> {
        let mut program: Child = Command::new(path)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{path}: {error}"))?;
        let (requests, answers) = program
            .stdin
            .take()
            .zip(program.stdout.take())
            .expect("pipes");
        Ok(Program(Arc::new(Mutex::new(Pipes { requests, answers }))))
    }

    /// The source for which this letter asks.
    pub fn source(&self, letter: u8) -> Letter {
        Letter {
            program: self.clone(),
            letter,
        }
    }
}

/// One of the program's sources.
pub struct Letter {
    program: Program,
    letter: u8,
}

impl Letter {
    fn ask(&self) -> io::Result<Bits> {
        let mut pipes = self
            .program
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pipes.requests.write_all(&[self.letter])?;
        let mut bytes = [0; size_of::<Bits>()];
        pipes.answers.read_exact(&mut bytes)?;
        Ok(words(&bytes))
    }
}

impl Generator for Letter {
    fn draw(&mut self) -> Option<Bits> {
        let asked = self.ask();
        Some(asked.unwrap_or_else(|error| panic!("{PATH}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers 64 letters with themselves.
    const ECHO: &str = "/bin/cat";

    #[test]
    fn every_letter_gets_its_own_answer() {
        let program = Program::start_at(ECHO, &[]).expect("cat");
        let mut pipes = program.0.lock().expect("pipes");
        // cat returns its input: 63 bytes are already there.
        pipes.requests.write_all(&[b'x'; 63]).expect("room");
        drop(pipes);
        let bits = program.source(b'x').draw();
        assert_eq!(bits, Some([u64::from_le_bytes([b'x'; 8]); 8]));
    }

    #[test]
    fn a_missing_program_is_reported_by_name() {
        let Err(why) = Program::start_at("/dev/null/draws", &[]) else {
            panic!("it cannot start");
        };
        assert!(why.starts_with("/dev/null/draws: "), "{why}");
    }

    #[test]
    #[should_panic(expected = "/doors/draws: ")]
    fn a_program_that_ended_is_a_failure() {
        let program = Program::start_at("/bin/true", &[]).expect("true");
        program.source(b'x').draw();
    }
}
