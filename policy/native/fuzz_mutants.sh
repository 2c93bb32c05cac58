#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Does the fuzzer notice? Breaks the machine in one place at a time and expects the fuzzer to say so. A breakage
# that survives is a rule that is not checked. DIVVY_BUILD and CC as in fuzz.sh. Arguments: names of breakages, by default
# all; --check only sees whether each of them changes its file.
set -u
cd "$(dirname "$0")/../.." || exit 1
only_check=
[ "${1:-}" != --check ] || { only_check=yes && shift; }
wanted=" $* "
found=
out=${DIVVY_BUILD:-target/fuzz}/mutants
caught=0
survived=

# fuzz NAME FILE: 0 if the fuzzer of FILE, with policy $policy, finds nothing
fuzz() {
	"${CC:-cc}" -std=gnu11 -O1 -g -w -fsanitize=address,undefined -fno-sanitize-recover=all -DPOOL=64 "-DFUZZ_POLICY=$policy" \
		"-DPOLICY_HEADER=\"select/$policy.h\"" "-I$out/$1/policy" -Ipolicy/native "policy/native/$2" -o "$out/$1/fuzz" || exit 1
	for modifiers in 0 1 2 4 8 9 12 16; do
		timeout 20 "$out/$1/fuzz" -m $modifiers -n 150 >"$out/$1/said" 2>&1 || return 1
	done
}

# mutant NAME FUZZER HEADER SED: what sed makes of the header must be noticed
mutant() {
	case $wanted in '  ' | *" $1 "*) ;; *) return ;; esac
	if sed "$4" "policy/$3" | cmp -s - "policy/$3"; then
		echo "fuzz_mutants: $1: nothing to break in $3: the code has changed, change the mutant" >&2
		exit 1
	fi
	found=yes
	[ ! "$only_check" ] || return 0
	rm -rf "${out:?}/$1"
	mkdir -p "$out/$1" && cp -r policy "$out/$1" || exit 1
	sed -i "$4" "$out/$1/policy/$3"
	if fuzz "$1" "$2"; then
		survived="$survived $1"
	else
		caught=$((caught + 1))
		echo "$1: $(head -1 "$out/$1/said" | cut -c-100)"
	fi
}

# machine NAME PART SED
machine() { mutant "$1" fuzz.c "machine/$2.h" "$3"; }
# The policy with which the machine is fuzzed
policy=sfq
in_function() { printf '/^static .*[ *]%s(/,/^}/ %s' "$1" "$2"; }

machine leave-not-told apart 's/CALL(leave)(&m->s, id, now, why);//'
machine stop-not-told place 's/CALL(stop)(&m->s, id, now, why);/;/'
machine unpark-keeps-parked dispatch "$(in_function machine_begin_turn 's/machine_unpick(m, id)/(void)0/')"
machine unpark-ignores-affinity parking "$(in_function machine_can_run 's/machine_may_run(m, id, cpu) && //')"
machine unpick-keeps-the-cpu place "$(in_function machine_unpick 's/picked\[t->cpu & CPU_MASK\] = 0/picked[0] += 0/')"
machine reweigh-without-settle weights "$(in_function machine_reweigh 's/machine_settle(m, id, now)/(void)0/')"
machine late-service-forgotten dispatch "$(in_function machine_stopping 's/t->charged -= ran/t->charged = 0/')"
machine interrupted-turn-goes-on dispatch 's/machine_stop(m, id, now, PREEMPTED)/(void)0/'
machine custody-kept dispatch "$(in_function machine_choose 's/ & ~CUSTODY//')"
machine idle-not-noted dispatch "$(in_function machine_choose 's/machine_set_idle(m, cpu, !again)/(void)0/')"
machine promise-not-kept dispatch "$(in_function machine_promise_anew 's/machine_wake_idle(m, id)/NO_CPU/')"
machine found-without-custody dispatch "$(in_function machine_is_ready 's/ | CUSTODY)/)/g')"
machine parked-not-looked-at dispatch "$(in_function machine_has_parked 's/m->parking.first | //')"
machine bound-not-looked-at dispatch "$(in_function machine_has_parked 's/ | m->s.tasks.nbound//')"
machine affinity-change-unnoticed dispatch "$(in_function machine_set_allowed 's/machine_wake_idle(m, id)/NO_CPU/')"
machine failed-fork-costs-credit lifecycle 's/^\tif (!moves)$/\tif (false)/'
machine move-is-a-failed-fork lifecycle 's/^\tif (!moves)$/\tif (true)/'
machine runnable-not-uncounted lifecycle 's/m->s.tasks.nrunnable--;//'
machine former-caps-stay weights 's/if (!former || machine_is_member(m, id))/if (!former)/'
policy=rr
machine bound-is-ready dispatch "$(in_function machine_is_ready 's/ | PINNED//')"
policy=gr3
machine waiting-for-a-tag-not-looked-at dispatch "$(in_function machine_has_parked 's/ || (POLICY_SHARES.*;/;/')"
machine bound-counts-as-free levels "$(in_function machine_class_joined 's/!machine_is_bound(m, id) && m->p/m->p/')"
policy=eevdf
machine sum-of-tasks-apart weights "$(in_function machine_begin_sum 's/machine_is_apart(m, id)/false/')"
machine sum-without-charges weights 's/^\t\tm->s.tasks.summed += due;/\t\t;/'
machine sum-after-the-slice place "$(in_function machine_unpick 's/machine_end_sum(m, id)/(void)0/')"
machine sum-off-the-cpu dispatch "$(in_function machine_stopping 's/machine_end_sum(m, id)/(void)0/')"
policy=sfq
mutant siblings-not-reweighed fuzz.c lib/threads.h 's/s->due\[o\] = s->n\[o\] ? s->n\[o\] : 1;/s->due[o] = 1;/'
machine dequeued-stays-in-custody dispatch "$(in_function machine_dequeue 's/state &= ~CUSTODY/state |= 0/')"
machine entitled-by-the-old-weight weights 's/ENTITLED(machine_entitle(.*)$//'
mutant entitled-to-one-cpu fuzz.c entitled.h 's/dt \* f->ncpus/dt/'
mutant entitled-beside-who-left fuzz.c entitled.h 's/e->total -= weight_of/e->total -= 0 * weight_of/'
mutant entitled-total-jumps fuzz.c entitled.h 's/e->rest < e->total ? e->rest : e->total - 1/e->rest/'
machine time-goes-back state "$(in_function machine_now 's/if (reading > m->now)//')"
mutant cap-not-recomputed fuzz.c weight/feasible.h 's/s->cap = s->rest/s->cap = s->cap ? s->cap : s->rest/'
mutant heaviest-is-the-first fuzz.c weight/feasible/search.h 's/s->phi\[id & POOL_MASK\] > s->at_phi/!s->at_phi/'
mutant threads-not-uncounted fuzz.c lib/threads.h 's/s->n\[owner & OWNER_MASK\]--;//'
mutant share-grows-on fuzz.c weight/tfps.h 's/alpha > p ? .* : nominal/nominal/'
mutant others-below-forgotten fuzz_others.c machine/others.h "$(in_function others_recount 's/others_count(m, m->at)/(void)0/')"
mutant others-out-of-order fuzz_others.c machine/others.h "$(in_function others_hang_lower 's/m->parking.after = pile_before/m->parking.after = !pile_before/')"
mutant group-limited-to-a-cpu fuzz.c weight/groups/divide.h 's/c \* (k < s->p ? k : s->p + 1)/c/'
mutant full-members-found-once fuzz.c weight/groups/divide.h "$(in_function groups_end_pass 's/if (s->more <= s->nfull)/if (true)/')"
mutant full-members-weigh-on fuzz.c weight/groups/divide.h 's/^\ts->lighter -= weight;//'
mutant inactive-group-keeps-its-share fuzz.c weight/groups/members.h 's/^\tparent->sum -= g->weight;//'
mutant budget-not-handed-down fuzz.c weight/groups/divide.h 's/s->deeper = s->changed;/s->deeper = 0;/'
mutant group-of-more-threads-keeps-its-order fuzz.c weight/groups/members.h "$(in_function groups_climb_once 's/groups_rerank(s, g)/(void)0/')"
mutant only-the-greatest-order-is-full fuzz.c weight/groups/divide.h "$(in_function groups_end_pass 's/!= s->seen/!= ~0u/')"
mutant too-few-members-are-seen fuzz.c weight/groups/divide.h "$(in_function groups_saw_enough 's/2 \* s->p/1/')"
machine entering-a-group-forgotten weights "$(in_function machine_enter_group 's/groups_add(&m->groups/if (0) groups_add(\&m->groups/')"
mutant delay-without-end fuzz.c slice/flow.h 's/^\tt->delayed = 1;//'
machine expired-slice-goes-on dispatch "$(in_function machine_expire 's/machine_end_slice_inlined(.*;/;/')"
machine delays-where-it-may-not-run dispatch "$(in_function machine_delays 's/ || !machine_may_run(m, id, cpu)//')"
machine exit-keeps-its-program lifecycle 's/flow_terminates(machine_flow(m), id, 0, now)/(void)0/'
mutant sfq-keeps-who-left fuzz.c select/sfq.h 's/^\theap_remove(&s->waiting, id);//'
mutant sift-down-forgets-a-child fuzz_lib.c lib/heap.h 's/child + 1 < h->n/child + 2 < h->n/'
mutant sift-up-stops-early fuzz_lib.c lib/heap.h 's/(h->at - 1) \/ 2/h->at \/ 2/'
mutant rekey-without-sift fuzz_lib.c lib/heap.h "$(in_function heap_rekey_ranked 's/heap_settle(h, at - 1, x)/heap_put(h, at - 1, x)/')"
mutant tree-forgets-what-is-below fuzz_lib.c lib/tree.h "$(in_function tree_remove 's/tree_recount(t, x->up);//')"
mutant tree-rotation-loses-a-child fuzz_lib.c lib/tree.h 's/p->child\[after\] = inner/p->child[after] = 0/'
mutant tree-is-no-heap fuzz_lib.c lib/tree.h 's/^\ttree_rise(t, id);//'
mutant tree-does-not-wrap fuzz_lib.c lib/tree.h 's/(s64)(a->minor - b->minor) < 0/a->minor < b->minor/'
mutant eligible-by-start fuzz_eligible.c lib/eligible.h 's/id, F, S, e->turns++/id, S, F, e->turns++/'
mutant eligible-not-in-turn fuzz_eligible.c lib/eligible.h 's/vtime_before(V, S) ? S : e->V/S/'
mutant eligible-finish-does-not-wrap fuzz_eligible.c lib/tree.h 's/TREE_TIMES ? (s64)(a->major - b->major) < 0 : //'
mutant eligible-goes-where-nobody-is fuzz_eligible.c lib/eligible.h 's/ || !n->child\[1\]//'
mutant eligible-names-one-that-left fuzz_eligible.c lib/eligible.h 's/tree_holds(&e->waiting, first) ? first : root/first/'
mutant last-one-stays fuzz_lib.c lib/ring.h 's/next == id ? 0 : next/next/'
mutant remainder-dropped fuzz_lib.c lib/vtime.h 's/t->rest = product % w/t->rest = 0/'
mutant carry-dropped fuzz_lib.c lib/wide.h 's/ + (mid2 >> 32)//'

if [ ! "$found" ]; then
	echo "fuzz_mutants: no breakage is called$wanted: each line of this script has a name" >&2
	exit 1
fi
[ ! "$only_check" ] || exit 0
if [ -n "$survived" ]; then
	echo "fuzz_mutants: NOT NOTICED:$survived" >&2
	exit 1
fi
echo "fuzz_mutants: all $caught breakages were noticed"
