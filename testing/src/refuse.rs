//! Makes system calls fail (by seccomp), as in a sandbox, on a bad disk or early at boot.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// A system call that fails with `errno`, always or when one of its arguments has a value.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// The number of the system call.
    pub call: libc::c_long,
    /// The index of an argument and its value. None if the call always fails.
    pub when: Option<(u8, u64)>,
    /// The error.
    pub errno: i32,
}

impl Refusal {
    fn program(self) -> BpfProgram {
        let rules = self.when.map(|(argument, value)| {
            let (len, equal) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
            let condition = SeccompCondition::new(argument, len, equal, value);
            SeccompRule::new(vec![condition.expect("a condition")]).expect("a rule")
        });
        let filter = SeccompFilter::new(
            [(self.call, rules.into_iter().collect())].into(),
            SeccompAction::Allow,
            SeccompAction::Errno(self.errno as u32),
            std::env::consts::ARCH.try_into().expect("a known CPU"),
        );
        let program = filter.and_then(TryInto::try_into);
        program.expect("a filter of one call")
    }
}

/// Makes `command` run with these refusals.
pub fn refusing(mut command: Command, refusals: &[Refusal]) -> Command {
    let programs: Vec<_> = refusals.iter().map(|refusal| refusal.program()).collect();
    let refuse = move || {
        programs
            .iter()
            .try_for_each(|program| seccompiler::apply_filter(program).map_err(io::Error::other))
    };
    // SAFETY: `refuse` only makes system calls between fork and exec.
    unsafe { command.pre_exec(refuse) };
    command
}
