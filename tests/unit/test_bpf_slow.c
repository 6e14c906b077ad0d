// SPDX-License-Identifier: GPL-2.0-only
/* The limits that the BPF programs compare with first: no IO may be passed over that is slow on its own watch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "util/types.h"

#include "../bpf/capture.h"
#include "blklat.skel.h"
#include "engine/bpf_slow.h"

enum { PARTS = 2, WHOLES = 4, WATCHES = WHOLES * (1 + PARTS) };

static const enum blklat_stage stages[WHOLES] = {
	BLKLAT_STAGE_DEVICE, BLKLAT_STAGE_DEVICE, BLKLAT_STAGE_TOTAL, BLKLAT_STAGE_DEVICE,
};

struct world {
	struct bpf_capture b;
	struct blklat skel;
	typeof(*((struct blklat *)0)->bss) bss;
	struct watch watches[WATCHES];
	u64 slow_from[WATCHES * BLKLAT_OPS];	/* the programs' */
	u64 from_ns[WATCHES * BLKLAT_OPS];	/* as given */
};

static void begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->skel.bss = &w->bss;
	w->b.skel = &w->skel;
	w->b.kernel.parts = PARTS;
	w->b.kernel.slow_from = w->slow_from;
	w->b.kernel.capture.watches = w->watches;
	w->b.kernel.capture.n_watches = WATCHES;
	for (u32 i = 0; i < WATCHES; i++)
		w->watches[i].stage = stages[i / (1 + PARTS)];
	/* Parts have no limits, whatever stands there. */
	for (u32 i = 0; i < WATCHES * BLKLAT_OPS; i++)
		w->from_ns[i] = i / BLKLAT_OPS % (1 + PARTS) ? 1 : UINT64_MAX;
}

static void limit(struct world *w, u32 whole, u32 op, u64 ns)
{
	w->from_ns[whole * (1 + PARTS) * BLKLAT_OPS + op] = ns;
}

static void expect(const struct world *w, u32 stage, u32 op, u64 ns)
{
	assert_int_equal(w->bss.slow_least[stage][op], ns);
}

static void test_none(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	bpf_slow_set(&w.b.kernel.capture, w.from_ns);
	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			expect(&w, stage, op, UINT64_MAX);
}

static void test_least_of_a_stage_and_op(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	limit(&w, 0, BLKLAT_OP_READ, 500);
	limit(&w, 1, BLKLAT_OP_READ, 300);
	limit(&w, 3, BLKLAT_OP_READ, 400);
	limit(&w, 2, BLKLAT_OP_READ, 200);
	limit(&w, 3, BLKLAT_OP_WRITE, 9000);
	bpf_slow_set(&w.b.kernel.capture, w.from_ns);
	expect(&w, BLKLAT_STAGE_DEVICE, BLKLAT_OP_READ, 300);
	expect(&w, BLKLAT_STAGE_DEVICE, BLKLAT_OP_WRITE, 9000);
	expect(&w, BLKLAT_STAGE_DEVICE, BLKLAT_OP_FLUSH, UINT64_MAX);
	expect(&w, BLKLAT_STAGE_TOTAL, BLKLAT_OP_READ, 200);
	expect(&w, BLKLAT_STAGE_TOTAL, BLKLAT_OP_WRITE, UINT64_MAX);
	expect(&w, BLKLAT_STAGE_QUEUE, BLKLAT_OP_READ, UINT64_MAX);
	for (u32 i = 0; i < WATCHES * BLKLAT_OPS; i++)
		assert_int_equal(w.slow_from[i], i / BLKLAT_OPS % (1 + PARTS) ? 0 : w.from_ns[i]);
}

/* A limit that follows a percentile goes up as well as down. */
static void test_follows(void **state)
{
	static const u64 to[] = { 500, 700, 100, UINT64_MAX };
	struct world w;

	(void)state;
	begin(&w);
	limit(&w, 0, BLKLAT_OP_WRITE, 600);
	for (u32 i = 0; i < ARRAY_SIZE(to); i++) {
		limit(&w, 1, BLKLAT_OP_WRITE, to[i]);
		bpf_slow_set(&w.b.kernel.capture, w.from_ns);
		expect(&w, BLKLAT_STAGE_DEVICE, BLKLAT_OP_WRITE, to[i] < 600 ? to[i] : 600);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_least_of_a_stage_and_op),
		cmocka_unit_test(test_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
