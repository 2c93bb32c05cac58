#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Checks that this kernel's BPF verifier accepts every policy of policy/select/ with each set of modifiers, and that the
# programs decide as the native build does. check.bpf.c and check.c say how. Arguments: names of policies; by default all.
#
#   CLANG          a clang >= 16 with the BPF target; by default clang-19, else the newest found
#   DIVVY_SEEDS    storms for each set of modifiers; by default 3, and 1 for a baseline
#   DIVVY_BUILD    where to build; target/bpf by default
#
# Exit codes: 0 if so, 1 if not, 77 if it cannot be checked here: no clang, no libbpf, or no permission.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${DIVVY_BUILD:-target/bpf}

not_here() {
	echo "BPF CHECK NOT RUN: $1" >&2
	exit 77
}

find_clang() {
	if [ -n "${CLANG:-}" ]; then
		echo "$CLANG"
		return
	fi
	for version in 19 22 21 20 18 17 16; do
		command -v "clang-$version" && return
	done
	command -v clang
}

clang=$(find_clang) || not_here "no clang; apt-get install clang-19"
major=$(echo __clang_major__ | "$clang" -E -P -x c - 2>/dev/null)
[ "${major:-0}" -ge 16 ] || not_here "$clang is not a clang >= 16; apt-get install clang-19"
mkdir -p "$out" || exit 1
echo '#include <bpf/libbpf.h>' >"$out/probe.c"
echo 'int main(void) { return !libbpf_version_string(); }' >>"$out/probe.c"
cc "$out/probe.c" -o "$out/probe" -lbpf 2>"$out/probe.log" || not_here "no libbpf; apt-get install libbpf-dev"

# The kernel's headers are in a directory for this architecture, which clang does not search for the BPF target.
kernel_includes="-I/usr/include/$(cc -print-multiarch)"

# There are many baselines, and loading takes time.
seeds_of() {
	grep -q '^#define POLICY_BASELINE' "policy/select/$1.h" && echo 1 || echo 3
}

check() { # POLICY
	policy=$1
	set -- -Wall -Werror -Wno-unused-function "-DDIVVY_POLICY=$policy" "-DPOLICY_HEADER=\"select/$policy.h\"" \
		-Ipolicy -Ipolicy/native
	"$clang" -O2 -g -target bpf -mcpu=v3 "$@" "$kernel_includes" -c kernel/bpf/check.bpf.c -o "$out/$policy.bpf.o" ||
		return 1
	cc -std=gnu11 -O2 "$@" '-DPOOL=(1u<<14)' kernel/bpf/check.c -o "$out/check-$policy" -lbpf || return 1
	"$out/check-$policy" "$out/$policy.bpf.o" "${DIVVY_SEEDS:-$(seeds_of "$policy")}"
}

# Policies that are for the simulator only are not checked.
policies=${*:-$(cd policy/select && grep -L '^#define POLICY_SIMULATOR_ONLY ' ./*.h | sed 's,^\./,,; s,\.h$,,')}
n=0
failed=
running=

# Two at a time.
collect() {
	for job in $running; do
		wait "${job#*:}"
		case $? in
		0) ;;
		77) not_here "BPF is not permitted here; run as root, on Linux >= 6.12" ;;
		*) failed="$failed ${job%:*}" ;;
		esac
	done
	running=
}

for policy in $policies; do
	n=$((n + 1))
	check "$policy" &
	running="$running $policy:$!"
	[ $((n % 2)) -eq 0 ] && collect
done
collect
if [ -n "$failed" ]; then
	echo "bpf check: FAILED:$failed" >&2
	exit 1
fi
echo "bpf check: $n policies, any modifiers: verified by Linux $(uname -r), and decide as natively"
