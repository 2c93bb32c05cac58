#!/bin/sh
# users.sh: programs that always run, of user 1001 (three) and user 1002 (one), and what CPU time each user received, in us.
# Each user's are in a cgroup of that user, which counts and divides nothing.
set -e

cd /sys/fs/cgroup
for user in 1001 1002; do
	echo "u$user:x:$user:$user::/:/bin/sh" >>/etc/passwd
	mkdir $user
done

hogs() { # USER N
	hogs=0
	while [ $hogs -lt "$2" ]; do
		hogs=$((hogs + 1))
		sh -c 'echo $$ >"$1/cgroup.procs"; exec su -s /bin/sh "u$1" -c "while :; do :; done"' hog "$1" &
	done
}

used() { # WHEN
	for user in 1001 1002; do
		while read -r key value; do
			[ "$key" = usage_usec ] && echo "all $1 $user $value"
		done <$user/cpu.stat
	done
	true
}

hogs 1001 3
hogs 1002 1
sleep 0.5
used from
sleep 1.5
used to
for user in 1001 1002; do
	echo 1 >$user/cgroup.kill
done
