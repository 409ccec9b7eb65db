# squall. `make test` installs what the tests need and runs them all.

.PHONY: run test lint unit go packages sanitize fuzz install deb bench bench-wipe bench-programs \
	deps lab-deps lab

run:
	cargo run --release -- stream --size 4GiB --progress > /dev/null

test: deps lint unit go packages sanitize

# What the tests need, installed where it is missing.
deps:
	scripts/deps.sh

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps

# What this machine can run must run: skipping it is a failure. The guards a second time as programs in
# Rust have them, without the feature `shared-library`; what a request leaves behind also in a release
# build, because it is a property of compiled code. `cargo run` alone is the command.
unit:
	required=$$(scripts/required.sh) && env $$required cargo test --workspace --all-features
	required=$$(scripts/required.sh) && env $$required cargo test -p squall --features testing --test guards
	for place in stack/ registers/; do \
		cargo test --release -p squall --features testing --test guards -- $$place || exit 1; \
	done
	cargo run --quiet -- --version

# The Go module, where there is a Go that is new enough.
go:
	required=$$(scripts/required.sh) && env $$required scripts/go.sh

# Debian packages, installed in a fresh Debian and removed again: of what the tests have built.
packages:
	PROFILE=test scripts/deb-test.sh

# AddressSanitizer, valgrind, and the constant-time code that CPUs with AES do not run.
sanitize:
	scripts/sanitize.sh

# Differential fuzzing, SECONDS a target (needs a nightly toolchain and cargo-fuzz; Go for the last two).
SECONDS ?= 60
fuzz:
	for target in engine drbg stream; do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(SECONDS) || exit 1; \
	done
	go -C go test -run - -fuzz FuzzKeystream -fuzztime $(SECONDS)s ./internal/aes256
	go -C go test -run - -fuzz FuzzLengths -fuzztime $(SECONDS)s ./internal/local

# The command, the libraries, headers and manual pages below PREFIX.
PREFIX ?= /usr/local
install:
	scripts/install.sh $(PREFIX)
	@case "$(DESTDIR)$(PREFIX)" in \
	/usr | /usr/local) [ "$$(id -u)" -ne 0 ] || ldconfig ;; \
	esac

# Debian packages into target/debian.
deb:
	scripts/deb.sh target/debian

# The sources of randomness on this machine, under two minutes; with the project's targets.
bench:
	cargo run --release --features tools -- bench --targets

# squall wipe beside shred, nwipe, openssl and dd, in memory; as root, minutes.
bench-wipe:
	cargo build --release --features tools
	cargo bench -p squall-wipe --bench peers

# Real programs with squall and without, minutes.
bench-programs:
	cargo run --release -p squall-testing --bin programs

# QEMU and Linux kernels for squall-lab, unpacked in a cache outside of the source tree.
lab-deps:
	cargo run --release -p squall-lab -- deps

# Every experiment with virtual machines, an hour or more; then the lab's record of them.
lab: lab-deps
	cargo run --release -p squall-lab -- reset --output docs/records
	cargo run --release -p squall-lab -- reset --runs 16 --output docs/records \
		--scenario together --scenario threads --scenario forks
	cargo run --release -p squall-lab -- reset --runs 20 --output docs/records \
		--scenario go
	cargo run --release -p squall-lab -- reset --runs 20 --output docs/records \
		--scenario doors
	cargo run --release -p squall-lab -- boot --output docs/records
