#!/bin/sh
# rules.sh FILE [CONTROLLER]: four programs that always run, each in a cgroup that counts its CPU time, and divides nothing unless a
# controller is enabled: `heavy` is a row of short runs of an executable, `low` is about its cgroup, `user` about its user, and
# `plain` has no rule. Writes FILE, and then another one, while they run, and one that is damaged. Prints for each phase what CPU
# time each received, in us.
set -e
# shellcheck source=kernel/tests/vm/measure.sh
. "$(dirname "$0")/measure.sh"
file=$1

cd /sys/fs/cgroup
[ -z "${2:-}" ] || echo "+$2" >cgroup.subtree_control
mkdir heavy low low/inner user plain
mkdir -p /tmp/heavy && cp /bin/busybox /tmp/heavy/sh && chown 1003 /tmp/heavy/sh
grep -qs '^u1002:' /etc/passwd || echo "u1002:x:1002:1002::/:/bin/sh" >>/etc/passwd

into() { # CGROUP COMMAND..
	cgroup=$1 && shift
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' into "$cgroup" "$@" &
}

phase() { # NAME
	measure "$1" 2.2 1.5 heavy low user plain
}

# A run takes some tenths of a second: the loader, which looks once a second, would come too late for most of it.
into heavy sh -c 'while :; do /tmp/heavy/sh -c "i=0; while [ \$i -lt 40000 ]; do i=\$((i + 1)); done"; done'
into low/inner sh -c 'while :; do :; done'
into user su -s /bin/sh u1002 -c 'while :; do :; done'
into plain sh -c 'while :; do :; done'
phase first

cat >"$file.new" <<'RULES'
[executable]
"/tmp/heavy/sh" = 3072
[cgroup]
low = 3072
[user]
nobody-here = 5
RULES
mv "$file.new" "$file"
phase second

echo 'low = ' >"$file"
phase damaged

rm "$file"
phase gone
for cgroup in heavy low user plain; do
	echo 1 >$cgroup/cgroup.kill
done
