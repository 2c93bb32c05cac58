#!/bin/sh
# Programs that always run, seven of the user 1001 and one of 1002, and what CPU time the cgroups 1001 and 1002 received, in us. The cgroups count
# and divide nothing.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
cd /sys/fs/cgroup
mkdir -p 1001 1002
for user in 1001 1001 1001 1001 1001 1001 1001 1002; do
	sh -c 'echo $$ >"$1/cgroup.procs"; exec setpriv --reuid "$1" sh -c "while :; do :; done"' hog "$user" &
done
measure all 0.5 1.5 1001 1002
for cgroup in 1001 1002; do
	echo 1 >$cgroup/cgroup.kill
done
