// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_engine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/types.h"	/* the skeleton's own declarations use these names */

#include "../bpf/capture.h"	/* and struct target */
#include "blklat.skel.h"
#include "engine/slow.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* A tracepoint and a capture's programs for it. */
struct event {
	bool wanted;
	bool starts;			/* IOs start there; else they end */
	struct {
		struct bpf_program *prog;
		struct bpf_link **link;
	} turns[1 + BPF_STANDBYS];	/* the first program, and its standbys */
	struct bpf_program *unused;	/* the first program's counterpart for other kernels, if there is one */
};

#define TURN(name) { s->progs.name, &s->links.name }
#define TURNS(first, name) \
	.turns = { TURN(first), TURN(name##_standby1), TURN(name##_standby2), TURN(name##_standby3) }

/* A tracepoint for bios has another first program if the table of bios is a hash. */
#define EVENT_OF_BIOS(name) \
	(bios_in_hash ? (struct event){ TURNS(name##_hash, name), .unused = s->progs.name } : \
			(struct event){ TURNS(name, name), .unused = s->progs.name##_hash })
#define EVENT(name) ((struct event){ TURNS(name, name) })

static void list_programs(const struct bpf_capture *b, struct event ret[BPF_EVENTS])
{
	bool bios_in_hash = !b->traits.compares_and_exchanges;
	struct blklat *s = b->skel;

	ret[BPF_RQ_COMPLETE] = EVENT_OF_BIOS(on_rq_complete);
	ret[BPF_RQ_REQUEUE] = EVENT(on_rq_requeue);
	ret[BPF_BIO_COMPLETE] = EVENT_OF_BIOS(on_bio_complete);
	ret[BPF_RQ_ISSUE] = EVENT(on_rq_issue);
	ret[BPF_RQ_MERGE] = EVENT(on_rq_merge);
	ret[BPF_RQ_INSERT] = EVENT(on_rq_insert);
	ret[BPF_BIO_GETRQ] = EVENT_OF_BIOS(on_getrq);
	ret[BPF_BIO_BACKMERGE] = EVENT_OF_BIOS(on_backmerge);
	ret[BPF_BIO_FRONTMERGE] = EVENT_OF_BIOS(on_frontmerge);
	ret[BPF_BIO_SPLIT] = EVENT_OF_BIOS(on_bio_split);
	ret[BPF_BIO_REMAP] = EVENT_OF_BIOS(on_bio_remap);
	ret[BPF_BIO_QUEUE] = EVENT_OF_BIOS(on_bio_queue);
}

static void list_events(const struct bpf_capture *b, struct event ret[BPF_EVENTS])
{
	bool device = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_DEVICE);
	bool queue = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_QUEUE);
	bool total = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_TOTAL);
	bool wait = capture_has_stage(&b->kernel.capture, BLKLAT_STAGE_WAIT);

	list_programs(b, ret);
	/* Requests end the bios in them; some end without having left the queue. */
	ret[BPF_RQ_COMPLETE].wanted = device || queue || total;
	ret[BPF_RQ_REQUEUE].wanted = device;
	ret[BPF_BIO_COMPLETE].wanted = total;
	/* Issue and merge end stage queue, which insert starts. */
	ret[BPF_RQ_ISSUE].wanted = device || queue;
	ret[BPF_RQ_MERGE].wanted = queue && b->traits.traces_merges;
	ret[BPF_RQ_INSERT].wanted = queue;
	ret[BPF_BIO_GETRQ].wanted = wait;
	ret[BPF_BIO_BACKMERGE].wanted = wait;
	ret[BPF_BIO_FRONTMERGE].wanted = wait;
	ret[BPF_BIO_SPLIT].wanted = total;
	ret[BPF_BIO_REMAP].wanted = bpf_hides_splits(&b->kernel.capture);
	ret[BPF_BIO_QUEUE].wanted = total;
	for (u32 i = BPF_FIRST_START; i < BPF_EVENTS; i++)
		ret[i].starts = true;
}

/* This program is not part of a chain: see hold_in_mode(). */
static void choose_throttle(const struct bpf_capture *b, bool wanted)
{
	bool bios_in_hash = !b->traits.compares_and_exchanges;
	struct blklat *s = b->skel;

	bpf_program__set_autoload(s->progs.on_bio_throttle, wanted && !bios_in_hash);
	bpf_program__set_autoload(s->progs.on_bio_throttle_hash, wanted && bios_in_hash);
	if (wanted)
		bpf_program__set_attach_target(bios_in_hash ? s->progs.on_bio_throttle_hash : s->progs.on_bio_throttle,
					       0, b->traits.throttle);
}

/*
 * Replaces each exchange, a barrier, by nothing, each compare-and-exchange by a load, which leaves the comparison, and
 * each addition that fetches by one that does not, which leaves what was added. That does for notes of bios
 * (slow.bpf.h). Octaves are marked beforehand, see region_use_all_octaves().
 * The table of bios needs more; its programs are not among those that are loaded.
 */
static int fit_program(struct bpf_program *prog)
{
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns CLEANUP(cleanup_free) = calloc(n, sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	for (size_t i = 0; i < n; i++) {
		if (insns[i].code != (BPF_STX | BPF_ATOMIC | BPF_DW))
			continue;
		if (insns[i].imm == BPF_XCHG || (insns[i].imm & ~BPF_FETCH) == BPF_OR)
			insns[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
		else if (insns[i].imm == BPF_CMPXCHG)
			insns[i] = (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0,
						      .src_reg = insns[i].dst_reg, .off = insns[i].off };
		else if (insns[i].imm == (BPF_ADD | BPF_FETCH))
			insns[i].imm = BPF_ADD;
	}
	return bpf_program__set_insns(prog, insns, n);
}

int bpf_fit_programs(struct bpf_capture *b)
{
	struct bpf_program *prog;
	int err = 0;

	if (b->traits.compares_and_exchanges)
		return 0;
	bpf_object__for_each_program(prog, b->skel->obj)
		if (!err && bpf_program__autoload(prog))
			err = fit_program(prog);
	return err;
}

void bpf_choose_programs(struct bpf_capture *b)
{
	struct event events[BPF_EVENTS];

	list_events(b, events);
	for (u32 i = 0; i < BPF_EVENTS; i++) {
		const struct event *e = &events[i];

		bpf_program__set_autoload(e->turns[0].prog, e->wanted);
		/* If the kernel skips nothing, there is no need for standbys. */
		for (u32 turn = 1; turn <= BPF_STANDBYS; turn++)
			bpf_program__set_autoload(e->turns[turn].prog, e->wanted && !b->traits.unguarded);
		if (e->unused)
			bpf_program__set_autoload(e->unused, false);
	}
	choose_throttle(b, b->kernel.capture.sees_held);
	bpf_program__set_autoload(b->skel->progs.on_bio_note, slow_wants_notes(&b->kernel));
}

static u64 misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) ? 0 : info.recursion_misses;
}

/* An event that all programs of a chain missed was skipped for each of them. */
static u64 missed_by_all(const struct bpf_chain *c, const struct event *e)
{
	u64 least = UINT64_MAX;

	for (u32 turn = 0; turn < c->n; turn++) {
		u64 n = misses(e->turns[turn].prog) - c->base[turn];

		if (n < least)
			least = n;
	}
	return least;
}

/* Starts counting skipped runs anew. */
static void rebase(struct bpf_chain *c, const struct event *e, u64 ios)
{
	for (u32 turn = 0; turn < c->n; turn++)
		c->base[turn] = misses(e->turns[turn].prog);
	standbys_changed(&c->standbys, now_ns(), ios);
}

/*
 * Attaches the next program. The kernel runs a tracepoint's programs in the order in which they were attached
 * (func_add()). The program that was the last so far has to leave marks before the new one looks for them.
 */
static int attach_next(struct bpf_capture *b, enum bpf_event event, const struct event *e, u64 ios, struct problem *p)
{
	struct bpf_chain *c = &b->chains[event];
	struct bpf_program *prog = e->turns[c->n].prog;

	if (c->n)
		c->skipped += missed_by_all(c, e);
	__atomic_store_n(&b->skel->bss->standbys[event], c->n, __ATOMIC_SEQ_CST);
	*e->turns[c->n].link = bpf_program__attach(prog);
	if (!*e->turns[c->n].link)
		return problem_set(p, -errno, "could not attach %s: %s", bpf_program__name(prog), strerror(errno));
	c->n++;
	rebase(c, e, ios);
	return 0;
}

/*
 * The program before it becomes the last one only after the detaching. Until then it leaves marks that nobody
 * removes. Those that outlive their IO (struct mark) hide an event only if the first program is skipped at the next
 * one in the same place.
 */
static void detach_last(struct bpf_capture *b, enum bpf_event event, const struct event *e, u64 ios)
{
	struct bpf_chain *c = &b->chains[event];

	c->skipped += missed_by_all(c, e);
	c->n--;
	bpf_link__destroy(*e->turns[c->n].link);
	*e->turns[c->n].link = NULL;
	__atomic_store_n(&b->skel->bss->standbys[event], c->n - 1, __ATOMIC_SEQ_CST);
	rebase(c, e, ios);
}

static bool was_skipped(const struct bpf_chain *c, const struct event *e, u32 turn)
{
	return misses(e->turns[turn].prog) > c->base[turn];
}

static void adapt(struct bpf_capture *b, enum bpf_event event, const struct event *e, u64 ios)
{
	struct bpf_chain *c = &b->chains[event];
	u32 n = c->n - 1,
	    wanted = standbys_wanted(&c->standbys, n, was_skipped(c, e, 0), was_skipped(c, e, n), now_ns(), ios);
	struct problem unused;

	/* If no program can be attached, skips are still reported. */
	if (wanted > n && wanted <= BPF_STANDBYS)
		attach_next(b, event, e, ios, &unused);
	else if (wanted < n)
		detach_last(b, event, e, ios);
}

static void init_standbys(struct bpf_capture *b, enum bpf_event event, const struct event *e)
{
	const struct kernel_traits *t = &b->traits;

	standbys_init(&b->chains[event].standbys, &(struct standby_need){
		.unguarded = t->unguarded, .preemptible = t->preemptible, .starts = e->starts, .asked = t->standbys,
	});
}

static int attach_events(struct bpf_capture *b, bool starts, struct problem *p)
{
	struct event events[BPF_EVENTS];
	int err = 0;

	list_events(b, events);
	for (u32 i = 0; i < BPF_EVENTS; i++) {
		if (!events[i].wanted || events[i].starts != starts)
			continue;
		init_standbys(b, i, &events[i]);
		while (!err && b->chains[i].n < 1 + b->chains[i].standbys.at_first)
			err = attach_next(b, i, &events[i], 0, p);
	}
	return err;
}

int bpf_attach_ends(struct bpf_capture *b, struct problem *p)
{
	return attach_events(b, false, p);
}

static int attach_throttle(struct bpf_capture *b, struct problem *p)
{
	bool bios_in_hash = !b->traits.compares_and_exchanges;
	struct bpf_link **link = bios_in_hash ? &b->skel->links.on_bio_throttle_hash : &b->skel->links.on_bio_throttle;

	*link = bpf_program__attach(bios_in_hash ? b->skel->progs.on_bio_throttle_hash :
						     b->skel->progs.on_bio_throttle);
	return *link ? 0 : problem_set(p, -errno, "could not attach to %s(): %s", b->traits.throttle, strerror(errno));
}

/* Not part of a chain either: if it is skipped, only an IO's sender is not known. */
static int attach_notes(struct bpf_capture *b, struct problem *p)
{
	b->skel->links.on_bio_note = bpf_program__attach(b->skel->progs.on_bio_note);
	return b->skel->links.on_bio_note ? 0 : problem_set(p, -errno, "could not attach on_bio_note: %s", strerror(errno));
}

int bpf_attach_starts(struct bpf_capture *b, struct problem *p)
{
	int err = slow_wants_notes(&b->kernel) ? attach_notes(b, p) : 0;

	err = err ?: attach_events(b, true, p);
	return err || !b->kernel.capture.sees_held ? err : attach_throttle(b, p);
}

bool bpf_can_wait(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL;
}

void bpf_wait_for_programs(void *unused)
{
	(void)unused;
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

u64 bpf_skipped_runs(struct bpf_capture *b, u64 ios)
{
	struct event events[BPF_EVENTS];
	u64 skipped = 0;

	if (b->traits.unguarded)
		return 0;
	list_events(b, events);
	for (u32 i = 0; i < BPF_EVENTS; i++) {
		if (!events[i].wanted)
			continue;
		skipped += b->chains[i].skipped + missed_by_all(&b->chains[i], &events[i]);
		adapt(b, i, &events[i], ios);
	}
	return skipped;
}
