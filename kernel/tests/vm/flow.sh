#!/bin/sh
# A compile and a compressor, three times each beside a loop, under rr and then under rr+flow. By their paths: the shell
# would run them itself, without an exec.
cd /tmp || exit 1
seq 1 200000 >numbers
i=0
while [ $i -lt 120 ]; do
	i=$((i + 1))
	echo "int f$i(int x) { int y = x; while (y > $i) y -= x * $i; return y; }"
done >many.c
cat /bin/cc1 /bin/gzip >/dev/null # in memory, so that no run waits for the files

cat >work.sh <<'END'
now() { # hundredths of a second
	read -r up rest </proc/uptime
	echo "${up%.*}${up#*.}"
}

timed() { # NAME COMMAND..: its elapsed time
	name=$1
	shift
	from=$(now)
	"$@" || exit 1
	echo "$policy $name $(($(now) - from))"
}
policy=$1
sh -c 'while :; do :; done' &
loop=$!
for run in 1 2 3; do
	timed cc1 /bin/cc1 -quiet -fpreprocessed -O1 many.c -o many.s
	cp numbers copy
	timed gzip /bin/gzip -f copy
done
kill $loop
END
echo '== times'
divvy load rr -q --exec sh work.sh rr >out || exit 1
grep '^rr' out
divvy load rr+flow -q --db flow.redb --log log --exec sh work.sh rr+flow >out || exit 1
grep '^rr' out
echo '== verify'
if divvy verify log >said; then echo ok; else cat said; fi
echo '== export'
divvy flow export --db flow.redb
