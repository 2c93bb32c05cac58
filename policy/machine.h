/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: runs a selection policy with any modifiers of weights and of slices, for both hosts.
 *
 * The host (the simulator, or a BPF program) tells it sched_ext's events in sched_ext's order; it keeps
 * the task table, calls the policy by its contract, and answers what a CPU is to run. It is one unit with the
 * policy: define DIVVY_POLICY and include the policy's header first.
 *
 *   machine_new            a task exists                                  (init_task)
 *   machine_runnable       it became runnable                             (runnable)
 *   machine_enqueue        it is in the machine's custody: it may be run  (enqueue)
 *   machine_dequeue        it is not any more: the host took it back      (dequeue)
 *   machine_dispatch       which task is this CPU to run?                 (dispatch)
 *   machine_running        it is on the CPU                               (running)
 *   machine_stopping       it is off the CPU                              (stopping)
 *   machine_expire         its slice is over, and the CPU does not dispatch (enqueue, with nothing left of the slice)
 *   machine_quiescent      it is no longer runnable                       (quiescent)
 *   machine_exit           it is gone                                     (exit_task)
 *   machine_take_cpu       a CPU runs something that the machine does not schedule (cpu_release)
 *   machine_yield          its CPU's next dispatch ends its slice as yielded (yield)
 *   machine_set_weight, machine_set_allowed, machine_set_process
 *   machine_set_group      a group of tasks exists, or has another weight
 *   machine_enter_group    a task is in another group
 *   machine_set_program    it executes a program from its beginning       (exec)
 *   machine_fork           a new task was made by this one, 0: not known  (init_task, when a task forks)
 *   machine_carry          a task that became runnable comes from another machine (papers/placement.md)
 *   machine_session        its program says that it begins a session      (no kernel has such a call)
 *
 * dispatch comes before stopping of the task that ran, as in the kernel: until that task is enqueued again
 * it is not in custody, and no other CPU can be given it.
 *
 * States of a task, and the events that move it (M1..M7 are checked by the simulator after every event):
 *
 *   known --runnable--> waiting --dispatch--> picked --dispatch--> waiting, or picked again
 *     ^                    |                     |
 *     +------quiescent-----+------quiescent------+
 *
 *   M1  a task is PICKED for at most one CPU, and each CPU has at most one picked task
 *   M2  a picked task is RUNNABLE
 *   M3  a PARKED task is picked and on no CPU: it was picked where it could not run, or waits in its class; its slice is not lost
 *   M4  the policy never names a task that is not runnable or already picked (else: faults)
 *   M5  a CPU is idle only if each task in custody that may run on it is promised another CPU, one that was
 *       asked to dispatch and has not yet; so with nothing left to do, only if none may run on it
 *   M6  service charged to the policy = service received, less what is carried over to a task's next slice
 *   M7  every runnable task is waiting, parked, or picked for a CPU; the policy has it, unless it is apart (machine/apart.h)
 */
#ifndef DIVVY_MACHINE_H
#define DIVVY_MACHINE_H

#include "machine/dispatch.h"
#include "machine/lifecycle.h"

#endif
