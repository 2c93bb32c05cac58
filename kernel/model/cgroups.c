/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>

#include "cgroups.h"
#include "class.h"
#include "cpu.h"
#include "task.h"

struct model_cgroup {
	struct cgroup *cgroup;
	u32 parent, weight, children;
};

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

	if (!c || !kn) {
		perror("no memory for a cgroup");
		exit(1);
	}
	kn->id = 1 + number;
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
		*c = (struct model_cgroup){ new_cgroup(number, find_cgroup(parent)), parent, weight, 0 };
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
