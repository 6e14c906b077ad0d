/* SPDX-License-Identifier: GPL-2.0-only */
/* Random runs and frames, a world of them to begin with, and a comparison of two; for tests of what is sent of them. */
#ifndef TEST_ANY_FRAMES_H
#define TEST_ANY_FRAMES_H

#include "unit.h"

#include "blklat/parts.h"
#include "core/sink.h"

#define WATCHES 6
#define SCALE 6

/* --- any run, any frames ---------------------------------------------------------------------- */

static u64 random_state;

static inline u64 any64(void)
{
	return next_random(&random_state);
}

/* A number of any length, so that both short and long encodings occur. */
static inline u64 any(void)
{
	u64 n = any64();

	return n >> any64() % 64;
}

static inline double any_double(void)
{
	s64 n = any64();

	return n / (any() + 1.0);
}

static inline void any_text(char *to, size_t size)
{
	size_t len = any64() % size;

	for (size_t i = 0; i < len; i++)
		to[i] = 1 + any64() % 255;
	to[len] = '\0';
}

/* Plain numbers and bytes, of which the wire takes whole structs. */
static inline void any_bytes(void *to, size_t size)
{
	for (size_t i = 0; i < size / sizeof(u64); i++)
		((u64 *)to)[i] = any();
}

static inline void any_device(struct device *d)
{
	*d = (struct device){ 0 };
	any_bytes(d, offsetof(struct device, shared_tags));
	any_text(d->name, sizeof(d->name));
}

static inline void any_hist(struct hist *h)
{
	u32 cells = BLKLAT_CELLS(h->scale);

	hist_clear(h);
	for (u32 n = any() % 40; n; n--)
		hist_put(h, any64() % cells, (any() >> 22) + 1);
	if (any() % 4 == 0) {
		hist_put(h, 0, 1);
		hist_put(h, cells - 1, 1);
	}
}

/* Sums may exist without IOs; what has no meaning then is 0. */
static inline void any_op(struct op_frame *o)
{
	struct hist hist = o->hist, after_idle = o->after_idle;
	u32 kind = any64() % 3;

	hist_clear(&hist);
	hist_clear(&after_idle);
	*o = (struct op_frame){ .hist = hist, .after_idle = after_idle };
	if (kind) {
		any_bytes(&o->partial, sizeof(o->partial));
		any_bytes(&o->counted, sizeof(o->counted));
	}
	if (kind < 2)
		return;
	any_bytes(o, offsetof(struct op_frame, percentile_ns));
	o->ios = any() + 1;
	any_hist(&o->hist);
	any_hist(&o->after_idle);
}

static inline void any_accounting(struct accounting *a)
{
	any_bytes(a, offsetof(struct accounting, kernel_known));
	a->kernel_known = any() % 2;
}

static inline void any_frames(struct frames *fs)
{
	fs->skipped_unexplained = any();
	for (u32 i = 0; i < fs->n; i++) {
		struct frame *f = &fs->f[i];

		f->number = any();
		f->end_ns = (s64)any64();
		f->interval_s = any_double();
		f->in_flight = any();
		f->oldest_ns = any();
		f->queue_depth = any_double();
		f->busy_known = any() % 2;
		f->busy = any_double();
		f->gone = any() % 2;
		f->replaced = any() % 2;
		f->pauses_hidden = any() % 2;
		any_accounting(&f->accounting);
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			any_op(&f->ops[op]);
	}
}

/* Slow IOs of wholes, some of them in a part. The list is sorted, as an interval's is. */
static inline void any_slow(struct slow_ios *slow, const struct watch *watches, u32 n)
{
	for (u32 k = any64() % 60; k; k--) {
		struct slow_io io = { .watch = any64() % n, .end_ns = (s64)any64() };
		u32 part = any64() % 3;
		char path[300];

		if (watches[io.watch].part)
			continue;
		if (part && io.watch + part < n && watches[io.watch + part].part)
			io.part = watches[io.watch + part].part;
		io.told = (struct blklat_slow){
			.latency_ns = any(), .queue_ns = any(), .device_ns = any(), .sector = any(), .bytes = any(), .error = (s32)any64(),
			.submitter = any(), .hw_queue = any(), .start_cpu = any(), .end_cpu = any(), .op = any64() % BLKLAT_OPS, .known = any(),
			.depth = any(), .beside = any64() % (BLKLAT_BESIDE_PARTS + 1), .flags = any64() % (BLKLAT_FLAGS_PARTS + 1),
		};
		any_text(io.told.comm, sizeof(io.told.comm));
		any_text(path, sizeof(path));
		io.cgroup = any64() % 2 ? path : NULL;
		assert_int_equal(slow_ios_add(slow, &io), 0);
	}
	slow_ios_sort(slow);
}

/* --- the same --------------------------------------------------------------------------------- */

static inline void assert_same_hist(const struct hist *a, const struct hist *b)
{
	assert_int_equal(a->scale, b->scale);
	assert_memory_equal(a->cells, b->cells, BLKLAT_CELLS(a->scale) * sizeof(*a->cells));
	assert_int_equal(hist_count(a), hist_count(b));
}

static inline void assert_same_frame(const struct frame *a, const struct frame *b)
{
	assert_int_equal(a->number, b->number);
	assert_memory_equal(&a->end_ns, &b->end_ns, sizeof(u64) + sizeof(double));
	assert_true(a->in_flight == b->in_flight && a->oldest_ns == b->oldest_ns && a->queue_depth == b->queue_depth);
	assert_true(a->busy_known == b->busy_known && a->busy == b->busy);
	assert_true(a->gone == b->gone && a->replaced == b->replaced && a->pauses_hidden == b->pauses_hidden);
	assert_memory_equal(&a->accounting, &b->accounting, sizeof(a->accounting));
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &a->ops[op], *q = &b->ops[op];

		assert_memory_equal(o, q, offsetof(struct op_frame, percentile_ns));
		assert_same_hist(&o->hist, &q->hist);
		assert_same_hist(&o->after_idle, &q->after_idle);
	}
}

static inline void assert_same_run(const struct run_info *a, const struct watch *watches, u32 n, const struct run_info *b)
{
	assert_string_equal(a->version, b->version);
	assert_string_equal(a->engine, b->engine);
	assert_true(a->cpus == b->cpus && a->scale == b->scale && a->memory_bytes == b->memory_bytes);
	assert_true(a->interval_s == b->interval_s && a->slow_most == b->slow_most);
	assert_memory_equal(&a->percentiles, &b->percentiles, sizeof(a->percentiles));
	assert_int_equal(a->devices->n, b->devices->n);
	for (u32 i = 0; i < a->devices->n; i++)
		assert_memory_equal(&a->devices->d[i], &b->devices->d[i], sizeof(struct device));
	assert_int_equal(b->n_watches, n);
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(watches[i].stage, b->watches[i].stage);
		assert_ptr_equal(watches[i].part, b->watches[i].part);
		assert_memory_equal(watches[i].device, b->watches[i].device, offsetof(struct device, parent));
		/* Followers tell devices apart by their addresses. */
		if (i)
			assert_true((watches[i].device == watches[i - 1].device) ==
				    (b->watches[i].device == b->watches[i - 1].device));
	}
}

static inline void assert_same_slow_io(const struct slow_io *a, const struct slow_io *b)
{
	assert_int_equal(a->watch, b->watch);
	assert_true(a->part == b->part && a->end_ns == b->end_ns);
	assert_true(!a->cgroup == !b->cgroup);
	if (a->cgroup)
		assert_string_equal(a->cgroup, b->cgroup);
	assert_memory_equal(&a->told, &b->told, sizeof(a->told));
}

static inline void assert_same_slow_ios(const struct slow_ios *a, const struct slow_ios *b)
{
	assert_int_equal(a->n, b->n);
	for (u32 i = 0; i < a->n_watches; i++) {
		assert_int_equal(a->of[i].found, b->of[i].found);
		assert_int_equal(a->of[i].n, b->of[i].n);
	}
	for (u32 i = 0; i < a->n; i++)
		assert_same_slow_io(&a->io[i], &b->io[i]);
}

/* --- a run to begin with ---------------------------------------------------------------------- */

static struct {
	struct device devices[3];
	struct device_table table;
	struct watch watches[WATCHES];
	struct run_info run;
	struct frames frames;
	struct slow_ios slow;
} w;

void tear_down_world(void)
{
	slow_ios_uninit(&w.slow);
	frames_uninit(&w.frames);
}

/* Begins it anew. */
static inline void world_init(u64 seed)
{
	/* The first device has a whole, two parts and another whole, the second a whole and a part. */
	static const char *const labels[WATCHES] = { "", "4 KiB", "1 MiB+", "", "", "8 KiB" };

	tear_down_world();
	memset(&w, 0, sizeof(w));
	random_state = seed + 1;
	for (u32 i = 0; i < ARRAY_SIZE(w.devices); i++) {
		any_device(&w.devices[i]);
		w.devices[i].parent = any64() % 3;
		w.devices[i].n_lower = any64() % 33;
		for (u32 j = 0; j < w.devices[i].n_lower; j++)
			w.devices[i].lower[j] = any64() % 3;
	}
	w.table = (struct device_table){ .n = 3, .d = w.devices };
	for (u32 i = 0; i < WATCHES; i++)
		w.watches[i] = (struct watch){ .device = &w.devices[i / 4], .stage = i == 3, .part = part_find("size", labels[i]) };
	w.run = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = w.watches, .n_watches = WATCHES, .devices = &w.table,
		.cpus = any(), .scale = SCALE, .memory_bytes = any(), .interval_s = any_double(),
		.percentiles = percentiles_default,
	};
	assert_int_equal(frames_init(&w.frames, w.watches, WATCHES, SCALE), 0);
	any_frames(&w.frames);
	w.run.slow_most = seed % 3 ? 1 + seed % 20 : 0;
	assert_int_equal(slow_ios_init(&w.slow, WATCHES, w.run.slow_most), 0);
	if (!w.run.slow_most)
		return;
	any_slow(&w.slow, w.watches, WATCHES);
	frames_set_slow(&w.frames, &w.slow);
}

#endif
