# divvy: `make demo` and `make test` set up what they need, and may be run again at any time.

CARGO ?= cargo
EXAMPLE := examples/compile-beside-interactive.perf.data
POLICIES := eevdf,cfs,gr3,sfs,pbs:alpha=2
# Number of CPUs of the virtual machine of `make vm`.
CPUS ?= 2

# The levels of `make test`, in order. Each can be run alone. Those of BESIDE compile no Rust and measure no time, so they run beside
# the first of the others.
LEVELS := gates test-rust test-report test-python test-vm
BESIDE := test-native test-host test-bpf
# One build with every feature makes all tests and the command that they run, so that nothing is built twice.
TEST := $(CARGO) test --locked --workspace --all-features

.PHONY: help demo test install uninstall crates tarball deb .package-build gates test-rust test-report test-python test-native test-host storm test-bpf test-vm test-attacks stress test-traces mutants figures kernel vm bench bench-counts bench-python bench-peers bench-kernel bench-distance bench-shares fmt clean

help:
	@echo "make demo    build, and replay a recorded workload under five policies"
	@echo "make kernel  the command with the policies as BPF programs, for divvy load: target/release/divvy"
	@echo "make install  puts what make kernel built under PREFIX=/usr/local, with man pages, completions and a unit; make uninstall"
	@echo "make tarball, make deb  the same for other machines: an archive, a Debian package, in target/"
	@echo "make crates  packages the crates, as for cargo publish, and builds each from its package"
	@echo "make test    all tests, level by level, and a table of their times; the levels alone:"
	@echo "  make gates        format, lints, documentation, wording, licences, advisories: nothing is run; a single one: .ci/gates NAME, as in .ci/gates crates"
	@echo "  make test-rust    unit tests, and tests of the simulator and the command"
	@echo "  make test-report  opens reports in a headless browser, and uses them"
	@echo "  make test-python  the Python package: its wheel in a clean environment, its numbers beside the command's, the notebooks; sweeps on a Dask cluster"
	@echo "  make test-native  the policies' C with sanitizers, under random events"
	@echo "  make test-host    the BPF host in a model of sched_ext, under random scripts with faults"
	@echo "  make test-bpf     the policies' C through this kernel's BPF verifier; needs root"
	@echo "  make test-vm      the tests that need a kernel with sched_ext, in a virtual machine"
	@echo "make test-traces   reads 43 published recordings, which it fetches from GitHub into ~/.cache/divvy/traces; needs trace-cmd, babeltrace2"
	@echo "make test-attacks  what one user can do to another, on 1 to 8 CPUs; takes hours in emulation"
	@echo "make stress  the virtual machine's storm of tasks for an hour on four CPUs, under three schedulers in turn"
	@echo "make storm   test-host for long: SCRIPTS=2000 for each policy, from SEED=1 on"
	@echo "make mutants breaks each policy on purpose, and sees whether the tests notice"
	@echo "make figures reproduces all figures of the papers in full, and compares with the verdicts that are kept"
	@echo "make vm      a shell in that machine, CPUS=2; builds its kernel once, in 7 to 15 minutes"
	@echo "make bench   decisions a second of every policy and modifier, and a selection of the GR3 study, beside bare loops; CSV in target/bench"
	@echo "make bench-counts  instructions of a decision, by callgrind"
	@echo "make bench-python  a million simulated jobs to a data frame of pandas"
	@echo "make bench-peers   the same queues in divvy, SimPy, SimSo and NeXosim: what each costs, and that they agree"
	@echo "make bench-kernel  what scheduling costs in the kernel, in instructions, beside EEVDF and a bare FIFO; what recording costs, beside perf"
	@echo "make bench-distance  the simulator and the model of sched_ext beside Linux in the virtual machine: shares, response, switches, decisions"
	@echo "make bench-shares  how well shares are honoured on 2 to 1,024 CPUs, by policies and placements: writes the tables of docs/explanation/many-cpus.md"

demo: .need-build
	$(CARGO) run --locked --release -p divvy -- replay $(EXAMPLE) -p $(POLICIES)

# Building needs no root, so that the files belong to the user. Loading a scheduler needs root.
kernel: .need-kernel
	$(CARGO) build --locked --release -p divvy --features kernel

# Builds nothing, because root installs: `make kernel && sudo make install`. DESTDIR is for packagers.
PREFIX ?= /usr/local
install:
	package/install $(or $(CARGO_TARGET_DIR),target)/release/divvy --prefix "$(PREFIX)" --root "$(DESTDIR)"

uninstall:
	package/install --remove --prefix "$(PREFIX)" --root "$(DESTDIR)"

# The crates as they would be published, each built from its package and those of the others, with the policies' BPF programs.
crates: .need-kernel
	$(CARGO) package --locked --workspace --exclude divvy-tests --exclude divvy-python --features divvy/kernel

# For other machines: libelf and zlib are linked in, and paths of this machine are left out, so that the bytes are the same wherever
# it is built with the same compilers. Only those two are taken from the system: beside them there may be a libbpf that is too old.
PACKAGE := $(CURDIR)/target/package
RELEASE_FLAGS = $(RUSTFLAGS) -L native=$(PACKAGE)/libraries --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo
.package-build: .need-kernel
	@mkdir -p $(PACKAGE)/libraries
	@for library in libelf.a libz.a; do ln -sf "$$($(CC) -print-file-name=$$library)" $(PACKAGE)/libraries/ || exit 1; done
	RUSTFLAGS="$(RELEASE_FLAGS)" CARGO_TARGET_DIR=$(PACKAGE) $(CARGO) build --locked --release -p divvy -p divvy-kernel \
		--features divvy/kernel,libbpf-sys/static
	@$(PACKAGE)/release/divvy doctor | grep -q ' ok *programs ' || { \
		echo "make: $(PACKAGE)/release/divvy cannot read its BPF programs; its doctor says why" >&2; exit 1; }

tarball: .package-build
	package/tarball $(PACKAGE)/release/divvy target

deb: .package-build
	package/deb $(PACKAGE)/release/divvy target

# First installs all packages that can be installed. A level that still lacks something says so itself.
test:
	@$(MAKE) --no-print-directory --keep-going .need-kernel .need-bpf .need-vm || true
	@.ci/need python3=python3
	@.ci/levels $(LEVELS) --beside $(BESIDE)

# Checks the tree without running it; .ci/gates lists the gates. Clippy and the documentation need the same packages as the
# build with all features.
gates: .need-kernel
	@.ci/gates

PERFETTO := .ci/python perfetto.protos.perfetto.trace.perfetto_trace_pb2 .ci/requirements.txt

# Level 1, without root. One test reads traces with Perfetto's own classes for Python. If they cannot be installed, it says
# so; if DIVVY_REQUIRE_PERFETTO is set, it also fails.
test-rust: .need-kernel
	@.ci/need script=bsdutils
	@python=$$($(PERFETTO)) || { \
		echo "NOT RUN: no trace was read with Perfetto's own classes" >&2; \
		[ -z "$$DIVVY_REQUIRE_PERFETTO" ] || exit 1; }; \
	echo "DIVVY_PYTHON=$${python:-python3} $(TEST)"; \
	DIVVY_PYTHON=$${python:-python3} $(TEST)

# Reports in a headless browser, still without root. If no browser can be installed, it says so; if DIVVY_REQUIRE_BROWSER is
# set, it also fails.
test-report: .need-kernel
	@if .ci/need chromium=chromium,chromium-browser; then \
		$(TEST) --test report -- --ignored --test-threads=1; \
	elif [ -n "$$DIVVY_REQUIRE_BROWSER" ]; then exit 1; \
	else echo "NOT RUN: test-report: there is no Chromium, so no report was opened" >&2; fi

# The Python package, of what test-rust has built, without root. If its packages cannot be installed, it says so; if
# DIVVY_REQUIRE_PYTHON is set, it also fails.
test-python: .need-kernel
	@.ci/need python3=python3
	$(TEST) --no-run
	$(CARGO) build --locked --workspace --all-features --lib --bins --tests
	@python/tests/test || { status=$$?; [ $$status = 77 ] && [ -z "$$DIVVY_REQUIRE_PYTHON" ] || exit $$status; }

# Published recordings, and a script's account of each. They are not ours to keep here, so this is no level of `make test`.
TRACES ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/divvy/traces
test-traces: .need-build
	@.ci/need trace-cmd=trace-cmd babeltrace2=babeltrace2 python3=python3
	trace/tests/public/fetch trace/tests/public/traces.tsv $(TRACES)
	trace/tests/public/fetch sim/tests/engine/rtapp.tsv $(TRACES)
	DIVVY_TRACES=$(TRACES) DIVVY_PYTHON=$$($(PERFETTO)) $(CARGO) test --locked -p divvy-trace --test public --test ctf -- --ignored
	DIVVY_RTAPP=$(TRACES) $(CARGO) test --locked -p divvy-sim --test engine -- --ignored rt_apps_files

# Level 2: the policies' C with address and undefined-behaviour sanitizers, under random events.
test-native: .need-build
	policy/native/fuzz.sh

# The BPF host, compiled as it is for this machine, in a model of sched_ext; some 10 million events. It needs no root.
test-host: .need-build
	kernel/model/test.sh

# Hours, if SCRIPTS is large: 1,000 scripts a policy are some 400 million events.
SCRIPTS ?= 2000
SEED ?= 1
storm: .need-build
	DIVVY_SCRIPTS=$(SCRIPTS) DIVVY_SEED=$(SEED) kernel/model/test.sh

# Level 3: the same C as BPF programs, which must pass the kernel's verifier and decide as the native build does. It needs
# root and a kernel that permits BPF. If it cannot run, it says so; if DIVVY_REQUIRE_BPF is set, it also fails.
test-bpf: .need-build
	-@$(MAKE) --no-print-directory .need-bpf
	@kernel/bpf/check.sh || { status=$$?; [ $$status = 77 ] && [ -z "$$DIVVY_REQUIRE_BPF" ] || exit $$status; }

# Level 4: in a virtual machine, on a kernel with sched_ext, which is built once. All tests begin at once, and each waits
# until as many CPUs are free as its machine has (kernel/tests/vm/machine.rs).
test-vm: .need-vm .need-kernel
	@.ci/need stress-ng=stress-ng perf=linux-perf,linux-tools-generic python3=python3 \
		ffmpeg=ffmpeg mawk=mawk /usr/lib/apache2/modules/mod_lua.so=apache2-bin \
		$(or $(firstword $(wildcard /usr/lib/postgresql/*/bin/initdb)),/usr/lib/postgresql/initdb)=postgresql
	kernel/vm/test
	kernel/vm/disk >/dev/null
	$(TEST) --no-run
	$(TEST) --test vm -- --ignored --test-threads=64 --skip attack::suite

# Attacks on several CPUs, with proofs of the kernel's locks, and with a tick of 10 ms. Each of the two kernels is built once, in some
# 15 minutes. VARIANTS names others, or only `none`.
VARIANTS ?= none lockdep hz100
test-attacks: .need-vm .need-kernel
	$(TEST) --no-run
	@for variant in $(VARIANTS); do \
		[ $$variant != none ] || variant=; \
		DIVVY_KERNEL_VARIANT=$$variant $(TEST) --test vm -- --ignored --nocapture --test-threads=1 attack::suite || exit 1; \
	done

# The storm of the machine's tests for an hour of the guest's time, on four CPUs: 36 loads of 100 s each, whose decisions fit the guest's memory.
STRESS_SECONDS ?= 100
STRESS_ROUNDS ?= 12
stress: .need-vm .need-kernel
	@.ci/need stress-ng=stress-ng perf=linux-perf,linux-tools-generic python3=python3
	$(TEST) --no-run
	DIVVY_STORM_CPUS=4 DIVVY_STORM_SECONDS=$(STRESS_SECONDS) DIVVY_STORM_ROUNDS=$(STRESS_ROUNDS) \
		$(TEST) --test vm -- --ignored --nocapture storm::

# The exit code comes from the last command in the shell, and make must not report it as an error. 70 is a failure of the
# machine itself.
vm: .need-vm
	@kernel/vm/run --cpus $(CPUS) || [ $$? != 70 ]

# Not part of make test: it builds the tests once more, which takes minutes.
mutants: .need-build
	policy/native/mutants.sh

# The full versions of all figures of the papers against the verdicts that are kept: an hour and more.
figures: .need-build
	$(CARGO) build --locked --release -p divvy
	lab/verdicts/check

bench: .need-build
	$(CARGO) bench --locked -p divvy-sim -p divvy-lab
	$(CARGO) bench --locked -p divvy-sim -- every

# Instructions of a decision: the same each time.
bench-counts: .need-build
	@.ci/need valgrind=valgrind
	$(CARGO) bench --locked -p divvy-sim -- counts

# A million jobs in a data frame.
bench-python: .need-build
	@.ci/need python3=python3
	python/bench/run

# Beside SimPy, SimSo and NeXosim, which it installs once.
bench-peers: .need-build
	@.ci/need python3=python3
	$(CARGO) build --locked --release -p divvy
	sim/peers/run --csv target/bench/peers-$$(git describe --always --dirty --abbrev=10).csv

# Runs in the virtual machine. Its clock counts instructions, so the numbers are the same each time.
bench-kernel: .need-vm kernel
	@.ci/need perf=linux-perf,linux-tools-generic
	kernel/bench/cost
	kernel/bench/recorders
	kernel/bench/prediction

# Runs in the same way: five minutes, after `make kernel`.
bench-distance: .need-vm kernel
	@.ci/need python3=python3
	kernel/bench/distance

# Simulations, with the same bytes each time. The larger ones take long; kernel/bench/shares --cpus 2,4,8 is a part. The machine's rows: kernel/bench/shares --vm --write.
bench-shares: .need-build
	@.ci/need python3=python3
	$(CARGO) build --locked --release -p divvy
	kernel/bench/shares --write

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

.PHONY: .need-vm
.need-vm:
	@kernel/vm/need
