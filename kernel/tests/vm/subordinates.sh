#!/bin/sh
# subordinates.sh: programs that always run, three of users that are subordinate to user 1001 and one of user 1002, and what CPU
# time each of the two received, in us. Each one's are in a cgroup, which counts and divides nothing.
set -e

cd /sys/fs/cgroup
for user in 100001 100002 100003 1002; do
	echo "u$user:x:$user:$user::/:/bin/sh" >>/etc/passwd
done
mkdir 1001 1002

hog() { # CGROUP USER
	sh -c 'echo $$ >"$1/cgroup.procs"; exec su -s /bin/sh "u$2" -c "while :; do :; done"' hog "$1" "$2" &
}

used() { # WHEN
	for user in 1001 1002; do
		while read -r key value; do
			[ "$key" = usage_usec ] && echo "all $1 $user $value"
		done <$user/cpu.stat
	done
	true
}

for user in 100001 100002 100003; do
	hog 1001 $user
done
hog 1002 1002
sleep 0.5
used from
sleep 1.5
used to
for user in 1001 1002; do
	echo 1 >$user/cgroup.kill
done
