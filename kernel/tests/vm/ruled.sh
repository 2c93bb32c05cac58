#!/bin/sh
# ruled.sh FILE [before]: programs that always run, each in a cgroup that counts its CPU time and divides nothing. All but `plain`
# execute what the rule in FILE is about. With `before`, which is for the time before loading, it starts two of them: `early`, and
# `late`, which finds no id in a pool of 64 until many sleepers have ended. Without, it starts the others: `own`, whose weight a
# command sets, and `reniced`. Then `own` is reniced, too, and then the rule goes. Prints for each phase what CPU time each
# received, in us.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
file=$1
cd /sys/fs/cgroup

hog() { # CGROUP SHELL
	mkdir "$1"
	sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2" -c "while :; do :; done"' hog "$1" "$2" &
}

phase() { # NAME
	measure "$1" 2.2 1.5 early late own reniced plain
}

if [ "${2:-}" = before ]; then
	mkdir /tmp/ruled && cp /bin/busybox /tmp/ruled/sh
	printf '[executable]\n"/tmp/ruled/sh" = 3072\n' >"$file"
	hog early /tmp/ruled/sh
	for _ in $(seq 100); do sleep 1000 & done
	hog late /tmp/ruled/sh
	echo $! >/tmp/late
	exit
fi

echo "late $(divvy set "$(cat /tmp/late)" weight 2>&1)"
killall sleep
hog own /tmp/ruled/sh
own=$!
hog reniced /tmp/ruled/sh
renice -n 5 -p $! >/dev/null
hog plain sh
divvy set $own weight=512 >/dev/null
phase first
renice -n 5 -p $own >/dev/null
phase second
rm "$file"
phase gone
for cgroup in early late own reniced plain; do
	echo 1 >$cgroup/cgroup.kill
done
