#!/bin/sh
# A compressor, and a program that reads, computes and writes, five times each beside a loop. By their paths: the shell
# would run them itself, without an exec.
cd /tmp || exit 1

cat >/tmp/work.sh <<'END'
sh -c 'while :; do :; done' &
loop=$!
for run in 1 2 3 4 5; do
	seq 1 40000 >/tmp/numbers
	/bin/awk '{ s += $1 * $1 } END { print s }' /tmp/numbers >/dev/null
	/bin/gzip -f /tmp/numbers
done
kill $loop
END
divvy load rr+flow -q --db /tmp/flow.redb --log /tmp/log --exec sh /tmp/work.sh >/dev/null || exit 1
echo '== verify'
divvy verify /tmp/log >/tmp/said && echo ok || cat /tmp/said
echo '== export'
divvy flow export --db /tmp/flow.redb
