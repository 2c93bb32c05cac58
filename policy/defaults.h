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

#if !HAS(SESSION)
static inline void CALL(session)(struct DIVVY_POLICY *s, u32 id, u64 now)
{
}
#endif

#if !HAS(DISCARD)
static inline void CALL(discard)(struct DIVVY_POLICY *s, u32 id)
{
}
#endif
