/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>

#include "cgroups.h"
#include "class.h"
#include "bucket.h"
#include "cpu.h"
#include "events.h"
#include "host_model.h"
#include "task.h"

struct model_cgroup {
	struct cgroup *cgroup;
	u32 parent, weight, children;
	struct bucket bucket;
};

/* The kernel's: a cgroup's controllers, and in that of CPUs its limit */
static struct task_group *group_of_tasks(const struct cgroup *c)
{
	return (struct task_group *)c->subsys[CPU_CONTROLLER];
}

static struct model_cgroup cgroups[MAX_MODEL_CGROUPS];
static u32 oldest_first[MAX_MODEL_CGROUPS], ncgroups; /* without the root */

/* The kernel's cgroup_mutex */
static struct lock mutex;
static bool are_known; /* to the scheduler */

static struct cgroup *new_cgroup(u32 number, struct cgroup *parent)
{
	u32 level = parent ? (u32)parent->level + 1 : 0;
	struct cgroup *c = calloc(1, sizeof(*c) + (level + 1) * sizeof(struct cgroup *));
	struct kernfs_node *kn = calloc(1, sizeof(*kn));
	struct task_group *group = calloc(1, sizeof(*group));

	if (!c || !kn || !group) {
		perror("no memory for a cgroup");
		exit(1);
	}
	kn->id = 1 + number;
	group->cfs_bandwidth.quota = NO_QUOTA;
	group->cfs_bandwidth.period = 100000000;
	c->subsys[CPU_CONTROLLER] = &group->css;
	c->kn = kn;
	c->level = (int)level;
	c->self.cgroup = c;
	c->self.parent = parent ? &parent->self : NULL;
	for (u32 i = 0; i < level; i++)
		c->ancestors[i] = parent->ancestors[i];
	c->ancestors[level] = c;
	return c;
}

struct cgroup *root_cgroup(void)
{
	if (!cgroups[0].cgroup)
		cgroups[0].cgroup = new_cgroup(0, NULL);
	return cgroups[0].cgroup;
}

struct cgroup *find_cgroup(u32 number)
{
	return number ? cgroups[number % MAX_MODEL_CGROUPS].cgroup : root_cgroup();
}

static void init_cgroup(struct model_cgroup *c)
{
	struct scx_cgroup_init_args args = { .weight = c->weight };

	enter_op();
	if (host_ops.cgroup_init(c->cgroup, &args))
		scx_error("cgroup_init failed");
	leave_op();
}

void make_cgroup(u32 number, u32 parent, u32 weight)
{
	struct model_cgroup *c = &cgroups[number % MAX_MODEL_CGROUPS];

	spin_lock(&mutex);
	if (!find_cgroup(number) && find_cgroup(parent)) {
		*c = (struct model_cgroup){ new_cgroup(number, find_cgroup(parent)), parent, weight, 0, { 0 } };
		cgroups[parent].children++;
		oldest_first[ncgroups++] = number;
		if (are_known)
			init_cgroup(c);
	}
	spin_unlock(&mutex);
}

void set_cgroup_weight(u32 number, u32 weight)
{
	struct model_cgroup *c = &cgroups[number % MAX_MODEL_CGROUPS];

	spin_lock(&mutex);
	if (number && c->cgroup) {
		c->weight = weight;
		if (are_known)
			OP(cgroup_set_weight, c->cgroup, weight);
	}
	spin_unlock(&mutex);
}

void set_cgroup_limit(u32 number, u64 quota, u64 period, u64 burst)
{
	struct model_cgroup *c = &cgroups[number % MAX_MODEL_CGROUPS];
	struct cfs_bandwidth *b;

	spin_lock(&mutex);
	if (number && c->cgroup) {
		b = &group_of_tasks(c->cgroup)->cfs_bandwidth;
		*b = (struct cfs_bandwidth){ (s64)period, quota ? quota : NO_QUOTA, burst };
		change_bucket(&c->bucket, quota, period, burst);
		if (are_known && MODEL_NEWER)
			OP(cgroup_set_bandwidth, c->cgroup, period / 1000, quota / 1000, burst / 1000);
	}
	spin_unlock(&mutex);
}

static struct bucket *bucket_of(const struct cgroup *c)
{
	return &cgroups[(c->kn->id - 1) % MAX_MODEL_CGROUPS].bucket;
}

u32 weight_of_cgroup(const struct cgroup *c)
{
	return cgroups[(c->kn->id - 1) % MAX_MODEL_CGROUPS].weight;
}

void count_service(const struct model_task *p, u64 ran)
{
	if (!p->cgroup || !model.is_loaded || model.is_bypassed || !host_knows(&p->t))
		return;
	for (int level = p->cgroup->level; level > 0; level--)
		fill_bucket(bucket_of(p->cgroup->ancestors[level]), ran);
}

bool is_limited(const struct cgroup *c)
{
	for (int level = c->level; level > 0; level--)
		if (is_bucket_limited(bucket_of(c->ancestors[level])))
			return true;
	return false;
}

void check_limits(void)
{
	for (u32 i = 0; i < ncgroups; i++) {
		struct model_cgroup *c = &cgroups[oldest_first[i]];

		if (c->cgroup->level <= LIMITED_LEVELS)
			check_bucket(&c->bucket, oldest_first[i]);
	}
}

/* The loader asks the kernel for limits each second. */
static void follow_limits(struct cpu *cpu, void *unused)
{
	if (!model.is_loaded)
		return;
	host_follow_limits();
	at(model.now + FOLLOWS_NS, cpu->number, follow_limits, NULL, 0);
}

static bool has_tasks(const struct cgroup *c)
{
	for (u32 i = 0; i < model.ntasks; i++)
		if (tasks[i].exists && !tasks[i].dead && tasks[i].cgroup == c)
			return true;
	return false;
}

static void forget_number(u32 number)
{
	u32 i = 0;

	while (oldest_first[i] != number)
		i++;
	for (ncgroups--; i < ncgroups; i++)
		oldest_first[i] = oldest_first[i + 1];
}

/* The memory is kept: tasks that have ended still point there. */
void remove_cgroup(u32 number)
{
	struct model_cgroup *c = &cgroups[number % MAX_MODEL_CGROUPS];

	spin_lock(&mutex);
	if (number && c->cgroup && !c->children && !has_tasks(c->cgroup)) {
		struct cgroup *was = c->cgroup;

		cgroups[c->parent].children--;
		c->cgroup = NULL;
		forget_number(number);
		if (are_known)
			OP(cgroup_exit, was);
	}
	spin_unlock(&mutex);
}

void move_to_cgroup(struct model_task *p, u32 number)
{
	spin_lock(&mutex);
	if (find_cgroup(number))
		set_cgroup(p, find_cgroup(number), are_known);
	spin_unlock(&mutex);
}

void begin_cgroups(void)
{
	spin_lock(&mutex);
	for (u32 i = 0; i < ncgroups; i++)
		init_cgroup(&cgroups[oldest_first[i]]);
	are_known = true;
	at(model.now + FOLLOWS_NS, this_cpu->number, follow_limits, NULL, 0);
}

void began_cgroups(void)
{
	spin_unlock(&mutex);
}

void end_cgroups(void)
{
	spin_lock(&mutex);
	are_known = false;
	for (u32 i = ncgroups; i--;)
		OP(cgroup_exit, cgroups[oldest_first[i]].cgroup);
	spin_unlock(&mutex);
}
