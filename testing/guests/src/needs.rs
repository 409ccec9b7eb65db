//! What tests with guests need of this machine: what `scripts/lab-deps.sh` fetches, compilers, and the time that only
//! `make test-all` has.

use squall_testing::needs::TEST_ALL;
use squall_testing::suite::{self, NOTHING, Need};
use squall_tool_base::Failure;

use crate::debian::{Architecture, Cache, KernelName};
use crate::fixture::message;

const LAB: &str = "SQUALL_REQUIRE_LAB";

/// Set by scripts/test-arm64.sh, which fetches it.
const REQUIRE_ARM64: &str = "SQUALL_REQUIRE_ARM64";

/// Set by the same, after it has built the kernel.
const REQUIRE_ARM64_64K: &str = "SQUALL_REQUIRE_ARM64_64K";

/// QEMU and a kernel.
pub const MACHINES: Need = Need {
    check: || in_cache(machines),
    required_by: LAB,
};

/// Machines with kvm-clock.
pub const KVM_CLOCK: Need = Need {
    check: || in_cache(|cache| cache.qemu_with_kvm_clock().map(drop)),
    required_by: NOTHING,
};

/// Both versions of CRIU, and a kernel that they work on.
pub const CRIU: Need = Need {
    check: || {
        in_cache(|cache| {
            ["criu-4.1", "criu-4.2"].into_iter().try_for_each(|name| {
                let criu = cache.checkpointer(name)?;
                criu.run("usr/sbin/criu", "criu", |criu| {
                    criu.arg("check");
                })
            })
        })
    },
    required_by: NOTHING,
};

/// Machines with Debian's tools.
pub const GUESTS: Need = Need {
    check: || in_cache(|cache| machines(cache).and_then(|()| cache.tools().map(drop))),
    required_by: LAB,
};

/// User-mode Linux with Debian's tools.
pub const USER_MODE: Need = Need {
    check: || {
        in_cache(|cache| {
            cache.user_mode()?;
            cache.tools().map(drop)
        })
    },
    required_by: LAB,
};

/// A kernel module for machines.
pub const MODULE: Need = Need {
    check: || {
        in_cache(|cache| {
            cache.compiler()?;
            kernels(cache, &KernelName::ALL)
        })
    },
    required_by: LAB,
};

/// nginx for machines.
pub const NGINX: Need = Need {
    check: || in_cache(|cache| cache.nginx().map(drop)),
    required_by: LAB,
};

/// Interpreters for machines, and what compiles for Java.
pub const INTERPRETERS: Need = Need {
    check: || {
        in_cache(|cache| cache.interpreters().map(drop))?;
        suite::command("javac")
    },
    required_by: NOTHING,
};

pub const C_COMPILER: Need = Need {
    check: || suite::command("cc"),
    required_by: LAB,
};

/// Machines with arm64. Only `make test-arm64` runs their tests, which take long.
pub const ARM64: Need = Need {
    check: || {
        in_cache(|cache| {
            cache.qemu_of(Architecture::Arm64)?;
            kernels(cache, &KernelName::ARM64)
        })?;
        std::env::var_os(REQUIRE_ARM64)
            .map(drop)
            .ok_or_else(|| "`make test-arm64` runs it".to_owned())
    },
    required_by: REQUIRE_ARM64,
};

/// The kernel with pages of 64 KiB, which takes long to build.
pub const ARM64_64K: Need = Need {
    check: || in_cache(|cache| kernels(cache, &[KernelName::Arm64V6_12Pages64K])),
    required_by: REQUIRE_ARM64_64K,
};

/// Fails with the reason unless `make test-all` runs, and `find` finds what it looks for.
fn in_cache(find: fn(&Cache) -> Result<(), Failure>) -> Result<(), String> {
    (TEST_ALL.check)()?;
    let found = Cache::open(None).and_then(|cache| find(&cache));
    found.map_err(message)
}

fn machines(cache: &Cache) -> Result<(), Failure> {
    cache.qemu()?;
    kernels(cache, &[KernelName::V6_12])
}

fn kernels(cache: &Cache, names: &[KernelName]) -> Result<(), Failure> {
    names
        .iter()
        .try_for_each(|name| cache.kernel(*name).map(drop))
}
