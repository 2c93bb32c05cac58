/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Weights of tasks on several shards, computed anew from what the model knows: a task's rate in the hierarchical fluid, by filling members
 * of each group until nobody has more CPUs than threads (groups R1, R2). It shares no code with the modifiers. Without groups all
 * tasks are members of the root.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroups.h"
#include "host_model.h"
#include "weights.h"

/* Weights are rounded, at each level: relative, and in units of the machine. */
#define TOLERANCE 1e-3
#define UNITS 2

#define MAX_NODES 512
#define NICE_0 (1 << 20)

struct node {
	const void *key;
	u32 parent;
	double weight;
	u32 threads; /* runnable, at any depth */
};

/* A member of a group: a task, or a group in it */
struct member {
	double weight;
	u32 threads;
	double *part;
	bool is_full;
};

static struct node nodes[MAX_NODES];
static double budgets[MAX_NODES];
static u32 nnodes;

struct weighed {
	const struct model_task *p;
	u64 has;
	double wanted, rate;
	u32 node;
};

static struct weighed weighed[MAX_MODEL_TASKS];
static u32 nweighed;

static u32 node_for(const void *key, u32 parent, double weight)
{
	for (u32 i = 1; i < nnodes; i++)
		if (nodes[i].key == key)
			return i;
	if (nnodes == MAX_NODES) {
		fprintf(stderr, "too many groups to compute weights\n");
		exit(1);
	}
	nodes[nnodes] = (struct node){ key, parent, weight, 0 };
	return nnodes++;
}

/* Cgroups that have no number in the host are as their parents. */
static u32 node_of_cgroup(const struct cgroup *c)
{
	u32 node = 0;

	for (int level = 1; level <= c->level; level++)
		if (host_has_group(c->ancestors[level]->kn->id))
			node = node_for(c->ancestors[level], node,
					(double)weight_of_cgroup(c->ancestors[level]) * NICE_0 / 100);
	return node;
}

static u32 node_of(const struct model_task *p)
{
	switch (host_grouping()) {
	case BY_CGROUP: return node_of_cgroup(p->cgroup);
	case BY_USER: return node_for((void *)(1 + (uintptr_t)host_owner(&p->t)), 0, NICE_0);
	default: return 0;
	}
}

/* A thread's weight after procfair and tfps */
static double wanted(const struct model_task *p, u32 ncpus)
{
	double weight = (double)host_nominal(&p->t), threads = 0, counted;

	for (u32 i = 0; i < nweighed; i++)
		threads += host_process(&weighed[i].p->t) == host_process(&p->t);
	counted = host_has_modifier(MODEL_TFPS)       ? fmax(threads / ncpus, 1)
		  : host_has_modifier(MODEL_PROCFAIR) ? threads
						      : 1;
	return fmax(floor(weight / counted), 1);
}

/* Fills members until nobody who is not full would get more CPUs than it has threads. */
static void fill(struct member *members, u32 n, double budget, u32 ncpus)
{
	bool again = true;
	double total;

	while (again) {
		double left = budget;

		again = false;
		total = 0;
		for (u32 i = 0; i < n; i++) {
			if (members[i].is_full)
				left -= *members[i].part;
			else
				total += members[i].weight;
		}
		for (u32 i = 0; i < n; i++) {
			double most = fmin(members[i].threads, ncpus);

			if (members[i].is_full)
				continue;
			*members[i].part = left * members[i].weight / total;
			if (*members[i].part > most) {
				*members[i].part = most;
				members[i].is_full = again = true;
			}
		}
	}
}

static void divide_node(u32 node, u32 ncpus)
{
	static struct member members[MAX_MODEL_TASKS + MAX_NODES];
	u32 n = 0;

	for (u32 i = 0; i < nweighed; i++)
		if (weighed[i].node == node)
			members[n++] = (struct member){ weighed[i].wanted, 1, &weighed[i].rate, false };
	for (u32 i = 1; i < nnodes; i++)
		if (nodes[i].parent == node && nodes[i].threads)
			members[n++] = (struct member){ nodes[i].weight, nodes[i].threads, &budgets[i], false };
	fill(members, n, budgets[node], ncpus);
}

/* Those that are runnable in a shard */
static void collect(void)
{
	nweighed = 0;
	nnodes = 1;
	nodes[0].threads = 0;
	for (u32 i = 0; i < model.ntasks; i++) {
		u64 has = tasks[i].exists && tasks[i].is_known ? host_weight(&tasks[i].t) : 0;

		if (!has)
			continue;
		weighed[nweighed] = (struct weighed){ .p = &tasks[i], .has = has, .node = node_of(&tasks[i]) };
		for (u32 node = weighed[nweighed].node; node; node = nodes[node].parent)
			nodes[node].threads++;
		nweighed++;
	}
}

/* Nobody readjusts a task for which a CPU is not too much. */
static bool is_bound(void)
{
	for (u32 i = 0; i < nweighed; i++)
		if ((weighed[i].p->t.cpus_ptr->bits[0] & model.online) != model.online)
			return true;
	return false;
}

static bool is_wrong(const struct weighed *w, double weights, double rates)
{
	double is = (double)w->has / weights, should = w->rate / rates;

	return fabs(is - should) > TOLERANCE * should + UNITS / weights;
}

const char *check_weights(void)
{
	u32 ncpus = (u32)__builtin_popcountll(model.online);
	bool readjusts = host_has_modifier(MODEL_FEASIBLE) && !host_has_modifier(MODEL_GROUPS);
	double weights = 0, rates = 0;

	collect();
	if (readjusts && is_bound())
		return NULL;
	/* Each has a CPU, whatever it weighs. */
	if (host_has_modifier(MODEL_FEASIBLE | MODEL_GROUPS) && nweighed <= ncpus)
		return NULL;
	for (u32 i = 0; i < nweighed; i++)
		weighed[i].wanted = wanted(weighed[i].p, ncpus);
	budgets[0] = fmin(ncpus, nweighed);
	/* A parent comes before those in it. */
	for (u32 node = 0; node < nnodes; node++)
		divide_node(node, ncpus);
	for (u32 i = 0; i < nweighed; i++) {
		if (!host_has_modifier(MODEL_FEASIBLE | MODEL_GROUPS))
			weighed[i].rate = weighed[i].wanted;
		weights += (double)weighed[i].has;
		rates += weighed[i].rate;
	}
	for (u32 i = 0; i < nweighed; i++)
		if (is_wrong(&weighed[i], weights, rates))
			return "a task has another weight in its shard than the fluid says";
	return NULL;
}
