#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Fuzzes the machine with every policy of policy/select/ under every set of modifiers, in a pool of 64 tasks, with
# the address and undefined-behaviour sanitizers; and policy/lib by itself. Arguments: policies, all by default.
#
#   FUZZ_CASES     cases for each policy and set of modifiers; 200 by default
#   FUZZ_SECONDS   instead: how long each of them runs
#   FUZZ_SEED      seed of the first case; 1 by default
#   CC             compiler; cc by default
#   DIVVY_BUILD    where to build; target/fuzz by default
#
# For coverage-guided fuzzing of one policy:
#   clang -g -O1 -fsanitize=fuzzer,address,undefined -DFUZZ_LIBFUZZER -DPOOL=64 -DFUZZ_POLICY=sfq \
#     '-DPOLICY_HEADER="select/sfq.h"' -Ipolicy -Isim/native sim/native/fuzz.c -o fuzz-sfq && ./fuzz-sfq
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${DIVVY_BUILD:-target/fuzz}
mkdir -p "$out" || exit 1

if [ -n "${FUZZ_SECONDS:-}" ]; then
	long="-t $FUZZ_SECONDS"
else
	long="-n ${FUZZ_CASES:-200}"
fi

# build BINARY SOURCE FLAGS..
build() {
	binary=$1
	source=$2
	shift 2
	"${CC:-cc}" -std=gnu11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Werror -Wno-unused-function \
		-DPOOL=64 "$@" -Ipolicy -Isim/native "$source" -o "$binary"
}

# Each prints a line, or why not.
fuzz_lib() {
	build "$out/fuzz-lib" sim/native/fuzz_lib.c || return 1
	said=$("$out/fuzz-lib" -s "${FUZZ_SEED:-1}" $long 2>&1) || {
		echo "lib: $said" >&2
		return 1
	}
	echo "lib         $said"
}

fuzz_policy() {
	build "$out/fuzz-$1" sim/native/fuzz.c "-DFUZZ_POLICY=$1" "-DPOLICY_HEADER=\"select/$1.h\"" || return 1
	line=$(printf '%-10s' "$1")
	for modifiers in 0 1 2 4 5 6 8 9 10 12 13 14; do
		said=$("$out/fuzz-$1" -m $modifiers -s $((${FUZZ_SEED:-1} + modifiers * 1000000)) $long 2>&1) || {
			echo "$1, modifiers $modifiers: $said" >&2
			return 1
		}
		line="$line  $modifiers: $said"
	done
	echo "$line"
}

policies=${*:-$(cd policy/select && ls ./*.h | sed 's,^\./,,; s,\.h$,,')}
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
echo "fuzz: $n policies, any modifiers (1 is +procfair, 2 +tfps, 4 +groups, 8 +feasible): no rule was broken"
