# shellcheck shell=dash
# await.sh is sourced: a wait for a policy that ends in any case. A loader that hangs once in a hundred runs is understood only if the run
# says what it did.

# Waits until COMMAND succeeds. After two minutes it says what the loader does, twice so that one that computes is seen, and ends the script.
await() { # LOADER ITS-ERRORS COMMAND..
	awaited=$1 errors=$2
	shift 2
	for _ in $(seq 1200); do
		if "$@"; then return; fi
		sleep 0.1
	done
	echo "two minutes, and not yet: $*"
	cat "$errors"
	for look in first second; do
		for thread in /proc/"$awaited"/task/*; do
			echo "$look look at $thread: $(cat "$thread/stat")"
			echo "waits in $(cat "$thread/wchan"), system call $(cat "$thread/syscall")"
			cat "$thread/stack"
		done
		sleep 1
	done
	free -m
	exit 1
}

enabled() {
	grep -q enabled /sys/kernel/sched_ext/state
}
