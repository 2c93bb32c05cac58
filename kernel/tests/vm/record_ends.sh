#!/bin/sh
# Ends that are not the usual ones, on two CPUs, for the tests of `divvy record`.
cd /tmp || exit 1

# Interrupts the recorder until it ends. A signal from before it looks for signals would be lost.
interrupt() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		pidof divvy >/dev/null || return
		kill -INT "$(pidof divvy)"
		sleep 1
	done
	kill -KILL "$(pidof divvy)"
}

# A signal while nobody reads: nobody has opened the pipe, or it is full.
mkfifo unread full
(
	divvy record -o unread 2>said
	echo "$? $(cat said)" >code
) &
sleep 3
interrupt
sleep 1
echo '== nobody opened'
cat code
{ sleep 60; } <full &
reader=$!
cat >full.sh <<'END'
trap '' INT
yes | head -c 40000000 >/dev/null
sleep 1
kill -INT $PPID
sleep 4
END
divvy record -o full -- sh full.sh 2>said
code=$?
echo '== full'
echo "$code $(cat said)"
kill $reader

# A file that is there stays until there is something to record.
echo precious >kept
divvy record -q -o kept -- /no/such/command 2>/dev/null
divvy record -q -o new -- /no/such/command 2>/dev/null
echo '== no command'
cat kept
ls new 2>/dev/null

# The command's code, when the reader closes.
mkfifo closed
head -c 100 <closed >/dev/null &
divvy record -q -o closed -- sh -c 'sleep 1; yes | head -c 3000000 >/dev/null; exit 7'
code=$?
echo '== code with a closed pipe'
echo $code

# Exec by a thread that is not the first of its process.
cat >exec.py <<'END'
import os, threading, time
def run():
    time.sleep(0.1)
    os.execv("/tmp/successor", ["successor", "-c", "sleep 0.1; exit 0"])
threading.Thread(target=run).start()
time.sleep(10)
END
ln -s /bin/sh successor
divvy record -q -o exec -- python3 exec.py
echo '== exec'
divvy timehist exec --csv

# A CPU that comes online later has no ring.
echo 0 >/sys/devices/system/cpu/cpu1/online
cat >late.sh <<'END'
echo 1 >/sys/devices/system/cpu/cpu1/online
taskset -c 1 sh -c 'for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done'
END
divvy record -o late -- sh late.sh 2>said
echo '== late CPU'
cat said
divvy latency late

# More cgroups at once than their buffer has room for.
cat >many.sh <<'END'
kill -STOP $PPID
mkdir $(seq -f /sys/fs/cgroup/many-%g 1500)
kill -CONT $PPID
sleep 0.5
END
divvy record -o many -- sh many.sh 2>said
echo '== many cgroups'
cat said
echo '== paths of many cgroups'
grep -a -o 'many-[0-9]*' many | sort -u | wc -l
