#!/bin/sh
# apply.sh ONE MANY SECONDS: programs that always run, ONE of the user 1001 and MANY of the user 1002, and what CPU time each user received,
# in us: under the kernel's own scheduler, with nice values of `divvy apply`, with its weights of cgroups, and under a loaded policy. The
# cgroups only count but where it says so.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
# shellcheck source=kernel/tests/vm/await.sh
. "$(dirname "$0")/await.sh"
one=$1 many=$2 seconds=$3
cd /sys/fs/cgroup
echo -cpu >cgroup.subtree_control
mkdir 1001 1002

hog() { # USER
	sh -c 'echo $$ >"$1/cgroup.procs"; exec setpriv --reuid "$1" --clear-groups sh -c "while :; do :; done"' hog "$1" &
}
for _ in $(seq "$one"); do hog 1001; done
for _ in $(seq "$many"); do hog 1002; done

phase() { # NAME
	measure "$1" 0 "$seconds" 1001 1002
}

applied() { # PHASE
	divvy apply user-fair --interval 500ms --journal /tmp/apply.journal 2>/tmp/says &
	applier=$!
	await $applier /tmp/says grep -qs 'until Ctrl-C' /tmp/says
	sleep 2
	phase "$1"
	# Fields 14 and 15: CPU time in ticks of 10 ms, since it began.
	cut -d ' ' -f 14,15 /proc/$applier/stat | while read -r user system; do echo "$1 ticks $((user + system))"; done
	kill -TERM $applier
	wait $applier
	while read -r line; do echo "$1 says $line"; done </tmp/says
}

# Commands that start from here on do not wait for their turn among them.
renice -n -20 -p $$ >/dev/null
sleep 1
phase plain
applied nice
cat 1001/cgroup.procs 1002/cgroup.procs | while read -r pid; do cut -d ' ' -f 19 "/proc/$pid/stat"; done | sort -n | uniq -c |
	while read -r count nice; do echo "nices after $nice $count"; done
echo +cpu >cgroup.subtree_control
echo 500 >1002/cpu.weight
applied cgroup
echo "weights after $(cat 1001/cpu.weight) $(cat 1002/cpu.weight)"
echo -cpu >cgroup.subtree_control
divvy load fair-users --quiet >/dev/null 2>/tmp/err &
loader=$!
await $loader /tmp/err enabled
sleep 1
phase loaded
kill -INT $loader
wait $loader
for cgroup in 1001 1002; do
	echo 1 >$cgroup/cgroup.kill
done
