// SPDX-License-Identifier: GPL-2.0-only
/* What the process that captures tells the one that serves: the same comes out, of anything; and of garbage, nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sink/relay.h"

#define WATCHES 4
#define SCALE 6
#define ROUNDS 200

/* --- any run, any frames ---------------------------------------------------------------------- */

static u64 state;

static u64 any64(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state ^ state >> 29;
}

/* Of any length, so that short and long encodings are met. */
static u64 any(void)
{
	return any64() >> any64() % 64;
}

static double any_double(void)
{
	return (double)(s64)any64() / (any() + 1.0);
}

static void any_text(char *to, size_t size)
{
	size_t len = any64() % size;

	for (size_t i = 0; i < len; i++)
		to[i] = 1 + any64() % 255;
	to[len] = '\0';
}

static void any_device(struct device *d)
{
	memset(d, 0, sizeof(*d));
	any_text(d->name, sizeof(d->name));
	any_text(d->mapper, sizeof(d->mapper));
	any_text(d->kind, sizeof(d->kind));
	any_text(d->model, sizeof(d->model));
	any_text(d->serial, sizeof(d->serial));
	any_text(d->wwid, sizeof(d->wwid));
	any_text(d->scheduler, sizeof(d->scheduler));
	any_text(d->sysfs, sizeof(d->sysfs));
	d->major = any();
	d->minor = any();
	d->node = any();
	d->diskseq = any();
	d->size_bytes = any();
	d->hw_queues = any();
	d->tags = any();
	d->nr_requests = any();
	d->iostats = any() % 2;
	d->hidden = any() % 2;
	d->stages = any();
}

static void any_hist(struct hist *h)
{
	u32 cells = BLKLAT_CELLS(h->scale);

	hist_clear(h);
	for (u32 n = any() % 40; n; n--)
		hist_put(h, any64() % cells, (any() >> 10) + 1);
	if (any() % 4 == 0) {
		hist_put(h, 0, 1);
		hist_put(h, cells - 1, 1);
	}
}

static struct op_sums any_sums(void)
{
	return (struct op_sums){ .bytes = any(), .errors = any(), .sum_ns = any() };
}

/* Sums may be there without IOs; what has no meaning then is 0. */
static void any_op(struct op_frame *o, u32 percentiles)
{
	struct hist hist = o->hist, after_idle = o->after_idle;
	u32 kind = any64() % 3;

	hist_clear(&hist);
	hist_clear(&after_idle);
	*o = (struct op_frame){ .hist = hist, .after_idle = after_idle };
	if (!kind)
		return;
	o->partial = any_sums();
	o->counted = any_sums();
	if (kind == 1)
		return;
	any_hist(&o->hist);
	any_hist(&o->after_idle);
	o->ios = any() + 1;
	o->bytes = any();
	o->errors = any();
	o->sum_ns = any();
	o->min_ns = any();
	o->max_ns = any();
	o->iops = any_double();
	o->bytes_per_s = any_double();
	o->mean_ns = any_double();
	o->after_idle_ios = any();
	o->after_idle_sum_ns = any();
	for (u32 i = 0; i < percentiles; i++)
		o->percentile_ns[i] = any_double();
}

static void any_accounting(struct accounting *a)
{
	*a = (struct accounting){
		.started = any(), .completed = any(), .in_flight = any(), .lost = any(), .requeued = any(), .moved = any(),
		.before = any(), .unissued = any(), .skipped = any(), .skipped_unexplained = any(), .kernel_ios = any(),
		.kernel_in_flight = any(), .kernel_known = any() % 2, .kernel_leaves_out = any(),
	};
	for (u32 i = 0; i < LOST_REASONS; i++)
		a->lost_by[i] = any();
}

static void any_frames(struct frames *fs, u32 percentiles)
{
	fs->skipped_unexplained = any();
	for (u32 i = 0; i < fs->n; i++) {
		struct frame *f = &fs->f[i];

		f->end_ns = (s64)any64();
		f->interval_s = any_double();
		f->in_flight = any();
		f->oldest_ns = any();
		f->queue_depth = any_double();
		f->gone = any() % 2;
		f->replaced = any() % 2;
		f->pauses_hidden = any() % 2;
		any_accounting(&f->accounting);
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			any_op(&f->ops[op], percentiles);
	}
}

/* --- the same --------------------------------------------------------------------------------- */

static void assert_same_hist(const struct hist *a, const struct hist *b)
{
	assert_int_equal(a->scale, b->scale);
	assert_memory_equal(a->cells, b->cells, BLKLAT_CELLS(a->scale) * sizeof(*a->cells));
	assert_int_equal(hist_count(a), hist_count(b));
}

static void assert_same_frame(const struct frame *a, const struct frame *b, u32 percentiles)
{
	assert_int_equal(a->end_ns, b->end_ns);
	assert_memory_equal(&a->interval_s, &b->interval_s, sizeof(double));
	assert_int_equal(a->in_flight, b->in_flight);
	assert_int_equal(a->oldest_ns, b->oldest_ns);
	assert_memory_equal(&a->queue_depth, &b->queue_depth, sizeof(double));
	assert_true(a->gone == b->gone && a->replaced == b->replaced && a->pauses_hidden == b->pauses_hidden);
	assert_memory_equal(&a->accounting, &b->accounting, sizeof(a->accounting));
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &a->ops[op], *q = &b->ops[op];

		assert_same_hist(&o->hist, &q->hist);
		assert_same_hist(&o->after_idle, &q->after_idle);
		assert_memory_equal(&o->partial, &q->partial, sizeof(o->partial));
		assert_memory_equal(&o->counted, &q->counted, sizeof(o->counted));
		assert_true(o->ios == q->ios && o->bytes == q->bytes && o->errors == q->errors && o->sum_ns == q->sum_ns);
		assert_true(o->min_ns == q->min_ns && o->max_ns == q->max_ns);
		assert_memory_equal(&o->iops, &q->iops, sizeof(double));
		assert_memory_equal(&o->bytes_per_s, &q->bytes_per_s, sizeof(double));
		assert_memory_equal(&o->mean_ns, &q->mean_ns, sizeof(double));
		assert_memory_equal(o->percentile_ns, q->percentile_ns, percentiles * sizeof(double));
		assert_true(o->after_idle_ios == q->after_idle_ios && o->after_idle_sum_ns == q->after_idle_sum_ns);
	}
}

static void assert_same_run(const struct run_info *a, const struct watch *watches, u32 n, const struct run_info *b)
{
	assert_string_equal(a->version, b->version);
	assert_string_equal(a->engine, b->engine);
	assert_true(a->cpus == b->cpus && a->scale == b->scale && a->memory_bytes == b->memory_bytes);
	assert_true(a->interval_s == b->interval_s);
	assert_int_equal(a->percentiles.n, b->percentiles.n);
	for (u32 i = 0; i < a->percentiles.n; i++) {
		assert_true(a->percentiles.p[i].q == b->percentiles.p[i].q);
		assert_string_equal(a->percentiles.p[i].name, b->percentiles.p[i].name);
	}
	assert_int_equal(a->devices->n, b->devices->n);
	for (u32 i = 0; i < a->devices->n; i++) {
		const struct device *d = &a->devices->d[i], *e = &b->devices->d[i];

		assert_memory_equal(d->lower, e->lower, d->n_lower * sizeof(*d->lower));
		assert_true(d->parent == e->parent && d->n_lower == e->n_lower);
		assert_string_equal(d->name, e->name);
		assert_string_equal(d->sysfs, e->sysfs);
	}
	assert_int_equal(b->n_watches, n);
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(watches[i].stage, b->watches[i].stage);
		assert_string_equal(watches[i].device->name, b->watches[i].device->name);
		assert_string_equal(watches[i].device->wwid, b->watches[i].device->wwid);
		assert_string_equal(watches[i].device->model, b->watches[i].device->model);
		assert_int_equal(watches[i].device->size_bytes, b->watches[i].device->size_bytes);
		/* Sinks tell devices apart by their addresses. */
		if (i)
			assert_true((watches[i].device == watches[i - 1].device) ==
				    (b->watches[i].device == b->watches[i - 1].device));
	}
}

/* --- a run to begin with ---------------------------------------------------------------------- */

struct world {
	struct device devices[3];
	struct device_table table;
	struct watch watches[WATCHES];
	struct run_info run;
	struct frames frames;
};

static void world_init(struct world *w, u64 seed)
{
	state = seed;
	memset(w, 0, sizeof(*w));
	for (u32 i = 0; i < ARRAY_SIZE(w->devices); i++) {
		any_device(&w->devices[i]);
		w->devices[i].parent = any64() % 3;
		w->devices[i].n_lower = any64() % 33;
		for (u32 j = 0; j < w->devices[i].n_lower; j++)
			w->devices[i].lower[j] = any64() % 3;
	}
	w->table = (struct device_table){ .n = 3, .d = w->devices };
	for (u32 i = 0; i < WATCHES; i++)
		w->watches[i] = (struct watch){ .device = &w->devices[i / 2], .stage = i % BLKLAT_STAGES };
	w->run = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = w->watches, .n_watches = WATCHES, .devices = &w->table,
		.cpus = any(), .scale = SCALE, .memory_bytes = any(), .interval_s = any_double(), .percentiles = percentiles_default,
	};
	assert_int_equal(frames_init(&w->frames, w->watches, WATCHES, SCALE), 0);
	frames_track(&w->frames);
	any_frames(&w->frames, w->run.percentiles.n);
}

static void test_runs_come_out_the_same(void **unused)
{
	(void)unused;
	for (u32 seed = 0; seed < ROUNDS; seed++) {
		struct wire_out bytes = { 0 };
		struct wired_run got;
		struct world w;

		world_init(&w, seed);
		wire_put_run(&bytes, &w.run, w.watches, WATCHES);
		assert_false(bytes.failed);
		assert_int_equal(wire_get_run(&(struct wire_in){ bytes.data, bytes.data + bytes.len, false }, &got), 0);
		got.info.devices = &got.devices;
		assert_same_run(&w.run, w.watches, WATCHES, &got.info);
		wired_run_free(&got);
		wire_out_free(&bytes);
		frames_uninit(&w.frames);
	}
}

static void test_frames_come_out_the_same(void **unused)
{
	(void)unused;
	for (u32 seed = 0; seed < ROUNDS; seed++) {
		const struct snapshot now = { .idle_gap_ns = seed * 1000 };
		struct wire_out bytes = { 0 };
		struct frames got;
		struct world w;
		u64 gap_ns;

		world_init(&w, seed);
		assert_int_equal(frames_init(&got, w.watches, WATCHES, SCALE), 0);
		frames_track(&got);
		/* Into what an interval before has left. */
		any_frames(&got, w.run.percentiles.n);
		w.frames.now = seed ? &now : NULL;
		wire_put_frames(&bytes, &w.run, &w.frames);
		assert_int_equal(wire_get_frames(&(struct wire_in){ bytes.data, bytes.data + bytes.len, false }, &w.run, &got,
						 &gap_ns), 0);
		assert_int_equal(gap_ns, seed * 1000);
		assert_int_equal(got.skipped_unexplained, w.frames.skipped_unexplained);
		for (u32 i = 0; i < WATCHES; i++)
			assert_same_frame(&w.frames.f[i], &got.f[i], w.run.percentiles.n);
		frames_uninit(&got);
		wire_out_free(&bytes);
		frames_uninit(&w.frames);
	}
}

static void test_idle_watches_take_few_bytes(void **unused)
{
	struct wire_out bytes = { 0 };
	struct frames idle;
	struct world w;

	(void)unused;
	world_init(&w, 1);
	assert_int_equal(frames_init(&idle, w.watches, WATCHES, SCALE), 0);
	wire_put_frames(&bytes, &w.run, &idle);
	assert_true(bytes.len <= WATCHES * 64);
	wire_out_free(&bytes);
	frames_uninit(&idle);
	frames_uninit(&w.frames);
}

/* --- what is no message ----------------------------------------------------------------------- */

/* On a copy of its own, so that a sanitizer sees what is read beyond. */
static int read_run(const u8 *data, size_t len)
{
	u8 *copy = malloc(len ? len : 1);
	struct wired_run got;
	int err;

	memcpy(copy, data, len);
	err = wire_get_run(&(struct wire_in){ copy, copy + len, false }, &got);
	if (!err)
		wired_run_free(&got);
	free(copy);
	return err;
}

static int read_frames(const struct world *w, struct frames *into, const u8 *data, size_t len)
{
	u8 *copy = malloc(len ? len : 1);
	u64 gap_ns;
	int err;

	memcpy(copy, data, len);
	err = wire_get_frames(&(struct wire_in){ copy, copy + len, false }, &w->run, into, &gap_ns);
	free(copy);
	return err;
}

static void test_what_is_cut_off_is_refused(void **unused)
{
	struct wire_out run = { 0 }, frames = { 0 };
	struct frames into;
	struct world w;

	(void)unused;
	world_init(&w, 7);
	assert_int_equal(frames_init(&into, w.watches, WATCHES, SCALE), 0);
	frames_track(&into);
	wire_put_run(&run, &w.run, w.watches, WATCHES);
	wire_put_frames(&frames, &w.run, &w.frames);
	for (size_t len = 0; len < run.len; len++)
		assert_int_equal(read_run(run.data, len), -EBADMSG);
	for (size_t len = 0; len < frames.len; len++)
		assert_int_equal(read_frames(&w, &into, frames.data, len), -EBADMSG);
	/* One byte too many. */
	wire_put(&run, 0);
	wire_put(&frames, 0);
	assert_int_equal(read_run(run.data, run.len), -EBADMSG);
	assert_int_equal(read_frames(&w, &into, frames.data, frames.len), -EBADMSG);
	wire_out_free(&run);
	wire_out_free(&frames);
	frames_uninit(&into);
	frames_uninit(&w.frames);
}

/* A byte here and there is another: taken or refused, nothing is overrun (the sanitized build runs this too). */
static void test_garbage_does_no_harm(void **unused)
{
	struct wire_out run = { 0 }, frames = { 0 };
	struct frames into;
	struct world w;
	u32 refused = 0;

	(void)unused;
	world_init(&w, 11);
	assert_int_equal(frames_init(&into, w.watches, WATCHES, SCALE), 0);
	frames_track(&into);
	wire_put_run(&run, &w.run, w.watches, WATCHES);
	wire_put_frames(&frames, &w.run, &w.frames);
	for (u32 i = 0; i < 3000; i++) {
		size_t a = any64() % run.len, b = any64() % frames.len;
		u8 was_a = run.data[a], was_b = frames.data[b];

		run.data[a] = any64();
		frames.data[b] = any64();
		refused += read_run(run.data, run.len) != 0;
		refused += read_frames(&w, &into, frames.data, frames.len) != 0;
		run.data[a] = was_a;
		frames.data[b] = was_b;
	}
	assert_true(refused > 100);
	wire_out_free(&run);
	wire_out_free(&frames);
	frames_uninit(&into);
	frames_uninit(&w.frames);
}

/* --- the whole way ---------------------------------------------------------------------------- */

/* A sink that adds up what it is told, as totals do. */
struct told {
	u32 opens, closes, intervals;
	u64 reads, drain_ns, mono_ns, bytes, ios;
	double length_s;
	char stopped[64], last_device[DEVICE_NAME_MAX];
};

struct fake_sink {
	struct sink sink;
	struct told *told;
};

static int fake_open(const struct run_info *run, const struct sink_config *cfg, struct sink **ret);

static int fake_interval(struct sink *s, const struct frames *fs)
{
	struct told *t = ((struct fake_sink *)s)->told;

	t->intervals++;
	for (u32 i = 0; i < fs->n; i++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			t->bytes += fs->f[i].ops[op].counted.bytes;
			t->ios += hist_count(&fs->f[i].ops[op].hist);
		}
		strcpy(t->last_device, fs->f[i].watch->device->name);
	}
	t->length_s += fs->n ? fs->f[0].interval_s : 0;
	return 0;
}

static int fake_summary(struct sink *s, const struct frames *run)
{
	(void)s;
	(void)run;
	return 0;
}

static void fake_close(struct sink *s)
{
	if (s)
		((struct fake_sink *)s)->told->closes++;
	free(s);
}

static const struct sink_ops fake_ops = {
	.name = "fake", .open = fake_open, .interval = fake_interval, .summary = fake_summary, .close = fake_close,
};

static int fake_open(const struct run_info *run, const struct sink_config *cfg, struct sink **ret)
{
	struct fake_sink *s = calloc(1, sizeof(*s));

	(void)run;
	assert_non_null(s);
	*s = (struct fake_sink){ .sink.ops = &fake_ops, .told = (struct told *)cfg->out };
	s->told->opens++;
	*ret = &s->sink;
	return 0;
}

static void on_interval(void *told, u64 mono_ns, u64 reads, u64 drain_ns)
{
	struct told *t = told;

	t->mono_ns = mono_ns;
	t->reads += reads;
	t->drain_ns += drain_ns;
}

static void on_stopped(void *told, const char *why)
{
	snprintf(((struct told *)told)->stopped, sizeof(((struct told *)told)->stopped), "%s", why);
}

/* Both ends in one process. */
struct line {
	struct world w;
	struct channel *channel;
	struct relay *relay;
	struct sink *sink;
	struct sink_config to;
	struct channel_reader reader;
	struct relayed_config cfg;
	struct relayed *relayed;
	struct told told;
	u64 ios, bytes;			/* that went in */
	u32 runs;			/* messages of that kind */
};

static int take(void *line, u32 kind, struct wire_in *bytes)
{
	struct line *l = line;

	l->runs += kind == RELAY_RUN;
	return relayed_take(l->relayed, kind, bytes);
}

static void line_open(struct line *l)
{
	int pair[2];

	memset(l, 0, sizeof(*l));
	world_init(&l->w, 3);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(channel_new(pair[0], &l->channel), 0);
	assert_int_equal(relay_new(l->channel, &l->relay), 0);
	l->reader.fd = pair[1];
	l->cfg = (struct relayed_config){
		.n_sinks = 1, .sinks = { { &fake_ops, { .out = (FILE *)&l->told } } },
		.interval = on_interval, .stopped = on_stopped, .into = &l->told,
	};
	assert_int_equal(relayed_new(&l->cfg, &l->relayed), 0);
	l->to.relay = l->relay;
	assert_int_equal(sink_relay.open(&l->w.run, &l->to, &l->sink), 0);
}

static void line_close(struct line *l)
{
	sink_relay.close(l->sink);
	relay_free(l->relay);
	channel_free(l->channel);
	relayed_free(l->relayed);
	channel_reader_uninit(&l->reader);
	close(l->reader.fd);
	frames_uninit(&l->w.frames);
	assert_int_equal(l->told.opens, l->told.closes);
}

/* An interval of a second, with so many IOs of 100 us in each of @spread cells. */
static void line_interval(struct line *l, u32 spread)
{
	struct frames *fs = &l->w.frames;

	for (u32 i = 0; i < fs->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct op_frame *o = &fs->f[i].ops[op];

			hist_clear(&o->hist);
			hist_clear(&o->after_idle);
			*o = (struct op_frame){ .hist = o->hist, .after_idle = o->after_idle };
			for (u32 cell = 0; cell < spread; cell++)
				hist_put(&o->hist, 300 + cell, 3);
			o->ios = hist_count(&o->hist);
			o->counted.bytes = o->bytes = o->ios * 4096;
			o->sum_ns = o->ios * 100000;
			l->ios += o->ios;
			l->bytes += o->bytes;
		}
	for (u32 i = 0; i < fs->n; i++)
		fs->f[i].interval_s = 1;
	fs->now = NULL;
	relay_drained(l->relay, 1000);
	assert_int_equal(l->sink->ops->interval(l->sink, fs), 0);
}

static void test_what_is_told_arrives(void **unused)
{
	struct line l;

	(void)unused;
	line_open(&l);
	assert_int_equal(channel_start(l.channel), 0);
	for (u32 i = 0; i < 50; i++)
		line_interval(&l, 20);
	assert_int_equal(relay_stop(l.relay, "the end"), 0);
	while (!l.told.stopped[0])
		assert_int_equal(channel_read(&l.reader, take, &l), 0);
	assert_string_equal(l.told.stopped, "the end");
	assert_true(l.told.intervals == 50 && l.told.reads == 50 && l.told.drain_ns == 50000 && l.told.opens == 1);
	assert_true(l.told.ios == l.ios && l.told.bytes == l.bytes && l.told.length_s == 50);
	assert_int_equal(l.runs, 0);	/* nothing of the run has changed */
	line_close(&l);
}

/* Nobody reads: what waits is bounded, and nothing that was counted is missing when somebody does. */
static void test_a_slow_reader_gets_longer_intervals(void **unused)
{
	const u32 n = 4000;
	struct line l;
	size_t most = 0;

	(void)unused;
	line_open(&l);
	assert_int_equal(channel_start(l.channel), 0);
	for (u32 i = 0; i < n; i++) {
		size_t waits;

		line_interval(&l, 300);
		waits = channel_waiting(l.channel);
		most = waits > most ? waits : most;
	}
	assert_true(most > RELAY_HOLD && most < RELAY_HOLD + (1 << 20));
	/* With what is held, and in order: it goes before what is said after it. */
	assert_int_equal(relay_stop(l.relay, "the end"), 0);
	while (!l.told.stopped[0])
		assert_int_equal(channel_read(&l.reader, take, &l), 0);
	assert_true(l.told.intervals > 10 && l.told.intervals < n / 2);
	assert_true(l.told.reads == n && l.told.drain_ns == n * 1000);
	assert_true(l.told.ios == l.ios && l.told.bytes == l.bytes && l.told.length_s == n);
	line_close(&l);
}

/* Held intervals are of the devices that there were, also when these go while nobody reads. */
static void test_devices_that_go_while_nobody_reads(void **unused)
{
	struct line l;

	(void)unused;
	line_open(&l);
	for (u32 i = 0; channel_waiting(l.channel) <= RELAY_HOLD; i++)
		line_interval(&l, 300);
	line_interval(&l, 300);		/* held */
	l.w.frames.n--;
	memset(l.w.devices[1].name, 'x', 5);	/* as when memory is used again */
	line_interval(&l, 300);
	assert_int_equal(relay_stop(l.relay, "the end"), 0);
	assert_int_equal(channel_start(l.channel), 0);
	while (!l.told.stopped[0])
		assert_int_equal(channel_read(&l.reader, take, &l), 0);
	assert_true(l.told.ios == l.ios && l.told.bytes == l.bytes);
	assert_int_equal(l.runs, 1);
	l.w.frames.n++;
	line_close(&l);
}

/* It ends at last, rather than to take all memory: each change of the devices is a message of its own. */
static void test_what_waits_has_an_end(void **unused)
{
	struct line l;
	int err = 0;

	(void)unused;
	line_open(&l);
	for (u32 i = 0; !err && i < 100000; i++) {
		l.w.run.memory_bytes = i;
		any_frames(&l.w.frames, 5);
		err = l.sink->ops->interval(l.sink, &l.w.frames);
		assert_true(channel_waiting(l.channel) <= CHANNEL_MOST);
	}
	assert_int_equal(err, -ENOBUFS);
	line_close(&l);
}

static void test_a_reader_that_has_gone(void **unused)
{
	struct line l;

	(void)unused;
	line_open(&l);
	assert_int_equal(channel_start(l.channel), 0);
	shutdown(l.reader.fd, SHUT_RDWR);
	for (u32 i = 0; i < 1000; i++)
		line_interval(&l, 300);
	assert_true(channel_waiting(l.channel) <= RELAY_HOLD + (1 << 20));
	line_close(&l);
}

static void test_messages_out_of_order_are_refused(void **unused)
{
	struct wire_in nothing = { 0 };
	struct relayed_config cfg = { 0 };
	struct relayed *r;

	(void)unused;
	assert_int_equal(relayed_new(&cfg, &r), 0);
	for (u32 kind = 0; kind < RELAY_MESSAGES + 3; kind++)
		assert_int_equal(relayed_take(r, kind, &nothing), -EBADMSG);
	relayed_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_come_out_the_same),
		cmocka_unit_test(test_frames_come_out_the_same),
		cmocka_unit_test(test_idle_watches_take_few_bytes),
		cmocka_unit_test(test_what_is_cut_off_is_refused),
		cmocka_unit_test(test_garbage_does_no_harm),
		cmocka_unit_test(test_what_is_told_arrives),
		cmocka_unit_test(test_a_slow_reader_gets_longer_intervals),
		cmocka_unit_test(test_devices_that_go_while_nobody_reads),
		cmocka_unit_test(test_what_waits_has_an_end),
		cmocka_unit_test(test_a_reader_that_has_gone),
		cmocka_unit_test(test_messages_out_of_order_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
