#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Fuzzes the machine with every policy of policy/select/ under each set of modifiers that means another thing, in a pool of 64 tasks, with
# the address and undefined-behaviour sanitizers; sfq with weights that follow in small steps; and policy/lib by itself. Arguments: policies, all by default.
#
#   FUZZ_CASES     cases for each policy and set of modifiers; by default 200, and 100 for a baseline
#   FUZZ_SECONDS   instead: how long each of them runs
#   FUZZ_SEED      seed of the first case; 1 by default
#   CC             compiler; cc by default
#   DIVVY_BUILD    where to build; target/fuzz by default
#
# For coverage-guided fuzzing of one policy:
#   clang -g -O1 -fsanitize=fuzzer,address,undefined -DFUZZ_LIBFUZZER -DPOOL=64 -DFUZZ_POLICY=sfq \
#     '-DPOLICY_HEADER="select/sfq.h"' -Ipolicy -Ipolicy/native policy/native/fuzz.c -o fuzz-sfq && ./fuzz-sfq
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${DIVVY_BUILD:-target/fuzz}
mkdir -p "$out" || exit 1

# how_long CASES: as arguments of a fuzzer
how_long() {
	if [ -n "${FUZZ_SECONDS:-}" ]; then
		echo "-t $FUZZ_SECONDS"
	else
		echo "-n ${FUZZ_CASES:-$1}"
	fi
}

# There are many baselines, most of them small.
cases_of() {
	if grep -q '^#define POLICY_BASELINE' "policy/select/$1.h"; then echo 100; else echo 200; fi
}

# build BINARY SOURCE FLAGS..
build() {
	binary=$1
	source=$2
	shift 2
	"${CC:-cc}" -std=gnu11 -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Werror -Wno-unused-function \
		-DPOOL=64 "$@" -Ipolicy -Ipolicy/native "$source" -o "$binary"
}

# fuzz_part_of_lib SOURCE SETTING: prints a line, or why not
fuzz_part_of_lib() {
	build "$out/fuzz-lib" "policy/native/$1" "-D$2" || return 1
	# shellcheck disable=SC2046 # an option and its value
	said=$("$out/fuzz-lib" -s "${FUZZ_SEED:-1}" $(how_long 200) 2>&1) || {
		echo "$1, $2: $said" >&2
		return 1
	}
	echo "lib         $said"
}

# Tasks whose set of CPUs is no class
fuzz_others() {
	build "$out/fuzz-others" policy/native/fuzz_others.c -DFUZZ_POLICY=sfq '-DPOLICY_HEADER="select/sfq.h"' || return 1
	# shellcheck disable=SC2046 # an option and its value
	said=$("$out/fuzz-others" -s "${FUZZ_SEED:-1}" $(how_long 200) 2>&1) || {
		echo "fuzz_others.c: $said" >&2
		return 1
	}
	echo "others      $said"
}

# Trees are tested without and with fractions in their keys, and in either order of equal ones.
fuzz_lib() {
	fuzz_part_of_lib fuzz_lib.c TREE_PARTS=0 && fuzz_part_of_lib fuzz_lib.c TREE_PARTS=1 &&
		fuzz_part_of_lib fuzz_eligible.c TREE_BY_MINOR=0 && fuzz_part_of_lib fuzz_eligible.c TREE_BY_MINOR=1
}

# Weights that follow in steps, 2 at an event: a pool of 64 is looked at in one event else. In the end they are as without steps.
fuzz_steps() {
	build "$out/fuzz-steps" policy/native/fuzz.c -DFUZZ_POLICY=sfq '-DPOLICY_HEADER="select/sfq.h"' -DGROUP_STEPS=2u -DTHREAD_STEPS=2u ||
		return 1
	long=$(how_long 3000)
	line="sfq, in steps"
	for modifiers in 1 4 5 6; do
		# shellcheck disable=SC2086 # an option and its value
		said=$("$out/fuzz-steps" -m "$modifiers" -s "${FUZZ_SEED:-1}" $long 2>&1) || {
			echo "sfq in steps, modifiers $modifiers: $said" >&2
			return 1
		}
		line="$line  $modifiers: $said"
	done
	echo "$line"
}

# A dispatch passes by 2 tasks that the CPU cannot run, and 64 else, which is the whole pool, or eevdf forgets one sleeper in it and 8
# else. Then the CPU asks again.
fuzz_passes() {
	for policy in fcfs eevdf; do
		build "$out/fuzz-passes" policy/native/fuzz.c "-DFUZZ_POLICY=$policy" "-DPOLICY_HEADER=\"select/$policy.h\"" -DPASSES=2u ||
			return 1
		# shellcheck disable=SC2046 # an option and its value
		said=$("$out/fuzz-passes" -s "${FUZZ_SEED:-1}" $(how_long 300) 2>&1) || {
			echo "$policy, 2 passes: $said" >&2
			return 1
		}
		echo "$policy, 2 passes  $said"
	done
}

# The same for a policy under each set of modifiers.
fuzz_policy() {
	build "$out/fuzz-$1" policy/native/fuzz.c "-DFUZZ_POLICY=$1" "-DPOLICY_HEADER=\"select/$1.h\"" || return 1
	line=$(printf '%-10s' "$1")
	long=$(how_long "$(cases_of "$1")")
	for modifiers in $("$out/fuzz-$1" -l); do
		# shellcheck disable=SC2086 # an option and its value
		said=$("$out/fuzz-$1" -m "$modifiers" -s $((${FUZZ_SEED:-1} + modifiers * 1000000)) $long 2>&1) || {
			echo "$1, modifiers $modifiers: $said" >&2
			return 1
		}
		line="$line  $modifiers: $said"
	done
	echo "$line"
}

policies=${*:-$(cd policy/select && printf '%s\n' *.h | sed 's,\.h$,,')}
running=
failed=
n=0

# Two at a time.
collect() {
	for job in $running; do
		wait "${job#*:}" || failed="$failed ${job%:*}"
	done
	running=
}

fuzz_lib || failed=lib
fuzz_others || failed="$failed others"
fuzz_steps || failed="$failed steps"
fuzz_passes || failed="$failed passes"
for policy in $policies; do
	n=$((n + 1))
	fuzz_policy "$policy" &
	running="$running $policy:$!"
	[ $((n % 2)) -eq 0 ] && collect
done
collect
if [ -n "$failed" ]; then
	echo "fuzz: FAILED:$failed" >&2
	exit 1
fi
echo "fuzz: $n policies, any modifiers (1 is +procfair, 2 +tfps, 4 +groups, 8 +feasible, 16 +flow): no rule was broken"
