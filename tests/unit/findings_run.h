/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs with known answers: each rule must report its own finding, and nothing else. */
#ifndef TEST_FINDINGS_RUN_H
#define TEST_FINDINGS_RUN_H

#include "synthetic_run.h"

#include "report/findings.h"

static struct findings fs;

void tear_down(void)
{
	findings_uninit(&fs);
	fs = (struct findings){ 0 };
}

static inline void begin(double interval_s)
{
	tear_down();
	begin_run(1, 6, interval_s);
}

/* Intervals of a second, unless the test begins anew. */
void set_up(void)
{
	begin(1);
}

static inline void judge(void)
{
	struct steady_window w;

	findings_uninit(&fs);
	run_finish(&s.run);
	w = steady_window_default(&s.run);
	assert_int_equal(findings_make(&s.run, &w, &fs), 0);
}

/* One second of IOs of equal latency at some queue depth. */
static inline void second(u32 op, u64 ns, u64 ios)
{
	synthetic_io(&s, 0, op, ns, ios);
	synthetic_in_flight(&s, 0, ios ? 4 : 0, ios ? ns / 2 : 0);
	synthetic_tick(&s, 1);
}

static inline u32 count(const char *kind)
{
	u32 n = 0;

	for (u32 i = 0; i < fs.n; i++)
		n += !strcmp(fs.f[i].kind, kind);
	return n;
}

static inline void show(void)
{
	for (u32 i = 0; i < fs.n; i++)
		print_message("  %s: %s\n", fs.f[i].kind, fs.f[i].text);
}

static inline void assert_count(const char *kind, u32 n)
{
	if (count(kind) != n) {
		show();
		fail_msg("%u findings of %s, must be %u", count(kind), kind, n);
	}
}

/* The only finding of its kind. */
static inline const struct finding *only(const char *kind)
{
	assert_count(kind, 1);
	for (u32 i = 0;; i++)
		if (!strcmp(fs.f[i].kind, kind))
			return &fs.f[i];
}

static inline double value(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return f->values[i].value;
	fail_msg("%s has no value %s", f->kind, name);
	return 0;
}

/* A value of the only finding of its kind. */
static inline void assert_value(const char *kind, const char *name, double must, double tolerance)
{
	assert_close(value(only(kind), name), must, tolerance);
}

static inline void assert_text(const char *kind, const char *text)
{
	assert_string_equal(only(kind)->text, text);
}

static inline void assert_ends(const struct finding *f, const char *words)
{
	if (strlen(f->text) < strlen(words) || strcmp(f->text + strlen(f->text) - strlen(words), words))
		fail_msg("'%s' must end with '%s'", f->text, words);
}

static inline bool has_value(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return true;
	return false;
}

/* Finds nothing, and only says whether the state is steady. */
static inline void assert_calm(void)
{
	if (count("steady_state") != fs.n) {
		show();
		fail_msg("%u findings of a steady run", fs.n);
	}
}

#endif
