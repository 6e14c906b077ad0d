// SPDX-License-Identifier: GPL-2.0-only
#include "engine/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/region.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define UNUSED_NS (60 * NSEC_PER_SEC)
#define ASKS_LEAST 64	/* fewer IOs between two reads do not need a series of their own */

static struct blklat_own *own_of(const struct region *r, u32 cpu, u32 row)
{
	return &r->own[(size_t)cpu * r->watches + row / BLKLAT_OPS];
}

static void give(struct region *r, u32 cpu, u32 row, u64 now_ns)
{
	struct owns *o = &r->owns;
	u32 number = o->free;
	struct spare *s = &o->spare[number - o->first];

	o->free = s->next;
	*s = (struct spare){ .next = o->of[row], .cpu = cpu, .row = row, .used_ns = now_ns };
	o->of[row] = number;
	__atomic_store_n(&own_of(r, cpu, row)->series[row % BLKLAT_OPS], number, __ATOMIC_RELEASE);
}

int owns_init(struct region *r, u32 spare)
{
	struct owns *o = &r->owns;
	u32 rows = r->watches * BLKLAT_OPS;

	*o = (struct owns){ .first = rows, .n = spare };
	if (!spare)
		return 0;
	o->spare = calloc(spare, sizeof(*o->spare));
	o->of = calloc(rows, sizeof(*o->of));
	if (!o->spare || !o->of)
		return -ENOMEM;
	for (u32 i = 0; i < spare; i++)
		o->spare[i].next = i + 1 < spare ? rows + i + 1 : 0;
	o->free = rows;
	for (u32 cpu = 0; owns_all(spare, r->watches, r->cpus) && cpu < r->cpus; cpu++)
		for (u32 row = 0; row < rows; row++)
			give(r, cpu, row, 0);
	return 0;
}

void owns_uninit(struct region *r)
{
	free(r->owns.spare);
	free(r->owns.of);
	r->owns = (struct owns){ 0 };
}

/* --- giving ---------------------------------------------------------------------------------- */

struct ask {
	u32 cpu, row;
	u32 ios;
};

static int busiest_first(const void *a, const void *b)
{
	const struct ask *p = a, *q = b;

	return (p->ios < q->ios) - (p->ios > q->ios);
}

/* Lists the CPUs that have counted in shared series, the busiest first, in malloc()ed memory. Returns their number. */
static u32 find_asking(const struct region *r, struct ask **ret)
{
	u32 n = 0, room = 0;

	*ret = NULL;
	for (size_t at = 0; at < (size_t)r->cpus * r->watches; at++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct blklat_own *own = &r->own[at];
			u32 ios = __atomic_load_n(&own->shared[op], __ATOMIC_RELAXED);

			if (ios < ASKS_LEAST)
				continue;
			__atomic_store_n(&own->shared[op], 0, __ATOMIC_RELAXED);
			if (own->series[op])
				continue;	/* it counted there until just after it was given one */
			if (array_more(ret, sizeof(**ret), n, &room))
				break;
			(*ret)[n++] = (struct ask){ at / r->watches, at % r->watches * BLKLAT_OPS + op, ios };
		}
	if (n)
		qsort(*ret, n, sizeof(**ret), busiest_first);
	return n;
}

/* --- taking back ----------------------------------------------------------------------------- */

static void raise(u64 *cell, u64 value)
{
	u64 is = __atomic_load_n(cell, __ATOMIC_RELAXED);

	while (is < value && !__atomic_compare_exchange_n(cell, &is, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Moves what a CPU has counted to the shared series, where others count meanwhile. */
static void fold(const struct region *r, u32 number, u32 row)
{
	struct blklat_series *from = region_series(r, number), *to = region_series(r, row);
	u32 cells = BLKLAT_CELLS(r->scale);

	for (u32 parity = 0; parity < 2; parity++) {
		raise(&to->max_ns[parity], from->max_ns[parity]);
		raise(&to->not_min_ns[parity], from->not_min_ns[parity]);
	}
	__atomic_fetch_or(&to->octaves, from->octaves, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->sum_ns, from->sum_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->bytes, from->bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->errors, from->errors, __ATOMIC_RELAXED);
	for (u32 cell = 0; cell < cells; cell++)
		if (from->bins[cell])
			__atomic_fetch_add(&to->bins[cell], from->bins[cell], __ATOMIC_RELAXED);
	region_clear_series(r, number);
}

/* Takes the series that follows *@at from its CPU. It is folded when its last IO has been counted. */
static u32 take(struct region *r, u32 *at)
{
	u32 number = *at;
	struct spare *s = &r->owns.spare[number - r->owns.first];

	*at = s->next;
	__atomic_store_n(&own_of(r, s->cpu, s->row)->series[s->row % BLKLAT_OPS], 0, __ATOMIC_RELEASE);
	return number;
}

/* Takes up to @most series that were not used for a while, and puts them among the free ones. */
static void take_unused(struct region *r, u32 most, u64 now_ns, void (*wait)(void *arg), void *arg)
{
	struct owns *o = &r->owns;
	u32 *taken CLEANUP(cleanup_free) = calloc(most, sizeof(*taken));
	u32 n = 0;

	for (u32 row = 0; taken && row < r->watches * BLKLAT_OPS; row++)
		for (u32 *at = &o->of[row]; *at && n < most;) {
			struct spare *s = &o->spare[*at - o->first];

			if (now_ns - s->used_ns >= UNUSED_NS)
				taken[n++] = take(r, at);
			else
				at = &s->next;
		}
	if (n)
		wait(arg);
	for (u32 i = 0; i < n; i++) {
		struct spare *s = &o->spare[taken[i] - o->first];

		fold(r, taken[i], s->row);
		s->next = o->free;
		o->free = taken[i];
	}
}

void owns_settle(struct region *r, u64 now_ns, void (*wait)(void *arg), void *arg)
{
	struct ask *asking CLEANUP(cleanup_free) = NULL;
	struct owns *o = &r->owns;
	u32 n;

	if (!o->n || owns_all(o->n, r->watches, r->cpus))
		return;
	n = find_asking(r, &asking);
	for (u32 i = 0; i < n; i++) {
		if (!o->free && wait)
			take_unused(r, n - i, now_ns, wait, arg);
		if (!o->free)
			break;
		give(r, asking[i].cpu, asking[i].row, now_ns);
	}
}

void owns_clear(struct region *r, u32 row)
{
	struct owns *o = &r->owns;
	bool kept = owns_all(o->n, r->watches, r->cpus);

	for (u32 number = owns_first(o, row), next; number; number = next) {
		struct spare *s = &o->spare[number - o->first];

		next = s->next;
		region_clear_series(r, number);
		s->sums = 0;
		if (kept)
			continue;
		own_of(r, s->cpu, row)->series[row % BLKLAT_OPS] = 0;
		s->next = o->free;
		o->free = number;
	}
	if (o->n && !kept)
		o->of[row] = 0;
	for (u32 cpu = 0; cpu < r->cpus; cpu++)
		own_of(r, cpu, row)->shared[row % BLKLAT_OPS] = 0;
}
