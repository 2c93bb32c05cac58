#!/bin/sh
# apply.sh DIVVY DIRECTORY CPUS: processes that always run, `divvy apply process-fair` beside them, and the nice values after each step.
# It runs in a namespace of its own, in whose /proc are these processes alone.
divvy=$1 directory=$2 cpus=$3
journal=$directory/journal
hogs=

# Whatever nice value the tests were started with: those below are absolute.
renice --priority 0 --pid $$ >/dev/null || exit

hog() { # NICE SCRIPT
	nice -n "$1" sh -c "$2" &
	hogs="$hogs $!"
}

nices() {
	values=
	for pid in $hogs "$@"; do
		values="$values $(cut -d ' ' -f 19 "/proc/$pid/stat")"
	done
	echo "${values# }"
}

# Waits until all hogs have nice 5. A hog that had to wait for long may have another one in between.
until_equal() {
	for _ in $(seq 600); do
		seen=$(nices)
		[ -z "$(echo "$seen" | tr -d '5 ')" ] && return
		sleep 0.1
	done
	echo "not all hogs have had nice 5"
}

start() {
	"$divvy" apply process-fair --interval 500ms --journal "$journal" 2>"$directory/says" &
	applier=$!
	until_equal
}

# This one forks when it is told to.
hog 0 "until [ -e $directory/fork ]; do :; done; sh -c 'while :; do :; done' & echo \$! >$directory/child; while :; do :; done"
for _ in $(seq "$cpus"); do
	hog 0 'while :; do :; done'
done
hog 5 'while :; do :; done'
sleep 0.3
echo "before: $(nices)"

start
"$divvy" apply process-fair --journal "$journal"
echo "second: $?"
until_equal
echo "applied: $seen"
kill -KILL $applier
wait $applier
touch "$directory/fork"
until [ -s "$directory/child" ]; do sleep 0.1; done
child=$(cat "$directory/child")
"$divvy" apply --restore --journal "$journal"
echo "restored: $(nices "$child")"
kill "$child"

for signal in TERM INT HUP; do
	start
	kill -$signal $applier
	wait $applier
	echo "$signal: $? $(nices) $(tail -n 1 "$directory/says")"
done

start
kill -KILL $applier
wait $applier
"$divvy" apply process-fair --duration 100ms --interval 10s --journal "$journal"
echo "next: $? $(nices)"
ls "$directory"
