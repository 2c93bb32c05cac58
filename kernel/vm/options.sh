# shellcheck shell=sh
# options.sh is sourced by kernel/vm/run and kernel/vm/boot: their own options, QEMU's, and the kernel's.

usage_error() {
	echo "vm: $1; kernel/vm/$(basename "$0") --help says how" >&2
	exit 2
}

number() { # OPTION VALUE LEAST MOST
	case $2 in
	'' | *[!0-9]* | ??????*) ;;
	*) [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] && return ;;
	esac
	usage_error "$1 takes a number from $3 to $4, not '$2'"
}

# A comma ends a value in QEMU's options, two are one.
qemu_value() { printf '%s\n' "$1" | sed 's/,/,,/g'; }

# A busy host makes emulated timers late: at boot that is no reason to panic, later none to distrust the clock.
kernel_options_of() { # MACHINE
	case $1 in *tcg*) echo "no_timer_check tsc=reliable" ;; esac
}
