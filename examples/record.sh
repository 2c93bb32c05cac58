#!/bin/sh
# Records compile-beside-interactive.perf.data anew: record.sh DIRECTORY. Needs root, perf, gcc and make.
# Records the whole machine: scrub the result before you show it (trace/examples/scrub.rs).
set -eu
mkdir -p "$1/src"
cd "$1"

# 40 C files of 6 to 23 functions each.
awk 'BEGIN {
	for (i = 0; i < 40; i++) {
		file = sprintf("src/unit%02d.c", i)
		print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>" > file
		n = 6 + (i * 7) % 18
		sum = ""
		for (k = 0; k < n; k++) {
			printf "static unsigned mix%d(unsigned *v, unsigned n) {\n\tunsigned h = %du;\n", k, i * 31 + k > file
			printf "\tfor (unsigned j = 0; j < n; j++) {\n\t\th ^= v[j] + 0x9e3779b9u + (h << 6) + (h >> 2);\n" > file
			printf "\t\tif (h %% %du == 0) v[j] = h * %du; else v[n - 1 - j] += h >> %d;\n\t}\n", 3 + k, k + 7, 1 + k % 5 > file
			printf "\tswitch (h %% 5u) { case 0: return h + %du; case 1: return h * 3u; case 2: return ~h; default: return h ^ %du; }\n}\n", k, i > file
			sum = sum " + mix" k "(v, n)"
		}
		printf "unsigned unit%d(unsigned *v, unsigned n) { return 0%s; }\n", i, sum > file
		close(file)
	}
}'

cat > Makefile <<'END'
all: $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))
src/%.o: src/%.c
	@gcc -O2 -pipe -c $< -o $@
END

# Wakes each 10 ms and works for about 1 ms of CPU time, as a player or an editor does.
cat > interactive.c <<'END'
#include <stdlib.h>
#include <time.h>

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile unsigned sink;

static void work(long n) {
	for (long i = 0; i < n; i++) sink = sink * 1664525u + 1013904223u;
}

int main(int argc, char **argv) {
	long long start = now(), best = 1LL << 60;
	for (int i = 0; i < 20; i++) { /* the fastest of 20 is undisturbed */
		long long before = now();
		work(100000);
		if (now() - before < best) best = now() - before;
	}
	long per_ms = 100000LL * 1000000 / best;
	long long end = start + (argc > 1 ? atoll(argv[1]) : 3000) * 1000000LL, next = now();
	while (next < end) {
		work(per_ms);
		next += 10000000;
		struct timespec t = {next / 1000000000, next % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
	}
	return 0;
}
END
gcc -O2 interactive.c -o interactive

cat > compile-beside-interactive.sh <<'END'
#!/bin/sh
./interactive 3000 & make -s -j4; wait
END
chmod +x compile-beside-interactive.sh

perf sched record -o perf.data -k CLOCK_MONOTONIC -m 8M -a -e task:task_rename -e sched:sched_process_exit \
	-- ./compile-beside-interactive.sh
