/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Defaults for the functions of the contract that are not in a policy's POLICY_HAS. Include it after the policy's
 * header, with DIVVY_POLICY its name.
 */
#ifndef POLICY_HAS
#define POLICY_HAS 0
#endif
#ifndef POLICY_PARAMS
#define POLICY_PARAMS(P)
#endif
#ifndef POLICY_LICENSE
#define POLICY_LICENSE "Dual MIT/GPL"
#endif

#define HAS(function) ((POLICY_HAS) & (function))
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define CALL(f) GLUE(DIVVY_POLICY, _##f)

#if !HAS(INIT)
static inline void CALL(init)(struct DIVVY_POLICY *s)
{
}
#endif

#if !HAS(CHARGE)
static inline void CALL(charge)(struct DIVVY_POLICY *s, u32 id, u64 ran, u64 now)
{
}
#endif

#if !HAS(REWEIGH)
static inline void CALL(reweigh)(struct DIVVY_POLICY *s, u32 id, u64 w, u64 now)
{
}
#endif

#if !HAS(SLICE)
static inline u64 CALL(slice)(const struct DIVVY_POLICY *s, u32 id)
{
	return s->tasks.quantum;
}
#endif

#ifndef POLICY_PREEMPTS_IF
#define POLICY_PREEMPTS_IF(s) true
#endif

#if !HAS(PREEMPTS)
static inline bool CALL(preempts)(struct DIVVY_POLICY *s, u32 woken, u32 running, u64 now)
{
	return false;
}
#endif

#if !HAS(FORK)
static inline void CALL(fork)(struct DIVVY_POLICY *s, u32 id, u32 parent, u64 now)
{
}
#endif

#if !HAS(OVERDRAWN)
static inline u64 CALL(overdrawn)(struct DIVVY_POLICY *s, u32 id)
{
	return turn_of(&s->tasks, id);
}
#endif

#if !HAS(SESSION)
static inline void CALL(session)(struct DIVVY_POLICY *s, u32 id, u64 now)
{
}
#endif

#ifndef POLICY_SHARES
#define POLICY_SHARES 0
#endif

#ifndef POLICY_MODIFIERS
#define POLICY_MODIFIERS 0
#endif

#ifndef POLICY_LINEAR
#define POLICY_LINEAR 0
#endif

#ifndef POLICY_SUMS_UNCHARGED
#define POLICY_SUMS_UNCHARGED 0
#endif

#ifndef POLICY_LOOKS_AHEAD
#define POLICY_LOOKS_AHEAD 0
#endif

#ifndef POLICY_PER_CPU_IF
#define POLICY_PER_CPU_IF(s) false
#endif

#ifndef POLICY_LONGEST_SLICE
#define POLICY_LONGEST_SLICE(s) ((s)->tasks.quantum)
#endif

#ifndef POLICY_TAG_SCALE
#define POLICY_TAG_SCALE(s) 1
#endif

#if !HAS(PREPARE)
static inline void CALL(before_peek)(struct DIVVY_POLICY *s, u32 cpu, u64 now)
{
}
#endif

#if !HAS(KEY)
static inline u64 CALL(key)(struct DIVVY_POLICY *s, u32 id)
{
	return 0;
}

static inline void CALL(detach)(struct DIVVY_POLICY *s, u32 id)
{
}
#endif

#if !HAS(SHIFT)
static inline void CALL(attach)(struct DIVVY_POLICY *s, u32 id, u64 by)
{
}
#endif

#if !HAS(DISCARD)
static inline void CALL(discard)(struct DIVVY_POLICY *s, u32 id)
{
}
#endif
