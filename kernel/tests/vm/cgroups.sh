#!/bin/sh
# cgroups.sh: programs that always run, in cgroups with weights, and what CPU time each cgroup received, in us.
#
#   a 100, 3 hogs    b 200, 1 hog    c 300: c/x 100, 2 hogs; c/y 200, 1 hog
#
# Then b ends, and a gets 400.
set -e
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

used() { # without a fork, as each would wait for its turn
	for group in a b c/x c/y; do
		while read -r key value; do
			[ "$key" = usage_usec ] && echo "$1 $group $value"
		done <$group/cpu.stat
	done
	true
}

measure() { # NAME
	sleep 0.5
	used "$1 from"
	sleep 1.5
	used "$1 to"
}

echo "+cpu" >cgroup.subtree_control
mkdir -p c
echo +cpu >c/cgroup.subtree_control
cgroup a 100 3
cgroup b 200 1
cgroup c 300 0
cgroup c/x 100 2
cgroup c/y 200 1
measure all
echo 1 >b/cgroup.kill
echo 400 >a/cpu.weight
measure changed
for group in a c/x c/y; do
	echo 1 >$group/cgroup.kill
done
