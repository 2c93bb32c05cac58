#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Runs the BPF host, unchanged, in the model of sched_ext: for each policy, random scripts with faults, and the scripts of
# scripts/, which are named POLICY-WHAT.script. It needs a C compiler, and no root. Arguments: names of policies; by default
# all that a kernel may load.
#
#   DIVVY_SCRIPTS  random scripts for each policy; by default 30, some 400,000 events
#   DIVVY_SEED     the first seed of scripts that must hold; by default 1. Breaks have seeds of their own
#   DIVVY_BUILD    where to build; target/model by default
#   DIVVY_JOBS     how many policies, or breaks, at once; by default the number of CPUs
#
# A script in which something does not hold is made short, and printed. Save it, and run it again:
#
#   target/model/storm-gr3 --script FILE
#
# Without arguments it also runs some with several shards, and in the models of later kernels, puts a race back that was in the host, and breaks
# moves between shards, which the storm must find, and looks how long the lock is held with few and with many tasks (holds.py).
#
# Exit codes: 0 all held, 1 something did not.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${DIVVY_BUILD:-target/model}
mkdir -p "$out/said" || exit 1

# Debug information is what a sanitizer's report and a backtrace show: lines.
flags="-std=gnu11 -fgnu89-inline -O2 -g1 -Wall -Werror -Wno-attributes -Wno-unused-function -Wno-unknown-pragmas -DPOOL=4096u"

# The model is the same for all policies, so it is compiled once. NEWER=71 or 73 builds that of later kernels (model.h).
build_model() {
	# shellcheck disable=SC2046,SC2086 # flags, and names of sources have no spaces
	"${CC:-cc}" $flags -Ikernel/model/stand_in -Ikernel/bpf -Ipolicy "-DMODEL_NEWER=${NEWER:-0}" \
		-r $(find kernel/model -name '*.c' ! -name host.c ! -name session.c) -o "$out/model-${NEWER:-0}.o"
}

# The host is compiled with calls before each access to memory (memory.c), the model without.
build() { # POLICY PROGRAM HOST [FLAG]
	policy=$1 program=$2 host=$3
	shift 3
	[ ! -e "policy/placement/$policy.h" ] || set -- "$@" "-DPLACEMENT_HEADER=\"placement/$policy.h\""
	# shellcheck disable=SC2086 # flags
	"${CC:-cc}" $flags -Ikernel/model/stand_in "-I$host" -Ipolicy "-DMODEL_NEWER=${NEWER:-0}" "-DDIVVY_POLICY=$policy" \
		"-DPOLICY_HEADER=\"select/$policy.h\"" "$@" -fsanitize=thread -c kernel/model/host.c -o "$program.o" &&
		"${CC:-cc}" "$program.o" "$out/model-${NEWER:-0}.o" -lm -o "$program"
}

# The storm must find a race that was in the host: a task is taken back and enqueued again before it is sent.
check_finds_race() {
	rm -rf "$out/raced"
	cp -r kernel/bpf "$out/raced" || return 1
	sed -i 's/host_task(id)->sent_to != cpu + 1u/false/' "$out/raced/host/cpu_queues.h"
	cmp -s kernel/bpf/host/cpu_queues.h "$out/raced/host/cpu_queues.h" && echo "there is no such line any more" && return 1
	build eevdf "$out/storm-raced" "$out/raced" || return 1
	if "$out/storm-raced" 1 1000 >"$out/said/raced" 2>&1; then
		echo "host: FAILED: a race that was put back was not found"
		return 1
	fi
	grep -v '^#' "$out/said/raced" >"$out/raced.script"
	if ! "$out/storm-raced" --script "$out/raced.script" | grep -q 'is idle, and task'; then
		echo "host: FAILED: the script that was made shorter does not fail alike: $out/raced.script"
		return 1
	fi
	echo "host: a race that was put back is found: $(head -n 1 "$out/said/raced")"
}

# Selections that the model runs in several shards as well, beside sfq, whose shards are compared by tags: those that placement.md names. That
# rr ignores weights is known.
by_service="rr gr3 stride sfs cfs eevdf wrr vtrr"

# Several shards: all that must hold with one, no slice that is ahead by more than the skew, of a task that waits or of another shard, and shares.
run_shards() { # POLICY PROGRAM ARGUMENT.. OF RANDOM SCRIPTS
	policy=$1 program=$2
	shift 2
	case $policy in
	sfq) scripts='shards-*' ;;
	rr) scripts='*-equal shards-bound-*' ;;
	*) scripts='by-service-* shards-bound-* shards-limit-*' ;;
	esac
	for script in $scripts; do
		for file in kernel/model/scripts/$script.script; do
			"$program" --script "$file" || return 1
		done
	done
	"$program" "$@"
}

# A host whose shards do without a part of what makes them right must be found. Breaks are listed first, and then tried on all CPUs.
check_finds_broken_shards() { # POLICY FILE SUBSTITUTION [SEED]
	printf '%s\0%s\0%s\0%s\0' "$1" "$2" "$3" "${4:-}" >>"$out/breaks"
}

# Tries one, in a directory of its own. It begins with the seed that found it when this was written, as only one script in hundreds finds some breaks.
check_finds_break() { # POLICY FILE SUBSTITUTION [SEED]
	broken=$out/broken-$$
	rm -rf "$broken"
	mkdir -p "$broken" && cp -r kernel/bpf "$broken/host" || return 1
	sed -i "$3" "$broken/host/host/$2"
	cmp -s "kernel/bpf/host/$2" "$broken/host/host/$2" && echo "there is no such line any more: $3" && return 1
	build "$1" "$broken/storm" "$broken/host" -DDIVVY_SHARDS || return 1
	run_shards "$1" "$broken/storm" --find "${4:-1}" 1000 >"$broken/said" 2>&1
	if ! tail -n 1 "$broken/said" | grep -Eq '^(# seed [0-9]+: )?(at [0-9]+ ns: |ended by signal )'; then
		echo "host: FAILED: shards without a part were not found: $1: $3: $(tail -n 1 "$broken/said")"
		return 1
	fi
	rm -rf "$broken"
}

# A shard is told the weight that there was before its lock was held.
stale='s/^\te->amount = weight_to_tell(e->id);/\te->amount = e->amount ?: weight_to_tell(e->id);/
/^NOINLINE bool tell_weight_again/,/^}/s/clock_ns() }/clock_ns(), .amount = weight_to_tell(id) }/
s/is_there && has_other_weight(shard, id)/is_there/'

# Says what happened.
check_shards_of() { # POLICY PROGRAM
	build "$1" "$2" kernel/bpf -DDIVVY_SHARDS && run_shards "$1" "$2" "${DIVVY_SEED:-1}" "${DIVVY_SCRIPTS:-30}"
}

check_shards() {
	build_model || return 1
	: >"$out/breaks"
	# shellcheck disable=SC2086 # names of policies have no spaces
	printf '%s\n' sfq $by_service | xargs -P "${DIVVY_JOBS:-$(nproc)}" -n 1 kernel/model/test.sh --shards || return 1
	# No CPU takes a task that is behind; lags are lost; nobody asks an idle CPU; an idle CPU does not look elsewhere; a task that moves stays where it was;
	# an idle CPU does not look for tasks with few CPUs, nor past those that come first and may not run there; others may pick a task that moves while it runs.
	check_finds_broken_shards sfq by_tag.h 's/return precedes(x->least, x->before);/return false;/' &&
		check_finds_broken_shards sfq moves.h 's/^\tif (e->amount) {/\tif (false) {/' &&
		check_finds_broken_shards sfq moves.h 's/if (x->at != shard_of(id) \&\& claim/if (false \&\& claim/' &&
		check_finds_broken_shards sfq taking.h 's/if (after >= shards.n)/if (true)/' &&
		check_finds_broken_shards sfq moves.h 's/shard_of_task\[id \& POOL_MASK\] = to;//' &&
		check_finds_broken_shards sfq published.h 's/find_partly(m, x, from, cpu);/;/' &&
		check_finds_broken_shards sfq published.h 's/x->chosen = find_reachable(from, here);/x->chosen = 0;/' &&
		check_finds_broken_shards sfq moves.h 's/if (!(x->how \& RUNS_HERE)) {/if (true) {/' || return 1
	# A shard publishes the tag of one that no longer runs; one without tasks has a part in v; if nobody is runnable, v is not of those that were last; a task
	# that a CPU took does not count, nor one that is about to be put back, nor one that moves.
	check_finds_broken_shards sfq by_tag.h 's/if (p->runs \&\& !runs_as_published(m, p))/if (false)/' &&
		check_finds_broken_shards sfq by_tag.h 's/p->has_v = waits || p->runs;/p->has_v = true;/' &&
		check_finds_broken_shards sfq by_tag.h 's/x->v = x->latest;/;/' &&
		check_finds_broken_shards sfq by_tag.h 's/lower_v_to_visitor(x, visitor_on/lower_v_to_visitor(x, 0 * visitor_on/' &&
		check_finds_broken_shards sfq by_tag.h 's/lower_v_to_visitor(x, visitor_before/lower_v_to_visitor(x, 0 * visitor_before/' &&
		check_finds_broken_shards sfq by_tag.h 's/^\t\tif (moves)/\t\tif (false)/' || return 1
	# A task stays counted in a set of shards that it left, or when it ends; no shard is told of a new set.
	check_finds_broken_shards sfq attributes.h 's/^\tleave_reach_set(id);//' &&
		check_finds_broken_shards sfq ../host.bpf.c 's/^\tforget_reach(id);//' &&
		check_finds_broken_shards sfq reach_sets.h 's/^\t\tnote_reach_set(number, whole);/\t\t;/' 533 || return 1
	# The same where shards are compared by service; and a CPU takes a task although its shard has more to do; a shard does not count what it
	# serves, nor the weight that a task is told, nor that its weight is counted; others may pick a task whose visit begins.
	check_finds_broken_shards rr by_service.h 's/return x->is_found;/return x->is_found \&\& x->any;/' &&
		check_finds_broken_shards rr moves.h 's/if (x->at != shard_of(id) \&\& claim/if (false \&\& claim/' &&
		check_finds_broken_shards rr published.h 's/x->chosen = find_reachable(from, here);/x->chosen = 0;/' &&
		check_finds_broken_shards rr by_service.h 's/(published_of(here)->weight + weight)/(0 * weight)/' &&
		check_finds_broken_shards rr events.h 's/if (kind == EVENT_running || kind == EVENT_stopping ||/if (kind == EVENT_stopping ||/' &&
		check_finds_broken_shards rr attributes.h 's/^\tnote_load(shard, e->id);//' &&
		check_finds_broken_shards rr by_service.h 's/counted_weight\[id \& POOL_MASK\] = weight;//' &&
		check_finds_broken_shards rr moves.h 's/if (!(x->how \& RUNS_HERE)) {/if (true) {/' || return 1
	# Weights with modifiers: changes are lost; one is lost if its task moves; a task that wakes has its old one; one is told that was read before
	# the lock was held; nobody goes on with what is due; a task that sleeps counts, also where only the selection includes a modifier.
	check_finds_broken_shards sfq attributes.h 's/if (id \&\& !tell_weight_again(id) \&\& !tell_weight_again(id))/if (false)/' &&
		check_finds_broken_shards sfq moves.h 's/e.amount = weight_to_tell(id);/e.amount = asked_weight(host_task(id));/' &&
		check_finds_broken_shards sfq handing_over.h 's/^\t\ttell_weight_again(id);/\t\t;/' &&
		check_finds_broken_shards sfq attributes.h "$stale" &&
		check_finds_broken_shards sfq ../host.bpf.c 's/if (catch_up())/if (false)/' &&
		check_finds_broken_shards sfq stopping.h 's/^\tweigh_out(id, ALWAYS);//' &&
		check_finds_broken_shards gr3 stopping.h 's/^\tweigh_out(id, ALWAYS);//' || return 1
	# Limits: a task that a CPU takes or is to run is not looked at; one is neither held nor sent if its group has a new period meanwhile; one that is not to go on moves
	# nevertheless; one that starves is held by a CPU that is faster than its rescuer; a task that is held counts in weights; the rest of a slice is not given back.
	check_finds_broken_shards sfq quotas.h 's/return !e->id || !has_limits() || admit_slice/return true || admit_slice/' &&
		check_finds_broken_shards sfq taking.h 's/held = !admit_apart(&e, kernel_cpu) && hold_back(\(.*\));/held = !admit_apart(\&e, kernel_cpu) \&\& (hold_back(\1), true);/' &&
		check_finds_broken_shards sfq taking.h 's/ || !(task_in_machine(id)->state \& RUNNABLE))/)/' &&
		check_finds_broken_shards sfq quotas.h 's/!(id == rescued \&\& t->waiting_since)/true/' &&
		check_finds_broken_shards gr3 holding_in_shards.h 's/^\tweigh_out(id, what == HELD ? IF_HELD : ALWAYS);//' &&
		check_finds_broken_shards sfq quotas.h 's/^\tif (!goes_on)/\tif (false)/' || return 1
	xargs -0 -P "${DIVVY_JOBS:-$(nproc)}" -n 4 kernel/model/test.sh --break <"$out/breaks" || return 1
	echo "host: several shards: sfq $by_service: $(tail -n 2 "$out/said/shards-sfq" | head -n 1), and 38 breaks are found"
}

# In the models of later kernels, with one shard and with several
check_newer_kernels() {
	for NEWER in 71 73; do
		build_model || return 1
		check sfq "$out/storm-newer" >"$out/said/newer" 2>&1 || fails_on_newer "$NEWER, sfq" || return 1
		echo "host: a kernel like $NEWER: sfq: $(tail -n 1 "$out/said/newer")"
		for policy in sfq stride; do
			check_shards_of "$policy" "$out/storm-newer" >"$out/said/newer" 2>&1 ||
				fails_on_newer "$NEWER, several shards, $policy" || return 1
			echo "host: a kernel like $NEWER, several shards: $policy: $(tail -n 2 "$out/said/newer" | head -n 1)"
		done
	done
}

fails_on_newer() { # WHAT
	echo "host: FAILED with a kernel like $1"
	cat "$out/said/newer"
	return 1
}

# How long the lock is held must not grow with the number of tasks, threads, users or cgroups.
check_holds() {
	kernel/model/holds.py >"$out/said/holds" || {
		cat "$out/said/holds"
		return 1
	}
	echo "host: holds of the lock do not grow with the number of tasks (all policies; linux24, pbs and vtrr: no more for each than they say)"
}

# One shard: the policy's scripts, and random ones. Says what happened, and whether everything held in its last line.
check() { # POLICY PROGRAM
	build "$1" "$2" kernel/bpf || return 1
	for script in kernel/model/scripts/"$1"-*.script; do
		[ -e "$script" ] || continue
		"$2" --script "$script" || { echo "$script failed" && return 1; }
	done
	"$2" "${DIVVY_SEED:-1}" "${DIVVY_SCRIPTS:-30}"
}

if [ "${1:-}" = --shards ]; then
	check_shards_of "$2" "$out/storm-shards-$2" >"$out/said/shards-$2" 2>&1 && exit 0
	echo "host: FAILED with several shards: $2"
	cat "$out/said/shards-$2"
	exit 1
fi

if [ "${1:-}" = --break ]; then
	shift
	check_finds_break "$@"
	exit
fi

if [ "${1:-}" = --one ]; then
	if check "$2" "$out/storm-$2" >"$out/said/$2" 2>&1; then
		echo "$2: $(tail -n 1 "$out/said/$2")"
	else
		echo "$2: FAILED"
		cat "$out/said/$2"
		exit 1
	fi
	exit 0
fi

policies=${*:-$(cd policy/select && grep -L '^#define POLICY_SIMULATOR_ONLY ' ./*.h | sed 's,^\./,,; s,\.h$,,')}
build_model || exit 1
# shellcheck disable=SC2086 # names of policies have no spaces
printf '%s\n' $policies | xargs -P "${DIVVY_JOBS:-$(nproc)}" -n 1 kernel/model/test.sh --one
status=$?
passed=0 failed=0
for policy in $policies; do
	if tail -n 1 "$out/said/$policy" | grep -q '^held:'; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "host: $passed passed, $failed failed"
[ $status = 0 ] && [ $failed = 0 ] || exit 1
[ $# != 0 ] || { (check_newer_kernels) && check_finds_race && check_shards && check_holds; }
