/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs with known answers: each rule must report its own finding, and nothing else. */
#ifndef TEST_FINDINGS_RUN_H
#define TEST_FINDINGS_RUN_H

#include "synthetic_run.h"

#include "report/findings.h"

#define READ BLKLAT_OP_READ
#define WRITE BLKLAT_OP_WRITE

struct made {
	struct synthetic s;
	struct findings fs;
};

static inline void begin(struct made *m, double interval_s)
{
	synthetic_init(&m->s);
	synthetic_begin(&m->s, 1, 6, interval_s);
}

static inline void judge(struct made *m)
{
	struct steady_window w;

	run_finish(&m->s.run);
	steady_window_default(&m->s.run, &w);
	assert_int_equal(findings_make(&m->s.run, &w, &m->fs), 0);
}

static inline void end(struct made *m)
{
	findings_uninit(&m->fs);
	synthetic_uninit(&m->s);
}

/* One second of IOs of equal latency at some queue depth. */
static inline void second(struct made *m, u32 op, u64 ns, u64 ios)
{
	synthetic_io(&m->s, 0, op, ns, ios);
	synthetic_in_flight(&m->s, 0, ios ? 4 : 0, ios ? ns / 2 : 0);
	synthetic_tick(&m->s, 1);
}

static inline u32 count(const struct made *m, const char *kind)
{
	u32 n = 0;

	for (u32 i = 0; i < m->fs.n; i++)
		n += !strcmp(m->fs.f[i].kind, kind);
	return n;
}

static inline void show(const struct made *m)
{
	for (u32 i = 0; i < m->fs.n; i++)
		print_message("  %s: %s\n", m->fs.f[i].kind, m->fs.f[i].text);
}

static inline void assert_count(const struct made *m, const char *kind, u32 n)
{
	if (count(m, kind) != n) {
		show(m);
		fail_msg("%u findings of %s, must be %u", count(m, kind), kind, n);
	}
}

/* The only finding of its kind. */
static inline const struct finding *only(const struct made *m, const char *kind)
{
	assert_count(m, kind, 1);
	for (u32 i = 0;; i++)
		if (!strcmp(m->fs.f[i].kind, kind))
			return &m->fs.f[i];
}

static inline double value(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return f->values[i].value;
	fail_msg("%s has no value %s", f->kind, name);
	return 0;
}

static inline bool has_value(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return true;
	return false;
}

/* Finds nothing, and only says whether the state is steady. */
static inline void assert_calm(const struct made *m)
{
	if (count(m, "steady_state") != m->fs.n) {
		show(m);
		fail_msg("%u findings of a steady run", m->fs.n);
	}
}

#endif
