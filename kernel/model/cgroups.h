/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Cgroups, by number; 0 is the root. Functions run in a CPU's coroutine. */
#ifndef MODEL_CGROUPS_H
#define MODEL_CGROUPS_H

#include "model.h"

#define MAX_MODEL_CGROUPS 8192

struct cgroup *root_cgroup(void);
/* NULL if there is none. */
struct cgroup *find_cgroup(u32 number);
/* Does nothing if there is one of this number, or no parent. */
void make_cgroup(u32 number, u32 parent, u32 weight);
void set_cgroup_weight(u32 number, u32 weight);
u32 weight_of_cgroup(const struct cgroup *cgroup);
/* Does nothing while it has tasks, but for those that have ended, or cgroups in it. */
void remove_cgroup(u32 number);
void move_to_cgroup(struct model_task *p, u32 number);
/* cpu.max, in ns; quota 0 is none. */
void set_cgroup_limit(u32 number, u64 quota, u64 period, u64 burst);
/* A task ran for so long. */
void count_service(const struct model_task *p, u64 ran);
/* Whether this one, or one around it, has a limit, or had one that the host may still believe in. */
bool is_limited(const struct cgroup *cgroup);
/* No cgroup may get more than its limit permits, but for what stands with the function. */
void check_limits(void);
/* The scheduler begins: it is told of all cgroups, outer ones first. Nothing changes until it has been told of tasks, too. */
void begin_cgroups(void);
void began_cgroups(void);
/* It ends. */
void end_cgroups(void);

#endif
