#!/bin/sh
# A compressor, and a program that reads, computes and writes, five times each beside a loop, under rr and under rr+flow.
# Prints the processing times of the last three together, in ms.
cd /tmp || exit 1

cat >/tmp/work.sh <<'END'
now_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
sh -c 'while :; do :; done' &
loop=$!
for name in gzip awk; do
	total=0
	for run in 1 2 3 4 5; do
		seq 1 40000 >/tmp/numbers
		start=$(now_ms)
		case $name in
		gzip) gzip -f /tmp/numbers ;;
		awk) awk '{ s += $1 * $1 } END { print s }' /tmp/numbers >/dev/null ;;
		esac
		end=$(now_ms)
		[ $run -gt 2 ] && total=$((total + end - start))
	done
	echo "== $1 $name"
	echo $total
done >/tmp/times
kill $loop
END
divvy load rr -q --exec sh /tmp/work.sh rr >/dev/null || exit 1
cat /tmp/times
divvy load rr+flow -q --db /tmp/flow.redb --log /tmp/log --exec sh /tmp/work.sh rr+flow >/dev/null || exit 1
cat /tmp/times
echo '== verify'
divvy verify /tmp/log >/tmp/said && echo ok || cat /tmp/said
echo '== export'
divvy flow export --db /tmp/flow.redb
