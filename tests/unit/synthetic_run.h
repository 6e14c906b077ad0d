/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs with known answers, interval by interval: how many IOs of which latencies, how many in flight. All
 * randomness comes from a fixed seed.
 */
#ifndef TEST_SYNTHETIC_RUN_H
#define TEST_SYNTHETIC_RUN_H

#include "unit.h"

#include <math.h>

#include "report/run.h"

#define READ BLKLAT_OP_READ
#define WRITE BLKLAT_OP_WRITE

#define SYNTHETIC_WATCHES 6
#define SYNTHETIC_START_NS (5000 * NSEC_PER_SEC)

struct synthetic {
	struct device device[SYNTHETIC_WATCHES];	/* sda, sdb, ...; watch i is of device i at first */
	struct device_table table;
	struct watch watch[SYNTHETIC_WATCHES];
	struct origin origin;
	struct snapshot now;
	struct watch_counts counts[SYNTHETIC_WATCHES];	/* their halts only */
	s64 waited_ns[SYNTHETIC_WATCHES];	/* by the IOs in flight */
	struct frames frames;
	struct run run;
	bool glanced;
	u64 random;
};

/* Adds an interval to a run, as collecting it does. */
static inline int run_add(struct run *r, const struct frames *interval)
{
	struct run_span where;

	return run_place(r, interval, &where) ? run_add_halts(r, &where, interval) ?: run_add_at(r, &where, interval) : 0;
}

static inline double synthetic_random(struct synthetic *s)
{
	return (double)(next_random(&s->random) >> 11) / (1ULL << 53);
}

static inline double synthetic_normal(struct synthetic *s)
{
	double u = 1 - synthetic_random(s), v = synthetic_random(s);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Devices and watches may be changed until synthetic_begin(). */
static inline void synthetic_init(struct synthetic *s)
{
	*s = (struct synthetic){ .random = 88172645463325252ULL };
	for (u32 i = 0; i < SYNTHETIC_WATCHES; i++) {
		snprintf(s->device[i].name, sizeof(s->device[i].name), "sd%c", 'a' + i);
		strcpy(s->device[i].kind, "disk");
		s->device[i].parent = i;
		s->watch[i] = (struct watch){ .device = &s->device[i], .stage = BLKLAT_STAGE_DEVICE };
	}
	s->table = (struct device_table){ .n = SYNTHETIC_WATCHES, .d = s->device };
	s->origin.start_mono_ns = SYNTHETIC_START_NS;
	s->origin.idle_gap_ns = 100000000;
	s->now.mono_ns = SYNTHETIC_START_NS;
}

static inline void synthetic_begin(struct synthetic *s, u32 n_watches, u32 scale, double interval_s)
{
	const struct collect_how how = { 0 };
	const struct run_info from = {
		.origin = &s->origin, .devices = &s->table, .watches = s->watch, .n_watches = n_watches,
		.engine = "bpf", .scale = scale, .interval_s = interval_s, .glanced = s->glanced,
	};

	assert_int_equal(run_init(&s->run, &from, &how), 0);
	assert_int_equal(frames_init(&s->frames, s->watch, n_watches, scale), 0);
	s->frames.now = &s->now;
	for (u32 i = 0; i < n_watches; i++)
		s->frames.f[i].counts = &s->counts[i];
}

/* @n IOs of 4 KiB and this latency in the interval that is being made. */
static inline void synthetic_io(struct synthetic *s, u32 watch, u32 op, u64 ns, u64 n)
{
	struct op_frame *o = &s->frames.f[watch].ops[op];

	if (!n)
		return;
	if (!o->ios || ns < o->min_ns)
		o->min_ns = ns;
	if (!o->ios || ns > o->max_ns)
		o->max_ns = ns;
	hist_put(&o->hist, blklat_cell(ns, o->hist.scale), n);
	o->ios += n;
	o->sum_ns += n * ns;
	o->bytes += n * 4096;
	s->frames.f[watch].accounting.completed += n;
}

/* The same for IOs that are all the first after a pause. */
static inline void synthetic_first_io(struct synthetic *s, u32 watch, u32 op, u64 ns, u64 n)
{
	struct op_frame *o = &s->frames.f[watch].ops[op];

	synthetic_io(s, watch, op, ns, n);
	hist_put(&o->after_idle, blklat_cell(ns, o->after_idle.scale), n);
	o->after_idle_ios += n;
	o->after_idle_sum_ns += n * ns;
}

/*
 * About @n IOs, log-normal around @median_ns with a spread of @sigma (natural logarithm). Each step of
 * an eighth of sigma has the noise of a Poisson process.
 */
static inline void synthetic_spread(struct synthetic *s, u32 watch, u32 op, const double median_sigma_n[3])
{
	double median = median_sigma_n[0], sigma = median_sigma_n[1], n = median_sigma_n[2];

	for (double z = -4; z < 4.5; z += 0.125) {
		double must = n * (erfc(-(z + 0.0625) / M_SQRT2) - erfc(-(z - 0.0625) / M_SQRT2)) / 2;
		double is = floor(must + sqrt(must) * synthetic_normal(s) + synthetic_random(s));

		synthetic_io(s, watch, op, llround(median * exp(sigma * (z + 0.125 * (synthetic_random(s) - 0.5)))), is > 0 ? is : 0);
	}
}

/* A halt in the interval that is being made, from and to so many seconds after its begin. */
static inline void synthetic_halt(struct synthetic *s, u32 watch, double from_s, double to_s)
{
	struct watch_counts *c = &s->counts[watch];

	c->halts[c->n_halts++] = (struct halt){ s->now.mono_ns + llround(from_s * 1e9), s->now.mono_ns + llround(to_s * 1e9) };
}

/* What is in flight as the interval ends. */
static inline void synthetic_in_flight(struct synthetic *s, u32 watch, u64 ios, u64 oldest_ns)
{
	s->frames.f[watch].in_flight = ios;
	s->frames.f[watch].oldest_ns = oldest_ns;
}

static inline void synthetic_clear(struct frame *f)
{
	f->in_flight = f->oldest_ns = 0;
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct op_frame *o = &f->ops[op];
		struct hist hist = o->hist, after_idle = o->after_idle;

		*o = (struct op_frame){ .hist = hist, .after_idle = after_idle };
		hist_clear(&o->hist);
		hist_clear(&o->after_idle);
	}
}

/* Ends the interval and begins the next. */
static inline void synthetic_tick(struct synthetic *s, double length_s)
{
	s->now.mono_ns += llround(length_s * 1e9);
	for (u32 i = 0; i < s->frames.n; i++) {
		struct frame *f = &s->frames.f[i];
		f->interval_s = length_s;
		/* As if all IOs in flight were as old as the oldest; one whose end was missed may reduce the sum. */
		f->in_flight_ns = f->in_flight * f->oldest_ns - s->waited_ns[i];
		s->waited_ns[i] = f->in_flight * f->oldest_ns;
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			f->in_flight_ns += f->ops[op].sum_ns;
		f->queue_depth = fmax(f->in_flight_ns / 1e9 / length_s, 0);
		f->accounting.in_flight = f->in_flight;
		f->accounting.started = f->accounting.completed + f->in_flight + f->accounting.lost;
	}
	assert_int_equal(run_add(&s->run, &s->frames), 0);
	for (u32 i = 0; i < s->frames.n; i++) {
		synthetic_clear(&s->frames.f[i]);
		s->counts[i].n_halts = 0;
	}
}

static inline void synthetic_uninit(struct synthetic *s)
{
	frames_uninit(&s->frames);
	run_uninit(&s->run);
}

/* The run of most tests. */
static struct synthetic s;

void tear_down_world(void)
{
	synthetic_uninit(&s);
	s = (struct synthetic){ 0 };
}

/* Begins it anew; devices and watches may be changed in between. */
static inline void init_run(void)
{
	tear_down_world();
	synthetic_init(&s);
}

static inline void begin_run(u32 n_watches, u32 scale, double interval_s)
{
	init_run();
	synthetic_begin(&s, n_watches, scale, interval_s);
}

static inline void assert_close(double is, double must, double tolerance)
{
	if (!(fabs(is - must) <= tolerance))
		fail_msg("is %.9g, must be %.9g +- %.3g", is, must, tolerance);
}

#endif
