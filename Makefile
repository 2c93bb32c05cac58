# divvy: `make demo` and `make test` set up what they need, and may be run again at any time.

CARGO ?= cargo
EXAMPLE := examples/compile-beside-interactive.perf.data
POLICIES := eevdf,cfs,gr3,sfs,pbs:alpha=2
# Of the virtual machine of `make vm`.
CPUS ?= 2

# The levels of `make test`, in their order. Each can be run alone.
LEVELS := gates test-rust test-report test-native test-bpf test-vm
# All tests, and the command that they run, come from one build. It has every feature, so that nothing is built twice.
TEST := $(CARGO) test --locked --workspace --all-features

.PHONY: help demo test gates test-rust test-report test-native test-bpf test-vm mutants kernel vm bench bench-kernel fmt clean

help:
	@echo "make demo    build, and replay a recorded workload under five policies"
	@echo "make kernel  the command with the policies as BPF programs, for divvy load: target/release/divvy"
	@echo "make test    all tests, level by level, and a table of their times; the levels alone:"
	@echo "  make gates        format, lints, documentation, wording, licences, advisories: nothing is run"
	@echo "  make test-rust    unit tests, and tests of the simulator and the command"
	@echo "  make test-report  opens reports in a headless browser, and uses them"
	@echo "  make test-native  the policies' C with sanitizers, under random events"
	@echo "  make test-bpf     the policies' C through this kernel's BPF verifier; needs root"
	@echo "  make test-vm      the tests that need a kernel with sched_ext, in a virtual machine"
	@echo "make mutants breaks each policy on purpose, and sees whether the tests notice"
	@echo "make vm      a shell in that machine, CPUS=2; builds its kernel once, in 7 to 15 minutes"
	@echo "make bench   decisions a second, and a selection of the GR3 study, beside bare loops"
	@echo "make bench-kernel  what scheduling costs in the kernel, in instructions, beside EEVDF"

demo: .need-build
	$(CARGO) run --locked --release -p divvy -- replay $(EXAMPLE) -p $(POLICIES)

# It does not run as root, so that what it builds belongs to who builds it; loading needs root.
kernel: .need-kernel
	$(CARGO) build --locked --release -p divvy --features kernel

# What can be installed is installed first; a level that lacks something says so itself.
test:
	@$(MAKE) --no-print-directory --keep-going .need-kernel .need-bpf .need-vm || true
	@.ci/need python3=python3
	@.ci/levels $(LEVELS)

# What can be said without running anything; .ci/gates lists the gates. Clippy and the documentation need what the build
# with all features needs.
gates: .need-kernel
	@.ci/gates

# Level 1: no root. One test reads traces with Perfetto's own classes for Python; where they cannot be installed it says so,
# and fails if DIVVY_REQUIRE_PERFETTO is set.
test-rust: .need-kernel
	@.ci/need script=bsdutils
	@python=$$(.ci/perfetto-python) || { \
		echo "NOT RUN: no trace was read with Perfetto's own classes" >&2; \
		[ -z "$$DIVVY_REQUIRE_PERFETTO" ] || exit 1; }; \
	echo "DIVVY_PYTHON=$${python:-python3} $(TEST)"; \
	DIVVY_PYTHON=$${python:-python3} $(TEST)

# Reports in a headless browser, still without root. Where there is none and none can be installed it says so, and fails
# if DIVVY_REQUIRE_BROWSER is set.
test-report: .need-kernel
	@if .ci/need chromium=chromium,chromium-browser; then \
		$(TEST) --test report -- --ignored --test-threads=1; \
	elif [ -n "$$DIVVY_REQUIRE_BROWSER" ]; then exit 1; \
	else echo "NOT RUN: test-report: there is no Chromium, so no report was opened" >&2; fi

# Level 2: the policies' C with address and undefined-behaviour sanitizers, under random events.
test-native: .need-build
	policy/native/fuzz.sh

# Level 3: the same C as BPF programs, through the kernel's verifier, deciding as the native build does. It needs
# root and a kernel that permits BPF; where it cannot run it says so, and fails if DIVVY_REQUIRE_BPF is set.
test-bpf: .need-build
	-@$(MAKE) --no-print-directory .need-bpf
	@kernel/bpf/check.sh || { status=$$?; [ $$status = 77 ] && [ -z "$$DIVVY_REQUIRE_BPF" ] || exit $$status; }

# Level 4: in a virtual machine, on a kernel with sched_ext. Its kernel is built once. All tests begin at once, and wait
# for as many CPUs as their machines have (kernel/tests/vm/machine.rs).
test-vm: .need-vm .need-kernel
	@.ci/need stress-ng=stress-ng perf=linux-perf,linux-tools-generic
	kernel/vm/test
	$(TEST) --no-run
	$(TEST) --test vm -- --ignored --test-threads=64

# The exit code is the shell's, and that of its last command is no error of make's.
vm: .need-vm
	@kernel/vm/run --cpus $(CPUS) || [ $$? != 70 ]

# Not part of make test: it builds the tests once more, which takes minutes.
mutants: .need-build
	policy/native/mutants.sh

bench: .need-build
	$(CARGO) bench --locked -p divvy-sim -p divvy-lab

# In the virtual machine, whose clock counts instructions: the same numbers each time.
bench-kernel: .need-vm kernel
	@.ci/need perf=linux-perf,linux-tools-generic
	kernel/bench/cost

fmt:
	$(CARGO) fmt --all
	@.ci/need clang-format-19=clang-format-19
	git ls-files '*.c' '*.h' | xargs clang-format-19 -i

clean:
	$(CARGO) clean

.PHONY: .need-build
.need-build:
	@.ci/need cc=build-essential $(CARGO)=

# For the check, which uses the system's libbpf.
.PHONY: .need-bpf
.need-bpf:
	@.ci/need clang-19=clang-19,clang /usr/include/bpf/libbpf.h=libbpf-dev,libelf-dev,zlib1g-dev

# To compile the policies to BPF, and to build libbpf, which comes with its crate.
.PHONY: .need-kernel
.need-kernel: .need-build
	@.ci/need clang-19=clang-19,clang pkg-config=pkg-config make=make /usr/include/gelf.h=libelf-dev,zlib1g-dev \
		/usr/include/linux/bpf.h=linux-libc-dev

# The kernel's source comes last, and kernel/vm/build says what to do where there is no such package.
.PHONY: .need-vm
.need-vm:
	@.ci/need qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio cc=build-essential \
		flex=flex bison=bison bc=bc pahole=dwarves xz=xz-utils /usr/include/gelf.h=libelf-dev
	@[ -n "$$DIVVY_KERNEL_SOURCE" ] || .ci/need /usr/src/linux-source-6.12.tar.xz=linux-source-6.12 || true
