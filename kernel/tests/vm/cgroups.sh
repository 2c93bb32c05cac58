#!/bin/sh
# cgroups.sh [limits|limits-on-four]: programs that always run, in cgroups with weights, and what CPU time each cgroup received, in us.
#
#   a 100, 3 hogs    b 200, 1 hog    c 300: c/x 100, 2 hogs; c/y 200, 1 hog
#
# Then b ends, and a gets 400. With `limits` all weights are alike, and a limit is within another one:
#
#   a at most 20 %, 2 hogs    b 1 hog    c at most 45 %: c/x at most 10 %, 1 hog; c/y 1 hog
#
# With `limits-on-four` more than one CPU has to do with each limit:
#
#   a 400, at most 150 %, 4 hogs    b 100, 4 hogs    c 400, at most 80 %: c/x at most 30 %, 2 hogs; c/y 2 hogs
#
# In both, a then has no limit.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
cd /sys/fs/cgroup

cgroup() { # NAME WEIGHT HOGS
	mkdir -p "$1"
	echo "$2" >"$1/cpu.weight"
	hogs=0
	while [ $hogs -lt "$3" ]; do
		hogs=$((hogs + 1))
		sh -c 'echo $$ >"$1/cgroup.procs"; while :; do :; done' hog "$1" &
	done
}

phase() { # NAME
	measure "$1" 0.5 1.5 a b c/x c/y
}

limit() { # NAME PER_CENT
	echo "$(($2 * 200)) 20000" >"$1/cpu.max"
}

without_limit_of_a() {
	phase all
	echo max >a/cpu.max
	sleep 1 # a limit is read each second
	phase changed
}

echo "+cpu" >cgroup.subtree_control
mkdir -p c
echo +cpu >c/cgroup.subtree_control
case ${1:-} in
limits)
	mkdir -p a c/x
	limit a 20
	limit c 45
	limit c/x 10
	cgroup a 100 2
	cgroup b 100 1
	cgroup c 100 0
	cgroup c/x 100 1
	cgroup c/y 100 1
	without_limit_of_a
	;;
limits-on-four)
	mkdir -p a c/x
	limit a 150
	limit c 80
	limit c/x 30
	cgroup a 400 4
	cgroup b 100 4
	cgroup c 400 0
	cgroup c/x 100 2
	cgroup c/y 100 2
	without_limit_of_a
	;;
*)
	cgroup a 100 3
	cgroup b 200 1
	cgroup c 300 0
	cgroup c/x 100 2
	cgroup c/y 200 1
	phase all
	echo 1 >b/cgroup.kill
	echo 400 >a/cpu.weight
	phase changed
	;;
esac
for group in a b c/x c/y; do
	echo 1 >$group/cgroup.kill
done
