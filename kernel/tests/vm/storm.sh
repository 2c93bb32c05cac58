#!/bin/bash
# storm.sh SECONDS: forks, exits, sleeps, switches, and changes of affinity, class and nice values, all at once.
cd /tmp || exit 1
for tool in stress-ng perf pgrep shuf taskset renice; do
	command -v $tool >/dev/null || { echo "storm: no $tool" >&2; exit 1; }
done
end=$((SECONDS + $1))
stress-ng --quiet --fork 2 --switch 2 --affinity 2 --schedpolicy 1 --yield 2 --cpu 2 --nanosleep 1 --pthread 1 \
	--timeout "$1" &
while [ $SECONDS -lt $end ]; do
	perf bench sched messaging -g 2 -l 100 >/dev/null 2>&1
done &
while [ $SECONDS -lt $end ]; do
	for pid in $(pgrep stress-ng | shuf -n 3); do
		renice -n $((RANDOM % 20)) -p "$pid"
		taskset -p $((RANDOM % 3 + 1)) "$pid"
	done >/dev/null 2>&1
	sleep 0.05
done &
wait
