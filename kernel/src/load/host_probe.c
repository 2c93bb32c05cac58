/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * host.h as C sees it, for the test of host.rs: prints the configuration from standard input field by field, and then
 * writes the structs that a scheduler fills in as bytes to four files: stats, account, exit, shard.
 */
#include <stdio.h>
#include <string.h>
#include POLICY_HEADER
#include "host.h"

#define PRINT_PARAM(name, kind, unit, dflt, min, max, help) printf(" " #name "=%lld", c.config.policy.name);
#define PRINT_MODIFIER(UPPER, lower) printf("modifier " #lower " %u\n", UPPER);
#define PRINT_MODIFIER_PARAM(name, kind, unit, dflt, min, max, help) printf(" " #name "=%lld", p->name);
#define PRINT_MODIFIER_PARAMS(UPPER, lower) \
	{ \
		typeof(c.config.lower) *p = &c.config.lower; \
		printf(#lower); \
		UPPER##_PARAMS(PRINT_MODIFIER_PARAM) printf("\n"); \
		(void)p; \
	}
#define NUMBER_STAT(name, help) \
	stats.name = ++n; \
	printf("stat " #name " %llu\n", n);
#define NUMBER_SHARD_STAT(name, help) \
	shard.name = ++n; \
	printf("shard " #name "\n");

static void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		perror(path);
}

int main(int argc, char **argv)
{
	static struct host_config c;
	static struct host_exit ended = { .kind = 1026, .code = -5 };
	struct account account = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	struct host_command command;
	struct host_rule rule;
	struct host_stats stats;
	struct shard_stats shard;
	u64 n = 0;

	if (argc != 5 || fread(&command, 1, sizeof(command), stdin) != sizeof(command) ||
	    fread(&c, 1, sizeof(c), stdin) != sizeof(c) || fread(&rule, 1, sizeof(rule), stdin) != sizeof(rule) ||
	    fgetc(stdin) != EOF)
		return 1;
	printf("command %u %u %u %llu\n", command.pid, command.owner, command.index, command.value);
	printf("pool %u fail_every %u log %u cgroups %u starvation_limit_ms %u no_sample %u tick_ns %u users %u limits %u rules %u\n",
	       c.pool, c.fail_every, c.log, c.cgroups, c.starvation_limit_ms, c.no_sample, c.tick_ns, c.users, c.limits,
	       c.rules);
	printf("cpu %u %u %u kernel_cpu %u %u %u\n", c.cpu[0], c.cpu[1], c.cpu[2], c.kernel_cpu[0], c.kernel_cpu[1],
	       c.kernel_cpu[2]);
	printf("quantum %llu ncpus %u modifiers %u\npolicy", c.config.quantum, c.config.ncpus, c.config.modifiers);
	POLICY_PARAMS(PRINT_PARAM)
	printf("\n");
	MODIFIERS(PRINT_MODIFIER_PARAMS)
	MODIFIERS(PRINT_MODIFIER)
	STATS(NUMBER_STAT)
	n = 0;
	SHARD_STATS(NUMBER_SHARD_STAT)
	printf("rule %u %u %llu %u %llu\n", rule.key.kind, rule.key.device, rule.key.number, rule.key.owner,
	       rule.weight);
	strcpy(ended.reason, "the reason");
	strcpy(ended.msg, "the message");
	memset(ended.dump, 'd', sizeof(ended.dump)); /* not terminated */
	write_file(argv[1], &stats, sizeof(stats));
	write_file(argv[2], &account, sizeof(account));
	write_file(argv[3], &ended, sizeof(ended));
	write_file(argv[4], &shard, sizeof(shard));
	return 0;
}
