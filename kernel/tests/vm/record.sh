#!/bin/sh
# Recordings for the tests of `divvy record`, in one machine.
cd /tmp || exit 1

# perf records the same at the same time, and reads both files.
echo '== code of a recording'
divvy record -o ours -- perf sched record -a -k CLOCK_MONOTONIC -m 8M -o theirs \
	-- divvy play /recorded.toml --format json -o /tmp/report >/dev/null 2>said
echo $?
cat said >&2
fields=tid,time,event,trace
echo '== ours'
perf script -i ours --ns -F $fields 2>/dev/null
echo '== theirs'
perf script -i theirs --ns -F $fields 2>/dev/null
echo '== report'
cat report
echo '== latency'
divvy latency ours --csv
echo '== grade'
divvy latency ours

echo '== code of the command'
divvy record -q -o code -- sh -c 'exit 7'
echo $?
echo '== code of no command'
divvy record -q -o code -- /no/such/command 2>/dev/null
echo $?

# Nobody else may record.
echo '== permission'
/test/setpriv --reuid=65534 --clear-groups divvy record --for 1s -o /tmp/refused 2>&1
echo $?

# Ended from outside, and killed.
for signal in TERM INT KILL; do
	divvy record -q -o ended-$signal &
	sleep 1
	kill -$signal $!
	wait $! 2>/dev/null
	code=$?
	echo "== code after $signal"
	echo $code
	echo "== ended by $signal"
	divvy latency ended-$signal 2>&1
done

# A buffer that is too small.
echo '== lost'
divvy record --buffer 64 -o lost -- perf bench sched pipe -l 2000 2>&1 >/dev/null | grep '^lost'
echo '== lost by perf'
perf script -i lost --show-lost-events 2>/dev/null | grep -c .
perf script -i lost --show-lost-events 2>/dev/null | awk '/PERF_RECORD_LOST/ { n += $NF } END { print n }'
echo '== lost by divvy'
divvy latency lost 2>&1

# Names, a cgroup that is made meanwhile, and a stream.
cat >work.sh <<'END'
mkdir /sys/fs/cgroup/hidden-group
sh -c 'echo $$ >/sys/fs/cgroup/hidden-group/cgroup.procs; echo topsecret >/proc/self/comm; echo secretive >/proc/$$/comm; sleep 0.1'
rmdir /sys/fs/cgroup/hidden-group
END
divvy record -q -o plain -- sh work.sh
divvy record -q --scrub -o scrubbed -- sh work.sh
for file in plain scrubbed; do
	echo "== secrets in $file"
	grep -c -a -E 'secretive|hidden-group' $file
	echo "== groups in $file"
	divvy latency $file --per-cgroup --csv
	echo "== size of $file"
	divvy latency $file --csv | wc -l
done
echo '== stream'
divvy record -q -o - --for 500ms | divvy latency - --csv | head -n 3
