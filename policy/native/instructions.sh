#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Prints the instructions that a decision of sfs takes, exact and with the heuristic of its section 3.2, for some numbers of
# threads: the table of C11 in papers/sfs.md. Needs valgrind, whose callgrind counts instructions, so that the same compiler and
# processor give the same numbers each time. Weights are random from 1 to 40, on one CPU. Arguments: numbers of threads.
#
#   CC           compiler; cc by default
#   DIVVY_BUILD  where to build; target/instructions by default
set -eu
cd "$(dirname "$0")/../.."
out=${DIVVY_BUILD:-target/instructions}
mkdir -p "$out"
"${CC:-cc}" -std=gnu11 -O2 -g -w -DDIVVY_POLICY=sfs '-DPOLICY_HEADER="select/sfs.h"' -Ipolicy -Ipolicy/native \
	policy/native/host.c policy/native/instructions.c -o "$out/instructions"

# each THREADS DECISIONS K UPDATE: instructions for a decision
each() {
	valgrind --tool=callgrind --toggle-collect=measured --callgrind-out-file=/dev/null "$out/instructions" "$@" 2>&1 |
		awk -v n="$2" '/Collected/ { printf "%d", $4 / n; found = 1 } END { exit !found }'
}

[ $# -gt 0 ] || set -- 10 100 400 4000
echo "| threads | k=0 | k=20:update=10000 | k=20:update=1 |"
for threads; do
	echo "| $threads | $(each "$threads" 10000 0 100) | $(each "$threads" 10000 20 10000) | $(each "$threads" 100 20 1) |"
done
