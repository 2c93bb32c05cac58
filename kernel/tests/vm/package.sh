#!/bin/sh
# A package, by dpkg: installed, used, upgraded, removed, purged. It changes this machine: only for the virtual one.
#   package.sh DEB NEWER_DEB
# A trigger makes an index of all man pages, which takes minutes in emulation.
dpkg() { command dpkg --no-triggers --force-unsafe-io "$@"; }
state() { cat /sys/kernel/sched_ext/state; }
remaining() { while read -r path; do [ ! -f "$path" ] || echo "$path"; done </tmp/files; }

echo '== install'
dpkg -i "$1" >/tmp/said 2>&1
echo $?
cat /tmp/said >&2
command dpkg -L divvy | while read -r path; do [ ! -f "$path" ] || echo "$path"; done >/tmp/files
echo '== files'
cat /tmp/files
echo '== changed'
command dpkg -V divvy
echo '== state'
state
echo '== version'
/usr/bin/divvy --version
echo '== sim'
/usr/bin/divvy sim /usr/share/doc/divvy/examples/mix.toml -p rr,sfq --duration 1s --format csv 2>/dev/null | grep -c sfq
echo '== load'
/usr/bin/divvy load sfq --quiet --exec cat /sys/kernel/sched_ext/state >/tmp/said 2>/dev/null
echo $?
head -n 1 /tmp/said

# Settings that somebody changed outlive an upgrade.
echo 'DIVVY_SPEC=sfq' >/etc/default/divvy
echo '== upgrade'
dpkg -i "$2" >/tmp/said 2>&1
echo $?
cat /tmp/said >&2
echo '== new version'
dpkg-query -W -f '${Version}' divvy
echo
echo '== settings'
cat /etc/default/divvy

echo '== remove'
dpkg -r divvy >/tmp/said 2>&1
echo $?
cat /tmp/said >&2
echo '== left by remove'
remaining
mkdir -p /var/lib/divvy
echo '== purge'
dpkg -P divvy >/tmp/said 2>&1
echo $?
echo '== left by purge'
remaining
ls -d /var/lib/divvy 2>/dev/null
echo '== end'
