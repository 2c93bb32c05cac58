#!/bin/sh
# users.sh [USER..]: programs that always run, three for the cgroup 1001 and one for the cgroup 1002, and what CPU time each of the two
# received, in us. Those of 1001 run as the three users, or else as the user 1001; that of 1002 as 1002. The cgroups count and divide nothing.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
[ $# -gt 0 ] || set -- 1001 1001 1001

cd /sys/fs/cgroup
mkdir 1001 1002

hog() { # CGROUP USER
	grep -qs "^u$2:" /etc/passwd || echo "u$2:x:$2:$2::/:/bin/sh" >>/etc/passwd
	sh -c 'echo $$ >"$1/cgroup.procs"; exec su -s /bin/sh "u$2" -c "while :; do :; done"' hog "$1" "$2" &
}

for user; do
	hog 1001 "$user"
done
hog 1002 1002
measure all 0.5 1.5 1001 1002
for cgroup in 1001 1002; do
	echo 1 >$cgroup/cgroup.kill
done
