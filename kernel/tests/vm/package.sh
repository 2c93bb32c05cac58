#!/bin/sh
# A package, as somebody uses it: installed, enabled, through a reboot and an upgrade, disabled, removed, purged. It changes this machine:
# only for the virtual one.
#   package.sh DEB NEWER_DEB
# shellcheck source=kernel/tests/vm/booted.sh
. "$(dirname "$0")/booted.sh"
# A trigger makes an index of all man pages, which takes minutes in emulation.
dpkg() { inside dpkg --no-triggers --force-unsafe-io "$@"; }
state() { cat /sys/kernel/sched_ext/state /sys/kernel/sched_ext/root/ops 2>/dev/null; }
remaining() { while read -r path; do [ ! -f "$path" ] || echo "$path"; done </root/files; }
# CPU times of processes, in ticks, in a line
ticks() { for process; do cut -d' ' -f14 "/proc/$process/stat"; done | tr '\n' ' '; }

echo '== boot'
boot
echo $?
echo '== install'
dpkg -i "$1" >/root/said 2>&1
echo $?
cat /root/said >&2
command dpkg -L divvy | while read -r path; do [ ! -f "$path" ] || echo "$path"; done >/root/files
echo '== files'
cat /root/files
echo '== changed'
command dpkg -V divvy
echo '== state'
state
echo '== version'
/usr/bin/divvy --version
echo '== sim'
/usr/bin/divvy sim /usr/share/doc/divvy/examples/mix.toml -p rr,sfq --duration 1s --format csv 2>/dev/null | grep -c sfq

echo '== refused at first'
inside divvy enable sfq --group nosuch 2>/root/said
echo $?
tail -n 4 /root/said | grep -c 'settings and unit are as before'
inside systemctl is-enabled divvy
command dpkg -V divvy
state
# rr loads at once, also in emulation.
echo '== enable'
inside divvy enable rr
state
echo '== refused'
inside divvy enable sfq --group nosuch 2>/root/said
echo $?
echo '== reason'
cat /root/said
echo '== after refusal'
state

echo '== other policy'
inside divvy enable fair-users
state
# One user with a thread, another with seven.
for user in 1001 1002 1002 1002 1002 1002 1002 1002; do
	setpriv --reuid $user --clear-groups sh -c 'while :; do :; done' &
	hogs="$hogs $!"
done
sleep 1
# shellcheck disable=SC2086 # numbers
{
	before=$(ticks $hogs)
	sleep 4
	after=$(ticks $hogs)
	kill $hogs
}
echo '== ticks before and after'
echo "$before"
echo "$after"

echo '== rr again'
inside divvy enable rr --quantum 2ms
echo '== down'
shut_down
state
echo '== reboot'
boot
inside systemctl is-active divvy
state

# Settings that somebody changed outlive an upgrade.
main=$(inside systemctl show --property=MainPID --value divvy)
echo '== upgrade'
dpkg -i "$2" >/root/said 2>&1
echo $?
cat /root/said >&2
echo '== new version'
dpkg-query -W -f '${Version}' divvy
echo
echo '== settings'
grep ^DIVVY_ /etc/default/divvy
echo '== another process'
[ "$main" != "$(inside systemctl show --property=MainPID --value divvy)" ] && echo yes
echo '== goes on'
state

echo '== disable'
inside divvy disable
inside systemctl is-enabled divvy
state
echo '== without a spec'
inside divvy enable
state

echo '== remove'
dpkg -r divvy >/root/said 2>&1
echo $?
cat /root/said >&2
state
echo '== left by remove'
remaining
find /etc/systemd -name 'divvy*'
mkdir -p /var/lib/divvy
echo '== purge'
dpkg -P divvy >/root/said 2>&1
echo $?
echo '== left by purge'
remaining
ls -d /var/lib/divvy 2>/dev/null
echo '== end'
