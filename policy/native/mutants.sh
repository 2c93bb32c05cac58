#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Do the tests notice? Breaks the policies in one place at a time, as tests/mutants.txt has it, and expects the
# test that stands beside each breakage to fail. One that survives is a property that nothing checks.
#
#   policy/native/mutants.sh             all
#   policy/native/mutants.sh PATTERN     those whose line matches, an extended regular expression
#
# The tests are built once, in a copy of the tracked files and with the policies as shared libraries: a mutant costs
# the compilation of a policy, or of all if it is in what they share, and a run of its test. Copy and build are kept
# from run to run, in $CARGO_TARGET_DIR or ~/.cache/divvy.
#
#   CC                   compiler; cc by default
#   DIVVY_MUTANT_SECONDS a test that runs for longer has failed; 300 by default
set -u
cd "$(dirname "$0")/../.." || exit 1
list=tests/mutants.txt
work=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/divvy}/mutants
tree=$work/tree
tab=$(printf '\t')
mkdir -p "$tree" "$work/lib" || exit 1
work=$(cd "$work" && pwd) && tree=$work/tree

die() {
	echo "mutants: $*" >&2
	exit 1
}

# Only what changed, so that cargo builds only that.
copy_tree() {
	git ls-files >"$work/files" || die "this is not a git work tree, from which the tracked files could be copied"
	(cd "$tree" && find . -type f | sed 's,^\./,,') | grep -vxF -f "$work/files" | while read -r file; do
		rm -f "$tree/$file"
	done
	while read -r file; do
		if [ -d "$file" ]; then # a link to a directory, which cmp does not compare
			[ -d "$tree/$file" ] && continue
		else
			cmp -s "$file" "$tree/$file" && continue
		fi
		mkdir -p "$tree/$(dirname "$file")"
		cp -P "$file" "$tree/$file" || exit 1
	done <"$work/files"
}

# Policies in native/ that no spec can name
NAMELESS="account called"

# library POLICY FOLDER: as policy/build.rs does it
library() {
	case " $NAMELESS " in *" $1 "*) header=native/$1.h ;; *) header=select/$1.h ;; esac
	(cd "$tree/policy" && "${CC:-cc}" -std=gnu11 -O1 -w -shared -fPIC -I. -Inative "-DDIVVY_POLICY=$1" \
		"-DPOLICY_HEADER=\"$header\"" native/host.c -o "$2/libdivvy_$1.so")
}

# libraries FOLDER POLICY..: two at a time
libraries() {
	folder=$1
	shift
	while [ $# -gt 0 ]; do
		library "$1" "$folder" &
		first=$!
		second=
		if [ $# -gt 1 ]; then
			library "$2" "$folder" &
			second=$!
			shift
		fi
		shift
		wait "$first" || { wait; return 1; }
		[ -z "$second" ] || wait "$second" || return 1
	done
}

# build_tests TARGET..: where each is, into $work/executables
build_tests() {
	targets=
	for target; do
		targets="$targets --test $target"
	done
	# shellcheck disable=SC2086 # many options
	(cd "$tree" && DIVVY_SHARED_POLICIES=1 CARGO_TARGET_DIR=$work/target CARGO_TERM_COLOR=never \
		"${CARGO:-cargo}" test --locked -p divvy-tests --no-run $targets) 2>"$work/said" || {
		tail -40 "$work/said" >&2
		die "the tests do not build"
	}
	sed -n 's,^ *Executable .*(\(.*\))$,\1,p' "$work/said" >"$work/executables"
}

# run_test TARGET PATTERN FOLDER..: with the libraries of these folders, the first first
run_test() {
	executable=$(grep "/$1-[0-9a-f]*\$" "$work/executables") || die "no test target $1"
	pattern=$2
	shift 2
	folders=$(IFS=:; echo "$*")
	# A failure need not be made small, only seen.
	(cd "$tree/tests" && LD_LIBRARY_PATH=$folders PROPTEST_MAX_SHRINK_ITERS=0 CARGO_MANIFEST_DIR=$tree/tests \
		timeout "${DIVVY_MUTANT_SECONDS:-300}" "$executable" "$pattern") >"$work/said" 2>&1
}

# Without a breakage each test passes, and there is one.
check_unbroken() {
	while IFS=$tab read -r target pattern; do
		run_test "$target" "$pattern" "$work/lib" || {
			tail -20 "$work/said" >&2
			die "$target $pattern fails with nothing broken"
		}
		! grep -q '^running 0 tests' "$work/said" || die "$target has no test $pattern"
	done
}

restore() {
	[ ! -e "$work/whole" ] || cp -p "$work/whole" "$tree/policy/$(cat "$work/broken")" && rm -f "$work/whole"
}

# break_it FILE SED: in the copy, where the times of files and folders are to stay, or cargo builds all of it again
break_it() {
	echo "$1" >"$work/broken"
	cp -p "$tree/policy/$1" "$work/whole" || exit 1
	sed "$2" "$work/whole" >"$tree/policy/$1" || die "$1: sed does not take $2"
	! cmp -s "$work/whole" "$tree/policy/$1" ||
		die "$1: $2 changes nothing: the code has changed, change the mutant"
}

policies() {
	(cd "$tree/policy/select" && printf '%s\n' *.h | sed 's,\.h$,,')
	echo "$NAMELESS"
}

# affected FILE: the policies that it is compiled into: one for select/NAME.h and select/NAME/.., else all
affected() {
	name=${1#select/}
	if [ "$name" = "$1" ]; then policies; else name=${name%%/*} && echo "${name%.h}"; fi
}

# mutant FILE SED TARGET PATTERN WHAT: whether it is caught
mutant() {
	rm -rf "${work:?}/lib-broken"
	mkdir "$work/lib-broken" || exit 1
	break_it "$1" "$2"
	# shellcheck disable=SC2046 # one word for each policy
	libraries "$work/lib-broken" $(affected "$1") || die "$1: $2 does not compile"
	run_test "$3" "$4" "$work/lib-broken" "$work/lib"
	status=$?
	restore
	case $status in
	0) echo "SURVIVED $1: $5 ($4)" && return 1 ;;
	124) echo "caught   $1: $5 ($4, which does not end)" ;;
	*) echo "caught   $1: $5 ($4)" ;;
	esac
}

# The list, tabs between its fields
grep -vE '^(#|$)' "$list" | { if [ $# -eq 0 ]; then cat; else grep -E -e "$1"; fi; } | sed "s/ | /$tab/g" >"$work/list"
awk -F"$tab" 'NF != 5 { print; bad = 1 } END { exit bad }' "$work/list" >&2 ||
	die "$list: a line is FILE | SED EXPRESSION | TEST TARGET | TEST NAME PATTERN | WHAT IT BREAKS"
[ -s "$work/list" ] || die "no line of $list matches ${1:-anything}"

restore
trap restore EXIT
trap 'exit 130' INT TERM
copy_tree
# shellcheck disable=SC2046 # one word for each target
build_tests $(cut -f3 "$work/list" | sort -u)
# shellcheck disable=SC2046 # one word for each policy
libraries "$work/lib" $(policies) || die "the policies do not compile"
cut -f3,4 "$work/list" | sort -u >"$work/tests"
check_unbroken <"$work/tests"

n=0
caught=0
while IFS=$tab read -r file sed target pattern what; do
	n=$((n + 1))
	mutant "$file" "$sed" "$target" "$pattern" "$what" && caught=$((caught + 1))
done <"$work/list"
echo "mutants: $caught of $n caught"
[ "$caught" -eq "$n" ]
