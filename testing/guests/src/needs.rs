//! What tests need of this machine: what `scripts/lab-deps.sh` fetches, and compilers.

use crate::debian::{Cache, KernelName};
use squall_testing::suite::{self, Need};

use crate::fixture::{kernel_image, message};

const LAB: &str = "SQUALL_REQUIRE_LAB";

/// Set by scripts/test-arm64.sh, which fetches it.
const REQUIRE_ARM64: &str = "SQUALL_REQUIRE_ARM64";

/// Set by the same, after it has built the kernel.
const REQUIRE_ARM64_64K: &str = "SQUALL_REQUIRE_ARM64_64K";

/// QEMU and a kernel.
pub const MACHINES: Need = Need {
    check: || kernel_image().map(drop).map_err(message),
    required_by: LAB,
};

/// Machines with Debian's tools.
pub const GUESTS: Need = Need {
    check: || {
        let tools = kernel_image().and_then(|_| Cache::open(None)?.tools());
        tools.map(drop).map_err(message)
    },
    required_by: LAB,
};

/// User-mode Linux with Debian's tools.
pub const USER_MODE: Need = Need {
    check: || {
        let kernel = Cache::open(None).and_then(|cache| cache.user_mode());
        kernel.map_err(message).and_then(|_| (GUESTS.check)())
    },
    required_by: LAB,
};

/// A kernel module for machines.
pub const MODULE: Need = Need {
    check: || {
        let cache = Cache::open(None).map_err(message)?;
        cache.compiler().map_err(message)?;
        for kernel in KernelName::ALL {
            cache.kernel(kernel).map_err(message)?;
        }
        Ok(())
    },
    required_by: LAB,
};

/// nginx for machines.
pub const NGINX: Need = Need {
    check: || {
        let nginx = Cache::open(None).and_then(|cache| cache.nginx());
        nginx.map(drop).map_err(message)
    },
    required_by: LAB,
};

pub const C_COMPILER: Need = Need {
    check: || suite::command("cc"),
    required_by: LAB,
};

/// Machines with arm64. Only `make test-arm64` runs their tests, which take long.
pub const ARM64: Need = Need {
    check: || {
        let cache = Cache::open(None).map_err(message)?;
        cache.qemu_for_arm64().map_err(message)?;
        for kernel in KernelName::ARM64 {
            cache.kernel(kernel).map_err(message)?;
        }
        match std::env::var_os(REQUIRE_ARM64) {
            Some(_) => Ok(()),
            None => Err("make test-arm64 runs it".to_owned()),
        }
    },
    required_by: REQUIRE_ARM64,
};

/// The kernel with pages of 64 KiB, which takes long to build.
pub const ARM64_64K: Need = Need {
    check: || {
        let cache = Cache::open(None).map_err(message)?;
        let kernel = cache.kernel(KernelName::Arm64V6_12Pages64K);
        kernel.map(drop).map_err(message)
    },
    required_by: REQUIRE_ARM64_64K,
};
