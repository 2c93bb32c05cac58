# shellcheck shell=dash
# A systemd beside the one program of the virtual machine: process 1 of a namespace, with a control group of its own and this machine's
# files, as in a container. To be read by a script. boot starts it, and returns when the boot is over; inside runs a command there;
# shut_down ends it, as before a reboot.

[ -x /run/vm/busybox ] || {
	echo "this changes the machine, so it is only for the virtual one" >&2
	exit 2
}

# Only what a boot needs: the others want a screen, disks, or much time in emulation.
rm -f /etc/systemd/system/*.wants/*
for unit in dbus.service dbus.socket getty.target getty-static.service remote-fs.target systemd-binfmt.service systemd-firstboot.service \
	systemd-journal-flush.service systemd-logind.service systemd-machine-id-commit.service systemd-pcrphase.service \
	systemd-pcrphase-sysinit.service systemd-random-seed.service systemd-sysusers.service systemd-tmpfiles-setup-dev.service \
	systemd-udevd.service systemd-update-utmp.service timers.target; do
	ln -sf /dev/null "/etc/systemd/system/$unit"
done
mkdir -p /sys/fs/cgroup/booted

boot() {
	# shellcheck disable=SC2016 # the inner shell's own number
	sh -c 'echo $$ >/sys/fs/cgroup/booted/cgroup.procs
		exec unshare --pid --mount --cgroup --fork --mount-proc env container=divvy /lib/systemd/systemd --show-status=no' \
		>/run/boot.log 2>&1 &
	outer=$!
	for _ in $(seq 120); do
		sleep 0.5
		init=$(/run/vm/busybox pidof systemd) || continue
		case $(inside systemctl is-system-running 2>/dev/null) in
		running | degraded) return 0 ;;
		esac
	done
	echo "systemd did not boot:" >&2
	cat /run/boot.log >&2
	return 1
}

inside() { nsenter -t "$init" -p -m -C "$@"; }

shut_down() {
	inside systemctl poweroff --no-wall 2>/dev/null
	wait "$outer"
}
