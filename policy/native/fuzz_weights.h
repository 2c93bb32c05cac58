/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fuzzer's own account of what each task weighs: shared among threads and groups, and readjusted. */
#ifndef DIVVY_FUZZ_WEIGHTS_H
#define DIVVY_FUZZ_WEIGHTS_H

#include "fuzz_model.h"

/* Whether both are counted as one's threads. */
static bool model_is_mate(const struct model_task *a, const struct model_task *b)
{
	if (!model.by_group || !a->group)
		return a->process == b->process && (!model.by_group || !b->group);
	return a->group == b->group;
}

static u64 model_wanted(const struct model_task *t)
{
	u64 threads = 0, some;

	if (!(model.modifiers & (PROCFAIR | TFPS)))
		return t->nominal;
	for (u32 id = 1; id < POOL; id++)
		if (model_is_mate(t, &model.task[id]) &&
		    (model.count_all ? model.task[id].known : model.task[id].member))
			threads++;
	some = model.modifiers & TFPS && threads > model.ncpus ? t->nominal * model.ncpus / threads : t->nominal;
	if (!(model.modifiers & TFPS))
		some /= threads;
	return some ? some : 1;
}

static int model_heavier(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x < y) - (x > y);
}

/* SFS, Figure 2, on a sorted list: the weight that no task may exceed */
static u64 model_cap(u64 *w, u32 n)
{
	u64 sum = 0;
	u32 taken = 0;

	if (!n)
		return 0;
	qsort(w, n, sizeof(*w), model_heavier);
	if (n <= model.ncpus)
		return model.as_asked ? ~0ull : w[n - 1];
	for (u32 i = 0; i < n; i++)
		sum += w[i];
	while (w[taken] * (model.ncpus - taken) > sum)
		sum -= w[taken++];
	return taken ? sum / (model.ncpus - taken) : w[0];
}

/* ---- the hierarchical fluid, by the definition ---- */

static u32 model_members_below(u32 group)
{
	u32 n = 0;

	for (u32 id = 1; id < POOL; id++) {
		u32 at = model.task[id].group;

		while (at != group && at)
			at = model.group[at].parent;
		n += model.task[id].member && at == group;
	}
	return n;
}

/* A member of a group that is divided */
struct model_member {
	u32 task, group;
	u64 weight;
	u32 most; /* CPUs */
	bool full;
};

static u32 model_members(u32 group, struct model_member *to)
{
	u32 n = 0;

	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].member && model.task[id].group == group)
			to[n++] =
				(struct model_member){ .task = id, .weight = model_wanted(&model.task[id]), .most = 1 };
	for (u32 id = 1; id < POOL; id++)
		if (model.group[id].weight && model.group[id].parent == group && model_members_below(id))
			to[n++] = (struct model_member){ .group = id,
							 .weight = model.group[id].weight,
							 .most = model_members_below(id) };
	return n;
}

/* CPUs for each unit of weight, of the members that are not full; 0 if all are. */
static long double model_level(struct model_member *m, u32 n, long double cpus)
{
	bool found = true;
	long double level = 0;

	while (found) {
		long double left = cpus, weight = 0;

		found = false;
		for (u32 i = 0; i < n; i++) {
			left -= m[i].full ? m[i].most : 0;
			weight += m[i].full ? 0 : m[i].weight;
		}
		level = weight > 0 ? left / weight : 0;
		for (u32 i = 0; i < n; i++)
			if (!m[i].full && level * m[i].weight > m[i].most)
				m[i].full = found = true;
	}
	return level;
}

/* `off` is how far the machine's budget may be from `cpus`: each division is to 2^-31, and what full members leave is off
 * by as much as all of it, which is more of what is left. Returns CPUs for each unit of weight at this level. */
static long double model_divide(u32 group, long double cpus, long double off)
{
	struct model_member m[2 * POOL];
	u32 n = model_members(group, m);
	long double level = model_level(m, n, cpus), weight = 0;

	for (u32 i = 0; i < n; i++)
		weight += m[i].full ? 0 : m[i].weight;
	for (u32 i = 0; i < n; i++) {
		long double rate = m[i].full ? m[i].most : level * m[i].weight;
		long double rate_off = m[i].full ? 0 : off * m[i].weight / weight + rate / (1u << 31);

		if (m[i].task) {
			model.task[m[i].task].rate = rate;
			model.task[m[i].task].rate_off = rate_off;
		} else {
			model_divide(m[i].group, rate, rate_off);
		}
	}
	return level;
}

/* Weight of one CPU while there is one for each thread: the most that a member of the root asks for, for each of its threads */
static long double model_greatest(void)
{
	struct model_member m[2 * POOL];
	u32 n = model_members(0, m);
	long double greatest = 0;

	for (u32 i = 0; i < n; i++) {
		long double each = (long double)m[i].weight / m[i].most;

		greatest = greatest > each ? greatest : each;
	}
	return greatest;
}

/* Tolerances: 2^-24 for ratios, and units of 1 */
static void model_check_groups(const struct task_table *f)
{
	u32 n = model_members_below(0);
	long double level = model_divide(0, n < model.ncpus ? n : model.ncpus, 0);

	if (n && n <= model.ncpus)
		level = 1.0L / model_greatest();
	for (u32 id = 1; id < POOL; id++) {
		long double w = f->task[id].weight, expected = model.task[id].rate / level, near;

		if (!model.task[id].member)
			continue;
		expected = expected < WEIGHT_MIN ? WEIGHT_MIN : expected > WEIGHT_MAX ? WEIGHT_MAX : expected;
		near = expected / (1 << 24) + model.task[id].rate_off / level + 1;
		MUST(w <= expected + near, "too great a part of its group", id);
		MUST(w >= expected - near, "too small a part of its group", id);
		MUST(f->task[id].weight == model.task[id].told, "the policy was not told of a weight", id);
	}
}

static void model_check_weights(const struct task_table *f)
{
	static u64 wanted[POOL], sorted[POOL];
	u64 cap, sum = 0, most = 0;
	u32 n = 0, pinned = 0;

	if (model.modifiers & GROUPS) {
		model_check_groups(f);
		return;
	}
	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].member)
			sorted[n++] = wanted[id] = model_wanted(&model.task[id]);
	cap = model.modifiers & FEASIBLE ? model_cap(sorted, n) : ~0ull;
	for (u32 id = 1; id < POOL; id++) {
		u64 w = f->task[id].weight;

		if (!model.task[id].member)
			continue;
		pinned += !model_is_free(&model.task[id]); /* its weight is not readjusted */
		MUST(w == (wanted[id] < cap || !model_is_free(&model.task[id]) ? wanted[id] : cap), "effective weight",
		     id);
		MUST(w == model.task[id].told, "the policy was not told of a weight", id);
		sum += w;
		most = w > most ? w : most;
	}
	MUST(!(model.modifiers & FEASIBLE) || pinned || n <= model.ncpus || most * model.ncpus <= sum,
	     "a weight is not feasible", 0);
}

#endif
