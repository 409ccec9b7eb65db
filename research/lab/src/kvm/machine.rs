//! Virtual machines of KVM: run, stopped, copied, and made of copies in the ways in which monitors do it.

use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fastrand::Rng;
use kvm_bindings::{
    CpuId, KVM_MAX_CPUID_ENTRIES, Msrs, kvm_clock_data, kvm_msr_entry, kvm_regs, kvm_segment,
    kvm_sregs, kvm_vcpu_events,
};
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};
use libc::{EAGAIN, EINTR};
use squall_tool_base::Failure;
use squall_tool_base::failure::{cause, text_at};
use vmm_sys_util::signal::{Killable, SIGRTMIN, register_signal_handler};

use super::guest::{self, LINE, LINES};
use super::memory::{Memory, word};
use super::way::{CLOCK_AFTER, CLOCK_BEFORE, LATE, LEAVE, PAUSE, REPLACED, SYSTEM_TIME, Way};

pub const CPUS: [usize; 2] = [0, 1];

/// The MSRs that are copied; the first are TSC, TSC_ADJUST, TSC_AUX, MSR_KVM_WALL_CLOCK_NEW.
const MSRS: [u32; 5] = [0x10, 0x3b, 0xc000_0103, 0x4b56_4d00, SYSTEM_TIME];

/// Three pages outside of the memory, which Intel's CPUs without real mode need for it.
const TASK_STATE: usize = 0xfffb_d000;

/// No line ends at this `%di`, so a program never halts.
const NEVER: u16 = 1;

/// What is wrong with a guest, or with KVM.
pub fn failure(why: impl Into<String>) -> Failure {
    Failure::Runtime(format!("kvm: {}", why.into()))
}

/// Names the call that failed.
pub trait Named<T> {
    fn named(self, call: &str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Named<T> for Result<T, E> {
    fn named(self, call: &str) -> Result<T, Failure> {
        self.map_err(|error| failure(format!("{call}: {}", cause(&error.into()))))
    }
}

pub struct Host {
    kvm: Kvm,
    cpuid: CpuId,
    msrs: Msrs,
}

/// A machine whose CPUs are stopped, except in the calls that run them.
pub struct Machine {
    cpus: Vec<Option<VcpuFd>>,
    vm: VmFd,
    pub memory: Memory,
}

/// All that a machine is.
pub struct Snapshot {
    memory: Vec<u8>,
    clock: kvm_clock_data,
    cpus: Vec<Cpu>,
}

struct Cpu {
    regs: kvm_regs,
    sregs: kvm_sregs,
    events: kvm_vcpu_events,
    msrs: Msrs,
}

impl Snapshot {
    pub fn regs(&self, cpu: usize) -> kvm_regs {
        self.cpus[cpu].regs
    }

    /// The version of a CPU's record.
    pub fn version(&self, cpu: usize) -> u32 {
        word(&self.memory, guest::record(cpu))
    }
}

impl Host {
    /// Fails if there is no KVM, or it cannot be used.
    pub fn open() -> Result<Host, Failure> {
        // Its signal only ends KVM_RUN.
        extern "C" fn nothing(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {}
        register_signal_handler(SIGRTMIN(), nothing).named("sigaction")?;
        let kvm = Kvm::new().map_err(|error| cannot_open(&error.into()))?;
        let cpuid = kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES);
        let known = kvm.get_msr_index_list().named("KVM_GET_MSR_INDEX_LIST")?;
        let is_known = |msr: &u32| known.as_slice().contains(msr);
        let msrs: Vec<_> = MSRS
            .into_iter()
            .filter(is_known)
            .map(|msr| entry(msr, 0))
            .collect();
        Ok(Host {
            cpuid: cpuid.named("KVM_GET_SUPPORTED_CPUID")?,
            msrs: Msrs::from_entries(&msrs).expect("few MSRs"),
            kvm,
        })
    }

    /// A machine without memory or state.
    fn machine(&self) -> Result<Machine, Failure> {
        let vm = self.kvm.create_vm().named("KVM_CREATE_VM")?;
        vm.set_tss_address(TASK_STATE).named("KVM_SET_TSS_ADDR")?;
        let cpu = |number: usize| {
            let cpu = vm.create_vcpu(number as u64).named("KVM_CREATE_VCPU")?;
            cpu.set_cpuid2(&self.cpuid).named("KVM_SET_CPUID2")?;
            Ok(Some(cpu))
        };
        Ok(Machine {
            cpus: CPUS.into_iter().map(cpu).collect::<Result<_, Failure>>()?,
            memory: Memory::new()?,
            vm,
        })
    }

    /// A machine whose CPUs are at the beginning of `program`, and use these rings.
    pub fn boot(&self, program: u64, rings: [usize; 2]) -> Result<Machine, Failure> {
        let mut machine = self.machine()?;
        machine.memory.write(guest::CODE, guest::programs());
        machine.memory.show_to(&machine.vm)?;
        for cpu in CPUS {
            let record = guest::record(cpu);
            let number = (record as u16).to_le_bytes();
            machine.memory.write(guest::own(cpu), &number);
            let vcpu = machine.cpu(cpu);
            let mut sregs = vcpu.get_sregs().named("KVM_GET_SREGS")?;
            set_base(&mut sregs.cs, 0);
            set_base(&mut sregs.fs, guest::own(cpu));
            set_base(&mut sregs.es, guest::ring(rings[cpu]));
            vcpu.set_sregs(&sregs).named("KVM_SET_SREGS")?;
            let regs = kvm_regs {
                rip: program,
                rflags: 2,
                rbp: record,
                rsi: guest::record(1 - cpu),
                ..Default::default()
            };
            machine.set_regs(cpu, &regs)?;
            machine.set_msrs(cpu, &[entry(SYSTEM_TIME, record | 1)])?;
        }
        Ok(machine)
    }

    /// A new machine, made of a copy.
    pub fn restore(&self, copy: &Snapshot, way: &Way) -> Result<Machine, Failure> {
        let mut machine = self.machine()?;
        if !way.has(REPLACED) {
            machine.memory.write(0, &copy.memory);
        }
        if !way.has(LATE) {
            machine.memory.show_to(&machine.vm)?;
        }
        if way.has(CLOCK_BEFORE) {
            machine.set_clock(copy)?;
        }
        machine.restore_msrs(copy, way)?;
        if way.has(CLOCK_AFTER) {
            machine.set_clock(copy)?;
        }
        if way.has(REPLACED) {
            machine.memory.replace()?;
            machine.memory.write(0, &copy.memory);
        }
        if way.has(LATE) {
            machine.memory.show_to(&machine.vm)?;
        }
        machine.set_registers(copy)?;
        for cpu in CPUS {
            if way.has(PAUSE) {
                machine.cpu(cpu).kvmclock_ctrl().named(PAUSE)?;
            }
            if way.has(LEAVE) {
                machine.enter_and_leave(cpu)?;
            }
        }
        Ok(machine)
    }

    pub fn snapshot(&self, machine: &Machine) -> Result<Snapshot, Failure> {
        let cpu = |number| {
            let cpu = machine.cpu(number);
            let mut msrs = self.msrs.clone();
            let count = cpu.get_msrs(&mut msrs).named("KVM_GET_MSRS")?;
            all(&msrs, count)?;
            Ok(Cpu {
                regs: machine.regs(number)?,
                sregs: cpu.get_sregs().named("KVM_GET_SREGS")?,
                events: cpu.get_vcpu_events().named("KVM_GET_VCPU_EVENTS")?,
                msrs,
            })
        };
        Ok(Snapshot {
            cpus: CPUS.into_iter().map(cpu).collect::<Result<_, Failure>>()?,
            clock: machine.vm.get_clock().named("KVM_GET_CLOCK")?,
            memory: machine.memory.bytes().to_vec(),
        })
    }
}

fn cannot_open(error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => ": use a machine on which KVM works",
        io::ErrorKind::PermissionDenied => ": be root or in the group kvm",
        _ => "",
    };
    Failure::Runtime(text_at(Path::new("/dev/kvm"), error) + advice)
}

fn entry(index: u32, data: u64) -> kvm_msr_entry {
    kvm_msr_entry {
        index,
        data,
        ..Default::default()
    }
}

/// Fails if KVM has taken or given only the first ones.
fn all(msrs: &Msrs, count: usize) -> Result<(), Failure> {
    let refused = msrs.as_slice().get(count);
    refused.map_or(Ok(()), |msr| {
        Err(failure(format!("KVM refuses MSR {:x}", msr.index)))
    })
}

fn set_base(segment: &mut kvm_segment, base: u64) {
    (segment.base, segment.selector) = (base, (base >> 4) as u16);
}

impl Machine {
    fn cpu(&self, cpu: usize) -> &VcpuFd {
        self.cpus[cpu].as_ref().expect("a CPU that is stopped")
    }

    pub fn regs(&self, cpu: usize) -> Result<kvm_regs, Failure> {
        self.cpu(cpu).get_regs().named("KVM_GET_REGS")
    }

    pub fn set_regs(&self, cpu: usize, regs: &kvm_regs) -> Result<(), Failure> {
        self.cpu(cpu).set_regs(regs).named("KVM_SET_REGS")
    }

    fn set_msrs(&self, cpu: usize, msrs: &[kvm_msr_entry]) -> Result<(), Failure> {
        let entries = Msrs::from_entries(msrs).expect("few MSRs");
        let count = self.cpu(cpu).set_msrs(&entries).named("KVM_SET_MSRS")?;
        all(&entries, count)
    }

    fn restore_msrs(&self, copy: &Snapshot, way: &Way) -> Result<(), Failure> {
        for (number, cpu) in copy.cpus.iter().enumerate() {
            let msrs = cpu.msrs.as_slice().iter();
            let msrs = msrs.filter_map(|msr| Some(entry(way.number(msr.index)?, msr.data)));
            self.set_msrs(number, &msrs.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn set_clock(&self, copy: &Snapshot) -> Result<(), Failure> {
        let clock = kvm_clock_data {
            clock: copy.clock.clock,
            ..Default::default()
        };
        self.vm.set_clock(&clock).named("KVM_SET_CLOCK")
    }

    fn set_registers(&self, copy: &Snapshot) -> Result<(), Failure> {
        for (number, state) in copy.cpus.iter().enumerate() {
            let cpu = self.cpu(number);
            cpu.set_sregs(&state.sregs).named("KVM_SET_SREGS")?;
            self.set_regs(number, &state.regs)?;
            cpu.set_vcpu_events(&state.events)
                .named("KVM_SET_VCPU_EVENTS")?;
        }
        Ok(())
    }

    /// Writes a copy's memory and registers, and nothing else.
    pub fn rewind(&mut self, copy: &Snapshot) -> Result<(), Failure> {
        self.memory.write(0, &copy.memory);
        self.set_registers(copy)
    }

    /// The lines that have been published in a ring between these registers.
    pub fn lines(&self, ring: usize, from: &kvm_regs, to: &kvm_regs) -> Vec<[u32; 3]> {
        let from = from.rdi as u16;
        let line = |number: u16| {
            let di = from.wrapping_add(number * LINE);
            let at = guest::ring(ring) + u64::from(di);
            [0, 4, 8].map(|field| word(self.memory.bytes(), at + field))
        };
        let len = (to.rdi as u16).wrapping_sub(from);
        (0..len / LINE).map(line).collect()
    }

    /// Enters a CPU so that it is left before its next instruction.
    fn enter_and_leave(&mut self, cpu: usize) -> Result<(), Failure> {
        let before = self.regs(cpu)?;
        let entered = self.cpus[cpu].as_mut().expect("a CPU that is stopped");
        entered.set_kvm_immediate_exit(1);
        let left = entered.run().is_err_and(|error| error.errno() == EINTR);
        entered.set_kvm_immediate_exit(0);
        match left && before == self.regs(cpu)? {
            true => Ok(()),
            false => Err(failure("KVM_RUN ignored immediate_exit")),
        }
    }

    /// Runs these CPUs until each has published so many lines.
    pub fn publish(&mut self, cpus: &[usize], lines: u16) -> Result<(), Failure> {
        self.run(cpus, Some(lines), None)
    }

    /// Runs these CPUs, and interrupts them at some instruction.
    pub fn interrupt(&mut self, cpus: &[usize], random: &mut Rng) -> Result<(), Failure> {
        self.run(cpus, None, Some(random))
    }

    /// The same for one CPU, which stops when it has published as many lines as can be read.
    pub fn publish_some(&mut self, cpu: usize, random: &mut Rng) -> Result<(), Failure> {
        self.run(&[cpu], Some(LINES), Some(random))
    }

    /// Runs these CPUs until they have published so many lines, or are interrupted at a random time.
    fn run(
        &mut self,
        cpus: &[usize],
        lines: Option<u16>,
        time: Option<&mut Rng>,
    ) -> Result<(), Failure> {
        for &cpu in cpus {
            let di = self.regs(cpu)?.rdi as u16;
            let end = lines.map_or(NEVER, |lines| di.wrapping_add(lines * LINE));
            self.memory.write(guest::own(cpu) + 2, &end.to_le_bytes());
        }
        let can_be_interrupted = time.is_some();
        let start = |&cpu: &usize| {
            let stopped = self.cpus[cpu].take().expect("a CPU that is stopped");
            (cpu, thread::spawn(move || run(stopped, can_be_interrupted)))
        };
        let running: Vec<_> = cpus.iter().map(start).collect();
        if let Some(random) = time {
            thread::sleep(Duration::from_micros(random.u64(50..500)));
            end(&running);
        }
        let mut outcome = Ok(());
        for (cpu, thread) in running {
            let (stopped, ended) = thread.join().expect("no panic");
            self.cpus[cpu] = Some(stopped);
            outcome = outcome.and(ended);
        }
        outcome
    }
}

/// Interrupts CPUs until all threads have ended: a signal that comes before KVM_RUN has no effect.
fn end<T>(running: &[(usize, JoinHandle<T>)]) {
    while !running.iter().all(|(_, thread)| thread.is_finished()) {
        for (_, thread) in running {
            // It fails only if the thread has ended.
            let _ = thread.kill(SIGRTMIN());
        }
        thread::sleep(Duration::from_micros(50));
    }
}

/// Runs a CPU until it halts or, if it can be, is interrupted.
fn run(mut cpu: VcpuFd, can_be_interrupted: bool) -> (VcpuFd, Result<(), Failure>) {
    let ended = loop {
        match cpu.run() {
            Ok(VcpuExit::Hlt) => break Ok(()),
            Ok(other) => break Err(failure(format!("a guest ended by {other:?}"))),
            Err(error) if ![EINTR, EAGAIN].contains(&error.errno()) => {
                break Err(error).named("KVM_RUN");
            }
            Err(_) if can_be_interrupted => break Ok(()),
            Err(_) => {}
        }
    };
    (cpu, ended)
}
