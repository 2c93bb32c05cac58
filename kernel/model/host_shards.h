/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Several shards, a part of host.c: CPUs are divided, and more must hold than with one. */
#ifndef MODEL_HOST_SHARDS_H
#define MODEL_HOST_SHARDS_H

#ifdef DIVVY_SHARDS
/* A shard's part of a mask, counted CPU by CPU: also where it crosses a word, as with more CPUs than the model has. */
static void check_parts(struct host_shards *s)
{
	static const u16 cases[][2] = { { 0, 64 }, { 63, 2 }, { 60, 64 }, { 192, 64 }, { 250, 6 }, { 5, 1 } };
	const struct allowed cpus = { .word = { 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, ~1ull } };

	for (u32 at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
		u64 part = 0;

		s->first[0] = cases[at][0];
		s->cpus[0] = cases[at][1];
		for (u32 cpu = 0; cpu < s->cpus[0]; cpu++)
			part |= (cpus.word[(s->first[0] + cpu) / 64] >> (s->first[0] + cpu) % 64 & 1) << cpu;
		if (part_of(&cpus, 0) != part) {
			fprintf(stderr, "a shard has another part of a mask: %u CPUs from %u on\n", s->cpus[0],
				s->first[0]);
			exit(1);
		}
	}
}

/* As many shards as are asked for, or as there are CPUs, of neighbours (placement R1). Uneven ones have 1, 2, 3, 1, ... CPUs, as far as that goes, and
 * the last has the rest. */
static void divide(const struct host_options *options, u32 ncpus)
{
	struct host_shards *s = (struct host_shards *)&shards;
	u32 wanted = options->shards < MOST_SHARDS ? options->shards : MOST_SHARDS, size;

	wanted = wanted ? wanted : 1;
	size = (ncpus + wanted - 1) / wanted;
	make_writable(&shards, sizeof(shards));
	check_parts(s);
	s->skew_quanta = 1;
	s->steal = true;
	s->n = 0;
	for (u32 first = 0; first < ncpus; first += s->cpus[s->n++]) {
		bool is_last = s->n + 1 == wanted;
		u32 most = !options->uneven ? size : is_last ? ncpus : 1 + s->n % 3;

		s->first[s->n] = (u16)first;
		s->cpus[s->n] = (u16)(most < ncpus - first ? most : ncpus - first);
		for (u32 i = 0; i < s->cpus[s->n]; i++)
			s->of_cpu[first + i] = (u8)s->n;
	}
	s->mask = 0;
	while (s->mask + 1 < s->n)
		s->mask = 2 * s->mask + 1;
}

u32 host_most_shards(void)
{
	return MOST_SHARDS;
}

u32 host_shards(void)
{
	return shards.n;
}
#else
static void divide(const struct host_options *options, u32 ncpus)
{
}

u32 host_most_shards(void)
{
	return 1;
}

u32 host_shards(void)
{
	return 1;
}
#endif

#ifdef DIVVY_SHARDS
/* Whether the task's set of shards is the one that its CPUs are. There are never more sets than have room. */
static bool has_right_set(u32 id)
{
	const struct host_move *move = &host_task(id)->move;
	u64 whole = 0, all = shards.n == 64 ? ~0ull : (1ull << shards.n) - 1;
	bool part = false;

	if (!move->is_bound)
		return true;
	for (u32 shard = 0; shard < shards.n; shard++) {
		u32 n = 0;

		for (u32 cpu = 0; cpu < shards.cpus[shard]; cpu++)
			n += may_run(id, shards.first[shard] + cpu);
		whole |= (u64)(n == shards.cpus[shard]) << shard;
		part |= n && n < shards.cpus[shard];
	}
	return move->reaches_a_part == part &&
	       (!whole         ? move->reach == NOWHERE
		: whole == all ? move->reach == EVERYWHERE
			       : move->reach > EVERYWHERE && reach_sets[move->reach].shards == whole);
}

static const char *check_sets(void)
{
	u32 counted[REACHES] = { 0 };

	for (u32 id = 1; id <= last_id; id++) {
		counted[host_task(id)->holders ? host_task(id)->move.reach : NOWHERE]++;
		if (host_task(id)->holders && task_in_machine(id)->state & KNOWN && !has_right_set(id))
			return "a task has another set of shards than its CPUs are";
	}
	for (u32 number = EVERYWHERE + 1; number < REACHES; number++)
		if (reach_sets[number].tasks != counted[number])
			return "a set of shards is counted for other tasks than have it";
	return NULL;
}

/* Whether an idle CPU finds the task where it looks for it: reachable.h. */
static bool is_listed(u32 id)
{
	bool waits = task_in_machine(id)->state & CUSTODY;

	return waits_under[id] == (waits ? reach_of(id) : 0) && waits_partly[id] == (waits && reaches_a_part(id)) &&
	       waits_in_line[id] == waits;
}

static bool is_in_custody(u32 id)
{
	return (task_in_machine(id)->state & (RUNNABLE | CUSTODY)) == (RUNNABLE | CUSTODY);
}

#ifdef PLACEMENT_HEADER
/* A comparison of tags that are whole ns may be off by one on each side. */
#define ROUNDING 2

/* Whether this task may not begin a slice, because another one that waits has a tag that is less by more than the skew (placement C3) */
static bool is_ahead(u32 id, u32 other, u64 most)
{
	u64 tag = machine_key(machine_of(id), id), others = machine_key(machine_of(other), other);

	return is_in_custody(other) && (s64)(tag - others - most - ROUNDING) > 0;
}

static bool has_slice(u32 id)
{
	return (task_in_machine(id)->state & (PICKED | PARKED)) == PICKED;
}

/* A kernel thread may interrupt a task: its shard publishes the new tag when the CPU dispatches. */
static u64 tag_of_slice[POOL];

/* A task that wakes begins at v, the least tag of all that are runnable (placement R6), also of one that moves. */
static const char *find_v(struct survey *x)
{
	x->how = IS_WOKEN;
	look_before_joining(x, 0);
	for (u32 id = 1; id <= last_id; id++) {
		bool moves = false;

		for (u32 kernel = 0; kernel < MAX_CPUS; kernel++)
			moves |= moving_on[kernel] == id;
		if (!moves && !(task_in_machine(id)->state & RUNNABLE))
			continue;
		if (!x->has_v)
			return "a task is runnable, and v is not known";
		if (precedes(moves ? host_task(id)->move.tag : machine_key(machine_of(id), id), x->v))
			return "v is later than the tag of a task";
	}
	return NULL;
}

static const char *check_v(void)
{
	struct survey x = {};
	const char *wrong = find_v(&x);

	for (u32 id = 1; id <= last_id && !wrong; id++)
		if (task_in_machine(id)->state & RUNNABLE &&
		    !precedes(x.v, has_slice(id) ? tag_of_slice[id] : machine_key(machine_of(id), id)))
			return NULL;
	return wrong || !x.has_v ? wrong : "v is earlier than the tag of every task";
}

/* Where some may not run everywhere, the machine changes the tags of others: levels.h. */
static bool was_bound(void)
{
	static bool was;

	for (u32 id = 1; id <= last_id && !was; id++)
		was = host_task(id)->move.is_bound;
	return was;
}

static const char *check_move(void)
{
	struct survey x = {};

	return was_bound() ? NULL : find_v(&x);
}

/* No task waits that this one is ahead of by more than the skew (placement C3). */
static const char *check_slice(u32 id)
{
	for (u32 other = 1; other <= last_id; other++)
		if (other != id && is_ahead(id, other, skew(published_weight())))
			return "a slice begins that is ahead of a task that waits by more than the skew";
	return NULL;
}

/* A shard knows how long its tasks have run by the clock of the CPU that told it something last: that is another shard's CPU if a task visits it. */
static bool do_clocks_agree(void)
{
	for (u32 cpu = 1; cpu < model.ncpus; cpu++)
		if (cpus[cpu].clock_ahead_ns != cpus[0].clock_ahead_ns)
			return false;
	return true;
}

static const char *check_choice_of(u32 cpu, u32 id)
{
	tag_of_slice[id] = machine_key(machine_of(id), id);
	if (was_bound())
		return NULL;
	return (do_clocks_agree() ? check_slice(id) : NULL) ?: check_v();
}

static const char *check_loads(void)
{
	return NULL;
}
#else
static const char *check_move(void)
{
	return NULL;
}

/* Virtual times are read as whole ns, the skew is rounded. */
#define ROUNDING 3

/* The first task in line that may run on this CPU, of those that are looked at */
static u32 first_for(u32 shard, u32 cpu)
{
	u32 id = reachable[shard].line;

	for (u32 n = 0; id && n < MOST_LOOKED_AT; n++) {
		if (is_in_custody(id) && may_run(id, cpu))
			return id;
		id = ring_next(&line_links, id);
		if (id == reachable[shard].line)
			return 0;
	}
	return 0;
}

/* Whether a shard would have more to do for each CPU with a task than the one that has it */
static bool has_more_with(u32 here, u32 id)
{
	u32 from = shard_of(id);
	u64 weight = published[here].weight + task_in_machine(id)->nominal;

	return weight * shards.cpus[from] > published[from].weight * shards.cpus[here];
}

/* Whether the CPU may run the first in line of each other shard: by that one's weight it decides where it looks. */
static bool may_run_firsts(u32 here, u32 cpu)
{
	for (u32 from = 0; from < shards.n; from++)
		if (from != here && reachable[from].line && !may_run(reachable[from].line, cpu))
			return false;
	return true;
}

/* A CPU does not go on with its shard's tasks if that shard is ahead of another one by more than the skew, and this one's first task would not leave it
 * with more to do than that one has (placement R3). */
static const char *check_choice_of(u32 cpu, u32 id)
{
	u32 here = shard_of_cpu(cpu);
	u64 now = host_cpu(cpu)->asked, ahead = v_now(here, now) - skew(published_weight()) - ROUNDING;

	/* It told the shard of other tasks meanwhile. */
	if (precedes(now, published[here].counted))
		return NULL;
	if (runs_visitor(cpu))
		return first_for(here, cpu) && has_more_with(here, id)
			       ? "a CPU takes a task from a shard that has less to do"
			       : NULL;
	if (shard_of(id) != here || !may_run_firsts(here, cpu))
		return NULL;
	for (u32 from = 0; from < shards.n; from++) {
		u32 first = from == here ? 0 : first_for(from, cpu);

		if (first && precedes(v_now(from, now), ahead) && !has_more_with(here, first))
			return "a CPU goes on although its shard is ahead of another one by more than the skew";
	}
	return NULL;
}

/* A shard publishes the load of its tasks. */
static const char *check_loads(void)
{
	u64 weight[MOST_SHARDS] = { 0 };
	u32 serving[MOST_SHARDS] = { 0 };

	for (u32 id = 1; id <= last_id; id++) {
		const struct task *t = task_in_machine(id);

		weight[shard_of(id)] += t->state & RUNNABLE ? t->nominal : 0;
		serving[shard_of(id)] += !!(t->state & ON_CPU);
	}
	for (u32 shard = 0; shard < shards.n; shard++)
		if (published[shard].weight != weight[shard] || published[shard].serving != serving[shard])
			return "a shard publishes another load than that of its tasks";
	return NULL;
}
#endif

const char *host_check_move(void)
{
	for (u32 kernel = 0; kernel < MAX_CPUS; kernel++)
		if (moving_on[kernel])
			return check_move();
	return NULL;
}

const char *host_check_order(s32 kernel_cpu)
{
	static u64 seen;
	u64 decided = OVER_SHARDS(decisions) + SUM_OF(taken);
	u32 cpu = machine_cpu(kernel_cpu), id;
	const char *wrong;

	for (u32 kernel = 0; kernel < MAX_CPUS; kernel++)
		if (moving_on[kernel])
			return "a task counts as between two shards, and is not";
	for (u32 other = 1; other <= last_id; other++)
		if (!is_listed(other))
			return "a task waits and is not listed by where it may run, or does not and is";
	wrong = check_loads() ?: check_sets();
	if (wrong || decided == seen || cpu == NO_CPU)
		return wrong;
	seen = decided;
	id = visitor_on[cpu] ? visitor_on[cpu] : machine_at(shard_of_cpu(cpu))->s.tasks.picked[local_cpu(cpu)];
	return id ? check_choice_of(cpu, id) : NULL;
}

const char *host_check_weights(void)
{
	if (!has_weigher())
		return NULL;
	for (u32 id = 1; id <= last_id; id++) {
		const struct task *t = task_in_machine(id), *a = machine_task(weigher(), id);

		if (!(t->state & RUNNABLE) && !(a->state & RUNNABLE))
			continue;
		if (!(t->state & RUNNABLE) || !(a->state & RUNNABLE))
			return "a task is runnable in its shard or in the account, and not in both";
		if (!reweighed.has[id] && t->nominal != a->weight)
			return "a task has another weight in its shard than in the account";
	}
	return NULL;
}

bool host_has_news(void)
{
	return has_news();
}

/* Queues whose places count on and on: of weights to tell, and of what is due before there is one */
bool host_told_news(void)
{
	static u32 ends[3];
	const u32 firsts[] = { reweighed.first, weigher()->threads.front, weigher()->groups.front };

	for (u32 i = 0; i < 3; i++)
		if ((s32)(firsts[i] - ends[i]) < 0)
			return false;
	ends[0] = reweighed.end;
	ends[1] = weigher()->threads.back;
	ends[2] = weigher()->groups.back;
	return true;
}
#else
const char *host_check_move(void)
{
	return NULL;
}

const char *host_check_order(s32 kernel_cpu)
{
	return NULL;
}

const char *host_check_weights(void)
{
	return NULL;
}

bool host_has_news(void)
{
	return false;
}

bool host_told_news(void)
{
	return true;
}
#endif

#endif
