# SPDX-License-Identifier: MIT OR Apache-2.0
# Prints the tables of kernel/bench/cost from the lines of kernel/bench/guest. tasks: the numbers of tasks.

$2 == "programs" {
	key = $1 " " $3 " " $4
	if (!($4 in known)) {
		known[$4] = ++nprograms
		program[nprograms] = $4
	}
	runs[key] = $5
	cost[key] = $6
	in_programs[$1 " " $3] += $6
	next
}
{
	if (!($1 in seen)) {
		seen[$1] = 1
		policy[++npolicies] = $1
	}
	per[$1 " " $2] = $3 / $4
	operations[$1 " " $2] = $4
}

function ratio(p, what) {
	return sprintf("%.2f", per[p " " what] / per["eevdf " what])
}

function breakdown(p, what, title,    n, i, key, sum) {
	printf "\n%s, %s\n  %-20s %10s %14s %14s\n", p, title, "program", "runs/op", "instr/run", "instr/op"
	n = operations[p " " what]
	for (i = 1; i <= nprograms; i++) {
		key = p " " what " " program[i]
		if (!(key in runs) || runs[key] < n / 100)
			continue
		printf "  %-20s %10.2f %14.0f %14.0f\n", program[i], runs[key] / n, cost[key] / runs[key], cost[key] / n
	}
	printf "  %-20s %10s %14s %14.0f\n", "together", "", "", in_programs[p " " what] / n
}

END {
	print "Whole path, instructions an operation, and how many times EEVDF's"
	printf "  %-20s %10s %8s %12s %8s\n", "policy", "pipe", "", "hackbench", ""
	for (i = 1; i <= npolicies; i++) {
		p = policy[i]
		printf "  %-20s %10.0f %8s %12.0f %8s\n", p, per[p " pipe"], ratio(p, "pipe"), per[p " hackbench"], ratio(p, "hackbench")
	}

	n = split(tasks, count, " ")
	print "\nA decision at so many runnable tasks: whole path / in BPF programs, instructions"
	printf "  %-20s", "policy"
	for (j = 1; j <= n; j++)
		printf " %14s", count[j]
	print ""
	for (i = 1; i <= npolicies; i++) {
		p = policy[i]
		printf "  %-20s", p
		for (j = 1; j <= n; j++) {
			what = "yield-" count[j]
			cell = sprintf("%.0f", per[p " " what])
			if (p != "eevdf")
				cell = cell sprintf(" / %.0f", in_programs[p " " what] / operations[p " " what])
			printf " %14s", cell
		}
		print ""
	}

	for (i = 1; i <= npolicies; i++) {
		if (policy[i] == "eevdf")
			continue
		breakdown(policy[i], "pipe", "pipe")
		breakdown(policy[i], "yield-" count[n], "a decision at " count[n] " tasks")
	}
}
