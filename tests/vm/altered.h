/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs in which something always happens that otherwise is rare. Included before the programs' own source, by the
 * Makefile's rules for tests/altered, which define the macro of one build.
 *
 * ALTERED_atomic, ALTERED_plain: another program has much time to come between the load and the store of an addition, which
 * otherwise are a ns or two apart. In the latter no addition is atomic, as if rows were not shared.
 *
 * ALTERED_first_skipped, ALTERED_end_skipped: first programs do nothing, as if the kernel skipped each of their runs; in the
 * latter only that of block_rq_complete. Those of kernels that skip nothing, named _hash, are as they are.
 */
#if defined(ALTERED_atomic) || defined(ALTERED_plain)

#ifdef ALTERED_plain
/* Where tasks are seldom preempted in a program, as on 7.2 for arm64, three of them rarely meet: two have to lose. */
#define HELD_UP_BYTES 65536
#define ADD_ATOMICALLY(cell, n) add_plainly(cell, n)
#else
#define HELD_UP_BYTES 8192
#define ADD_ATOMICALLY(cell, n) do { HOLD_UP(); __sync_fetch_and_add(cell, n); } while (0)
#endif

/* Copying takes a while, during which we may be interrupted and, on kernels that do that, preempted. */
static char held_up_from[HELD_UP_BYTES], held_up_to[HELD_UP_BYTES];

#define HOLD_UP() bpf_probe_read_kernel(held_up_to, sizeof(held_up_to), held_up_from)

#else

#pragma clang diagnostic ignored "-Wunused-parameter"

/* A program's own code becomes a function that nobody calls. */
#define SKIPPED(name, ctx)										\
	name(ctx)											\
	{												\
		return 0;										\
	}												\
	static int __attribute__((unused)) not_##name(ctx)

#define on_rq_complete(ctx) SKIPPED(on_rq_complete, ctx)
#ifdef ALTERED_first_skipped
#define on_rq_requeue(ctx) SKIPPED(on_rq_requeue, ctx)
#define on_bio_complete(ctx) SKIPPED(on_bio_complete, ctx)
#define on_rq_issue(ctx) SKIPPED(on_rq_issue, ctx)
#define on_rq_merge(ctx) SKIPPED(on_rq_merge, ctx)
#define on_rq_insert(ctx) SKIPPED(on_rq_insert, ctx)
#define on_bio_queue(ctx) SKIPPED(on_bio_queue, ctx)
#define on_bio_split(ctx) SKIPPED(on_bio_split, ctx)
#define on_bio_remap(ctx) SKIPPED(on_bio_remap, ctx)
#endif

#endif
