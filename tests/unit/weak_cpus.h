/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several CPUs that write, for weak_memory.h. Each runs a program of its own, which is the code under test itself. It
 * stops before each access that others may affect: a jump leaves the program. To go on, it starts again from its
 * beginning, and each access that it made before finds what it found then. So a program forgets, as it begins, what it
 * told the test. Its stores wait in the CPU and become visible to everybody one at a time:
 *   - on x86 in program order;
 *   - else in any order in which two stores to one cell keep theirs, and those behind a barrier that is not missing wait
 *     for those before it. Copies wait in the same way, since a load may be performed after a store that follows it.
 * A compare-and-exchange, or an addition that returns something, waits until all of these are done, and is a single step. After a hand-over any CPU might go on.
 * Which CPU goes next, and what becomes visible next, are choices of an execution. The reader comes last, and chooses
 * when it saw each cell (weak_load()).
 *
 * Not in the model: stale values of the loads that look for a key. What they find is confirmed by compare-and-exchange,
 * or it is the bio's own, after a hand-over.
 */
#ifndef WEAK_CPUS_H
#define WEAK_CPUS_H

#include <setjmp.h>

#include "weak_memory.h"

enum { CPUS = 2, CPU_ACCESSES = 64 };

enum cpu_kind { CPU_LOAD, CPU_STORE, CPU_COPY };

struct cpu_access {
	enum cpu_kind kind;
	u32 cell, group;
	u64 value;		/* found or stored */
	bool done;		/* a store is visible to everybody, a copy was made */
};

struct cpu {
	void (*program)(u32 cpu);
	struct cpu_access accesses[CPU_ACCESSES];
	u32 n, at;		/* accesses made so far, and how many of them the program has repeated */
	u32 group;
	bool waits, over;
	bool may_look;		/* one access */
	jmp_buf stop;
};

static struct cpus {
	struct cpu cpu[CPUS], *now;
	bool loads_pass;	/* barriers order stores only, like smp_wmb() */
} cpus;

static inline void cpu_watch(void *at, u64 value)
{
	u32 cell = weak.n_cells++;

	if (cell >= WEAK_CELLS)
		abort();
	weak.places |= weak_place(at);
	weak.cells[cell] = at;
	weak.first[cell] = value;
}

static inline bool cpu_has_pending(const struct cpu *c)
{
	for (u32 i = 0; i < c->n; i++)
		if (!c->accesses[i].done)
			return true;
	return false;
}

static inline void cpu_show(u32 cell, u64 value)
{
	if (weak.n_stores == WEAK_STORES)
		abort();
	weak.now[cell] = value;
	weak.order[weak.n_stores] = weak.n_stores;
	weak.stores[weak.n_stores++] = (struct weak_store){ .cell = cell, .value = value };
}

/* --- what programs do ------------------------------------------------------------------------- */

/* The next access: one that was made before, or else @new. */
static inline struct cpu_access *cpu_access(struct cpu_access new)
{
	struct cpu *c = cpus.now;

	if (c->at == c->n) {
		if (c->n == CPU_ACCESSES)
			abort();
		new.group = c->group;
		c->accesses[c->n++] = new;
	}
	return &c->accesses[c->at++];
}

static inline bool cpu_is_new(void)
{
	return cpus.now->at == cpus.now->n;
}

/* Waits until all stores are visible. */
static inline void cpu_hand_over(void)
{
	if (!cpu_is_new() || !cpu_has_pending(cpus.now))
		return;
	cpus.now->waits = true;
	longjmp(cpus.now->stop, 1);
}

static inline void cpu_step(void)
{
	if (!cpus.now->may_look)
		longjmp(cpus.now->stop, 1);
	cpus.now->may_look = false;
}

static inline void cpu_barrier(u32 barrier)
{
	cpus.now->group += !(weak.missing & barrier);
}

static inline u64 cpu_value(u32 cell)
{
	for (u32 i = cpus.now->n; i--;)
		if (cpus.now->accesses[i].kind == CPU_STORE && !cpus.now->accesses[i].done &&
		    cpus.now->accesses[i].cell == cell)
			return cpus.now->accesses[i].value;
	return weak.now[cell];
}

static inline u64 cpu_load(u32 cell)
{
	if (cpu_is_new())
		cpu_step();
	return cpu_access((struct cpu_access){ .kind = CPU_LOAD, .cell = cell, .value = cpu_value(cell), .done = true })->value;
}

static inline void cpu_store(u32 cell, u64 value)
{
	cpu_access((struct cpu_access){ .kind = CPU_STORE, .cell = cell, .value = value });
}

/* The copied value is known after the next hand-over. */
static inline u64 cpu_copy(u32 cell)
{
	return cpu_access((struct cpu_access){ .kind = CPU_COPY, .cell = cell })->value;
}

/* The value that a single step finds; @ret_new: it has yet to store its own. */
static inline u64 cpu_begin_step(u32 cell, bool *ret_new)
{
	cpu_hand_over();
	*ret_new = cpu_is_new();
	return cpu_load(cell);
}

static inline u64 cpu_compare_and_swap(u32 cell, u64 was, u64 value)
{
	bool new;
	u64 found = cpu_begin_step(cell, &new);

	if (new && found == was)
		cpu_show(cell, value);
	return found;
}

static inline u32 cpu_fetch_and_add(u32 cell, u32 n)
{
	bool new;
	u32 found = cpu_begin_step(cell, &new);

	if (new)
		cpu_show(cell, found + n);
	return found;
}

/* --- one execution ---------------------------------------------------------------------------- */

static inline bool cpu_is_before(const struct cpu_access *a, const struct cpu_access *b)
{
	return weak.x86 || a->cell == b->cell || (a->group != b->group && !(a->kind == CPU_COPY && cpus.loads_pass));
}

static inline bool cpu_may_do(const struct cpu *c, u32 i)
{
	for (u32 j = 0; j < i; j++)
		if (!c->accesses[j].done && cpu_is_before(&c->accesses[j], &c->accesses[i]))
			return false;
	return !c->accesses[i].done;
}

static inline void cpu_do(struct cpu_access *a)
{
	a->done = true;
	if (a->kind == CPU_STORE)
		cpu_show(a->cell, a->value);
	else
		a->value = weak.now[a->cell];
}

static inline void cpu_run(struct cpu *c)
{
	cpus.now = c;
	c->waits = false;
	c->may_look = true;
	c->at = c->group = 0;
	if (!setjmp(c->stop)) {
		c->program(c - cpus.cpu);
		cpus.now->over = true;
	}
}

/* What can be done next: returns how many things, and does number @n. */
static inline u32 cpus_go_on(u32 n)
{
	u32 possible = 0;

	for (struct cpu *c = cpus.cpu; c < cpus.cpu + CPUS; c++) {
		for (u32 i = 0; i < c->n; i++)
			if (cpu_may_do(c, i) && possible++ == n) {
				cpu_do(&c->accesses[i]);
				return possible;
			}
		if (!c->over && !(c->waits && cpu_has_pending(c)) && possible++ == n) {
			cpu_run(c);
			return possible;
		}
	}
	return possible;
}

/* Runs a program on each CPU, to the end; it is told which CPU that is. */
static inline void cpus_run(void (*const programs[CPUS])(u32 cpu))
{
	u32 possible;

	weak.n_stores = weak.depth = 0;
	memcpy(weak.now, weak.first, sizeof(weak.now));
	for (u32 i = 0; i < CPUS; i++) {
		cpus.cpu[i].program = programs[i];
		cpus.cpu[i].n = 0;
		cpus.cpu[i].waits = false;
		cpus.cpu[i].over = !programs[i];
	}
	while ((possible = cpus_go_on(UINT32_MAX)))
		cpus_go_on(possible > 1 ? weak_choose(possible) : 0);
}

#endif
