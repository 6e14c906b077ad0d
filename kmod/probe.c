// SPDX-License-Identifier: GPL-2.0-only
#include "probe.h"

#include <linux/kprobes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "capture.h"
#include "kernel.h"
#include "slow.h"

#include <trace/events/block.h>

/*
 * A CPU's counters are its own only as long as the probe stays on that CPU. Before 7.0 a tracepoint runs
 * its probes with preemption off; since a46023d5616e "tracing: Guard __DECLARE_TRACE() use of
 * __DO_TRACE_CALL() with SRCU-fast" it does not. From 6.13 on that may be ported back.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define ON_THIS_CPU(event)			\
	do {					\
		preempt_disable_notrace();	\
		event;				\
		preempt_enable_notrace();	\
	} while (0)
#else
#define ON_THIS_CPU(event) event
#endif

static notrace void on_rq_insert(void *session, struct request *rq)
{
	ON_THIS_CPU(blklat_capture_insert(session, rq));
}

static notrace void on_rq_merge(void *session, struct request *rq)
{
	ON_THIS_CPU(blklat_capture_merge(session, rq));
}

static notrace void on_rq_issue(void *session, struct request *rq)
{
	ON_THIS_CPU(blklat_capture_issue(session, rq));
}

static notrace void on_rq_requeue(void *session, struct request *rq)
{
	ON_THIS_CPU(blklat_capture_requeue(session, rq));
}

static notrace void on_rq_complete(void *session, struct request *rq, blklat_rq_error error, unsigned int bytes)
{
	ON_THIS_CPU(blklat_capture_complete(session, rq, (__force int)error, bytes));
}

#if BLKLAT_BIO_HAS_BDEV
static notrace void on_bio_queue(void *session, struct bio *bio)
#else
static notrace void on_bio_queue(void *session, struct request_queue *q, struct bio *bio)
#endif
{
	ON_THIS_CPU(blklat_capture_bio_queue(session, bio));
}

#if BLKLAT_BIO_HAS_BDEV
static notrace void on_getrq(void *session, struct bio *bio)
#else
static notrace void on_getrq(void *session, struct request_queue *q, struct bio *bio, int rw)
#endif
{
	ON_THIS_CPU(blklat_capture_bio_got(session, bio));
}

#if BLKLAT_BIO_HAS_BDEV
static notrace void on_bio_merge(void *session, struct bio *bio)
#else
static notrace void on_bio_merge(void *session, struct request_queue *q, struct request *rq, struct bio *bio)
#endif
{
	ON_THIS_CPU(blklat_capture_bio_got(session, bio));
}

#if BLKLAT_BIO_HAS_BDEV
static notrace void on_bio_note(void *session, struct bio *bio)
#else
static notrace void on_bio_note(void *session, struct request_queue *q, struct bio *bio)
#endif
{
	ON_THIS_CPU(blklat_note_bio(session, bio));
}

#if BLKLAT_BIO_HAS_BDEV
static notrace void on_bio_split(void *session, struct bio *piece, unsigned int new_sector)
#else
static notrace void on_bio_split(void *session, struct request_queue *q, struct bio *piece, unsigned int new_sector)
#endif
{
	ON_THIS_CPU(blklat_capture_bio_split(session, piece));
}

/* md raid0 split bios without block_split until 6.17, but it traces where it sends each piece. */
#if BLKLAT_BIO_HAS_BDEV
static notrace void on_bio_remap(void *session, struct bio *bio, dev_t from, sector_t sector)
#else
static notrace void on_bio_remap(void *session, struct request_queue *q, struct bio *bio, dev_t from, sector_t sector)
#endif
{
	ON_THIS_CPU(blklat_capture_bio_split(session, bio));
}

static notrace void on_bio_complete(void *session, struct request_queue *q, struct bio *bio)
{
	ON_THIS_CPU(blklat_capture_bio_complete(session, bio));
}

/* --- registration -------------------------------------------------------------------------- */

enum needed_by {
	DEVICE = 1 << BLKLAT_STAGE_DEVICE, QUEUE = 1 << BLKLAT_STAGE_QUEUE, TOTAL = 1 << BLKLAT_STAGE_TOTAL,
	WAIT = 1 << BLKLAT_STAGE_WAIT,
};

static struct hook {
	const char *name;
	void *probe;
	u32 stages;			/* stages that need this hook */
	bool starts;			/* an IO starts here, gets a request, or is merged; else it ends */
	bool optional;
	bool notes;			/* needed for notes on senders, whatever the stages */
	bool hidden_splits;		/* only if a device is watched that may split bios without block_split */
	struct tracepoint *tracepoint;	/* NULL: the kernel has no tracepoint of this name */
} hooks[] = {
	{ "block_rq_complete", on_rq_complete, DEVICE | QUEUE | TOTAL },
	{ "block_rq_requeue", on_rq_requeue, DEVICE },
	{ "block_bio_complete", on_bio_complete, TOTAL },
	{ "block_rq_issue", on_rq_issue, DEVICE | QUEUE, .starts = true },
	/* Without this hook, a merged request would seem to stay in the queue for ever. */
	{ "block_rq_merge", on_rq_merge, QUEUE, .starts = true, .optional = true },
	{ "block_rq_insert", on_rq_insert, QUEUE, .starts = true },
	{ "block_getrq", on_getrq, WAIT, .starts = true },
	{ "block_bio_backmerge", on_bio_merge, WAIT, .starts = true },
	{ "block_bio_frontmerge", on_bio_merge, WAIT, .starts = true },
	{ "block_split", on_bio_split, TOTAL, .starts = true },
	{ "block_bio_remap", on_bio_remap, TOTAL, .starts = true, .hidden_splits = true },
	{ "block_bio_queue", on_bio_note, .starts = true, .notes = true },
	{ "block_bio_queue", on_bio_queue, TOTAL, .starts = true },
};

/*
 * Registration takes any pointer; these calls compile only if a probe has the prototype that the kernel
 * calls.
 */
static __maybe_unused void check_prototypes(void)
{
	check_trace_callback_type_block_rq_insert(on_rq_insert);
	check_trace_callback_type_block_rq_merge(on_rq_merge);
	check_trace_callback_type_block_rq_issue(on_rq_issue);
	check_trace_callback_type_block_rq_requeue(on_rq_requeue);
	check_trace_callback_type_block_rq_complete(on_rq_complete);
	check_trace_callback_type_block_getrq(on_getrq);
	check_trace_callback_type_block_bio_backmerge(on_bio_merge);
	check_trace_callback_type_block_bio_frontmerge(on_bio_merge);
	check_trace_callback_type_block_split(on_bio_split);
	check_trace_callback_type_block_bio_remap(on_bio_remap);
	check_trace_callback_type_block_bio_queue(on_bio_note);
	check_trace_callback_type_block_bio_queue(on_bio_queue);
	check_trace_callback_type_block_bio_complete(on_bio_complete);
}

static void take_tracepoint(struct tracepoint *tp, void *unused)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tp->name, hooks[i].name))
			hooks[i].tracepoint = tp;
}

void blklat_probe_init(void)
{
	for_each_kernel_tracepoint(take_tracepoint, NULL);
}

static bool wanted(const struct blklat_session *s, const struct hook *h)
{
	u32 stage;

	if (h->notes)
		return s->slow && s->slow->notes;
	if (h->hidden_splits && !s->hides_splits)
		return false;
	for (stage = 0; stage < BLKLAT_STAGES; stage++)
		if (s->stages[stage] && h->stages & 1 << stage)
			return h->tracepoint || !h->optional;
	return false;
}

/*
 * A bio held back by a limit of its cgroup (io.max) waits before block_bio_queue. The function that may
 * hold it back is called only for bios under a limit. Since a7b36ee6ba29, in 5.16, the check that every
 * bio passes is in a function before it.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
#define THROTTLE "__blk_throtl_bio"
#else
#define THROTTLE "blk_throtl_bio"
#endif

struct blklat_throttle {
	struct kprobe probe;
	struct blklat_session *session;
};

#ifdef CONFIG_KPROBES
static notrace int on_throttle(struct kprobe *probe, struct pt_regs *regs)
{
	blklat_capture_bio_hold(container_of(probe, struct blklat_throttle, probe)->session,
				(struct bio *)regs_get_kernel_argument(regs, 0));
	return 0;
}

/* Not every kernel has the function, or allows it to be probed. */
static void hook_throttle(struct blklat_session *s)
{
	struct blklat_throttle *t = kzalloc(sizeof(*t), BLKLAT_GFP);

	if (!t)
		return;
	t->probe.symbol_name = THROTTLE;
	t->probe.pre_handler = on_throttle;
	t->session = s;
	if (register_kprobe(&t->probe))
		kfree(t);
	else
		s->throttle = t;
}
#else
static void hook_throttle(struct blklat_session *s)
{
}
#endif

static void unhook_throttle(struct blklat_session *s)
{
	if (!s->throttle)
		return;
	unregister_kprobe(&s->throttle->probe);
	kfree(s->throttle);
	s->throttle = NULL;
}

static void unhook(struct blklat_session *s)
{
	u32 i;

	unhook_throttle(s);
	for (i = ARRAY_SIZE(hooks); i-- > 0;)
		if (s->hooked & 1 << i)
			tracepoint_probe_unregister(hooks[i].tracepoint, hooks[i].probe, s);
	s->hooked = 0;
}

static int hook(struct blklat_session *s, bool starts)
{
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (hooks[i].starts != starts || !wanted(s, &hooks[i]))
			continue;
		err = hooks[i].tracepoint ? tracepoint_probe_register(hooks[i].tracepoint, hooks[i].probe, s) :
					    -EOPNOTSUPP;
		if (err)
			return err;
		s->hooked |= 1 << i;
	}
	return 0;
}

int blklat_probe_ends(struct blklat_session *s)
{
	return hook(s, false);
}

int blklat_probe_starts(struct blklat_session *s)
{
	int err = hook(s, true);

	if (!err && s->stages[BLKLAT_STAGE_TOTAL])
		hook_throttle(s);
	return err;
}

void blklat_probe_stop(struct blklat_session *s)
{
	unhook(s);
	tracepoint_synchronize_unregister();
}
