# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=sh
#
# Plays cases, as root of a machine with sched_ext. The lines that call play are added to it. Arguments: the command divvy,
# and the directory with the workloads N.toml. Before each case it says `== play LABEL`, and after it `== report`, and the
# report of `divvy play`. A policy is loaded only while its case is played.
divvy=$1
cases=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$work" || exit 1

# A program that is executed again finds its files at once where they are cached. The virtual machine asks a file server whenever it opens one,
# and the program blocks meanwhile, now and then. So the command and its libraries are copied into memory. A virtual machine without ldd has
# all files there.
if command -v ldd >/dev/null; then
	mkdir bin || exit 1
	ldd "$divvy" | sed -n 's,.*=> \(/[^ ]*\) .*,\1,p' | xargs -r cp -t bin || exit 1
	cp "$divvy" bin/divvy || exit 1 # it may be installed by another name
	divvy=$work/bin/divvy
	export LD_LIBRARY_PATH="$work/bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

state=/sys/kernel/sched_ext/state

# set_and "SETTING .." DIVVY ARGUMENT..: sets parameters of the loaded policy, and executes the rest
cat >set_and <<'EOF'
settings=$1
shift
for setting in $settings; do "$1" set "$setting" >/dev/null || exit; done
exec "$@"
EOF

play() { # NUMBER LABEL SEED REPS [OPTION OF LOAD..]
	number=$1 label=$2 seed=$3 reps=$4
	shift 4
	if [ ! -e $state ]; then
		echo "this kernel has no sched_ext ($state)" >&2
		exit 5
	elif [ "$(cat $state)" != disabled ]; then
		echo "another sched_ext scheduler is loaded, $(cat /sys/kernel/sched_ext/root/ops 2>/dev/null): unload it" >&2
		exit 5
	fi
	echo "== play $label"
	set -- "$@" "$divvy" play "$cases/$number.toml" --seed "$seed" --reps "$reps" --scale-weights 5% --format json -o report
	[ "$1" = "$divvy" ] || set -- "$divvy" load --quiet --max-tasks 4000 --db "$work/flow" "$@"
	code=0
	"$@" >said 2>&1 || code=$?
	if [ $code != 0 ]; then
		echo "$label failed:" >&2
		cat said >&2
		exit $code
	fi
	echo "== report"
	cat report
}

