#!/bin/sh
# real_time_in_a_limit.sh: a program that always runs, in a cgroup that may have half a CPU. It is real-time for a second. After that, and a pause, the CPU time that the
# cgroup received in 1.5 s, in us.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
cd /sys/fs/cgroup
echo "+cpu" >cgroup.subtree_control
mkdir -p box
echo "10000 20000" >box/cpu.max
sh -c 'echo $$ >box/cgroup.procs; while :; do :; done' hog &
sleep 0.5
chrt -f -p 1 $! >/dev/null
sleep 1
chrt -o -p 0 $! >/dev/null
measure after 0.2 1.5 box
echo 1 >box/cgroup.kill
