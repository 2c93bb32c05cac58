# shellcheck shell=dash
# measure.sh is sourced: the CPU time that cgroups receive, in us.

used() { # WORDS CGROUP..: without a fork, as each would wait for its turn
	words=$1
	shift
	for measured; do
		while read -r key value; do
			[ "$key" = usage_usec ] && echo "$words $measured $value"
		done <"$measured/cpu.stat"
	done
	true
}

# After BEFORE seconds, for so many SECONDS
measure() { # NAME BEFORE SECONDS CGROUP..
	name=$1 during=$3
	sleep "$2"
	shift 3
	used "$name from" "$@"
	sleep "$during"
	used "$name to" "$@"
}
