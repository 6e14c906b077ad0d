// SPDX-License-Identifier: GPL-2.0-only
/* Conditions of --fail-if: what may be written, and what holds then. */
#include "synthetic_run.h"

#include <errno.h>

#include "report/condition.h"

TEST(what_may_be_written)
{
	static const struct {
		const char *text;
		int op;
		enum condition_metric metric;
		enum condition_comparison comparison;
		bool relative;
		double limit;
	} cases[] = {
		{ "read.p99 > +10%", READ, METRIC_PERCENTILE, ABOVE, true, 10 },
		{ "write.iops < -5%", WRITE, METRIC_IOPS, BELOW, true, -5 },
		{ "read.max > 20ms", READ, METRIC_MAX, ABOVE, false, 20e6 },
		{ "read.p99.9>=300us", READ, METRIC_PERCENTILE, AT_LEAST, false, 300e3 },
		{ "  total.iops\t<=  50000 ", -1, METRIC_IOPS, AT_MOST, false, 50000 },
		{ "total.iops < 1.5M", -1, METRIC_IOPS, BELOW, false, 1.5e6 },
		{ "flush.mean>1.5s", BLKLAT_OP_FLUSH, METRIC_MEAN, ABOVE, false, 1.5e9 },
		{ "discard.min < 800ns", BLKLAT_OP_DISCARD, METRIC_MIN, BELOW, false, 800 },
		{ "other.MB/s < 0.5k", BLKLAT_OP_OTHER, METRIC_MBPS, BELOW, false, 500 },
		{ "read.mbps < 12.5", READ, METRIC_MBPS, BELOW, false, 12.5 },
		{ "read.ks > 0.1", READ, METRIC_KS, ABOVE, false, 0.1 },
		{ "read.ks > 1", READ, METRIC_KS, ABOVE, false, 1 },
		{ "total.errors > 0", -1, METRIC_ERRORS, ABOVE, false, 0 },
		{ "total.lost > 0", -1, METRIC_LOST, ABOVE, false, 0 },
		{ "read.p100 > +0.5%", READ, METRIC_PERCENTILE, ABOVE, true, 0.5 },
		{ "read.p99 > +10% beyond noise", READ, METRIC_PERCENTILE, ABOVE, true, 10 },
		{ "total.iops<-5% \tbeyond  noise ", -1, METRIC_IOPS, BELOW, true, -5 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct condition c;
		struct problem p;

		if (condition_parse("--fail-if", cases[i].text, &c, &p))
			fail_msg("%s: %s", cases[i].text, p.text);
		assert_int_equal(c.op, cases[i].op);
		assert_int_equal(c.metric, cases[i].metric);
		assert_int_equal(c.comparison, cases[i].comparison);
		assert_int_equal(c.relative, cases[i].relative);
		assert_close(c.limit, cases[i].limit, 0);
		assert_int_equal(c.beyond_noise, !!strstr(cases[i].text, "beyond"));
	}
}

TEST(what_may_not)
{
	static const char ops[] = "read, write, flush, discard, other or total",
		metrics[] = "iops, mbps, mean, min, max, errors, lost, ks or a percentile such as p99.9",
		comparisons[] = "<, <=, > or >=", latency[] = "a latency such as 20ms, 300us or 1.5s, or a change such as +10%",
		number[] = "a number such as 50000 or 50k, or a change such as -5%", share[] = "a distance from 0 to 1, such as 0.1",
		signed_change[] = "a change with its sign, such as +10% or -5%";
	/* From where on the text is wrong, and what must be there. */
	static const struct { const char *text, *at, *must; } cases[] = {
		{ " : read.p99 > 1ms", ": read.p99 > 1ms", "the name of a phase before the colon" },
		{ "a:b", "b", ops }, { "", "", ops }, { "reed.p99 > 1ms", "reed.p99 > 1ms", ops },
		{ "read > 1ms", " > 1ms", "a dot and a metric, as in read.p99" },
		{ "read.p101 > 1ms", "p101 > 1ms", metrics }, { "read.99 > 1ms", "99 > 1ms", metrics },
		{ "read.p9,p99 > 1ms", "p9,p99 > 1ms", metrics },
		{ "read.p99", "", comparisons }, { "read.p99 = 1ms", "= 1ms", comparisons },
		{ "read.p99 >", "", latency }, { "read.p99 >> 1ms", "> 1ms", latency }, { "read.p99 > 20", "20", latency },
		{ "read.p99 > +10", "+10", latency }, { "read.p99 > 20ms beyond noise", "20ms beyond noise", latency },
		{ "read.p99 > +10% beyond", "+10% beyond", latency },
		{ "read.p99 > 10%", "10%", signed_change }, { "read.p99 > 10% beyond noise", "10% beyond noise", signed_change },
		{ "read.iops < 5ms", "5ms", number }, { "read.iops > nan", "nan", number },
		{ "read.ks > +5%", "+5%", share }, { "read.ks > 1.01", "1.01", share },
		{ "read.errors > +10% beyond noise", NULL, "'beyond noise' is for rates and latencies; a count of errors can be 0, which has "
		  "no ratio" },
		{ "read.lost > 0", NULL, "losses are counted for a device, not for an op; write total.lost" },
	};
	char longer[200], sentence[400];
	struct condition c;
	struct problem p;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text + strspn(cases[i].text, " "), *at = cases[i].at, *must = cases[i].must;

		if (!at)
			snprintf(sentence, sizeof(sentence), "--fail-if '%s': %s", text, must);
		else if (!*at)
			snprintf(sentence, sizeof(sentence), "--fail-if '%s': at its end %s is missing", text, must);
		else
			snprintf(sentence, sizeof(sentence), "--fail-if '%s': at '%s', letter %d, must be %s", text, at,
				 (int)(strlen(text) - strlen(at)) + 1, must);
		assert_int_equal(condition_parse("--fail-if", cases[i].text, &c, &p), -EINVAL);
		assert_string_equal(p.text, sentence);
	}
	memset(longer, 'r', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(condition_parse("--fail-if", longer, &c, &p), -EINVAL);
}

static struct {
	struct synthetic base, run;
	struct judged j;
	struct condition c;
	struct verdict v;
	struct problem p;
} t;

/*
 * Baseline: 1000 reads of 100 us in 1 s. Run: 1900 reads of 110 us and one of 25 ms in 2 s, with 3 errors; and
 * writes, which the baseline lacks.
 */
void set_up(void)
{
	synthetic_init(&t.base);
	synthetic_begin(&t.base, 1, 6, 1);
	synthetic_io(&t.base, 0, READ, 100000, 1000);
	synthetic_tick(&t.base, 1);
	run_finish(&t.base.run);
	synthetic_init(&t.run);
	t.run.origin.file = "run.blklat";
	synthetic_begin(&t.run, 1, 6, 1);
	synthetic_io(&t.run, 0, READ, 110000, 1900);
	synthetic_io(&t.run, 0, READ, 25000000, 1);
	synthetic_io(&t.run, 0, WRITE, 50000, 99);
	t.run.frames.f[0].ops[READ].errors = 3;
	t.run.frames.f[0].accounting.lost = 4;
	synthetic_tick(&t.run, 2);
	run_finish(&t.run.run);
	t.j = (struct judged){ &t.run.run, &t.run.run.watches[0], &t.base.run, &t.base.run.watches[0] };
}

void tear_down(void)
{
	synthetic_uninit(&t.base);
	synthetic_uninit(&t.run);
}

/* Judges what is in @t. */
static int evaluate(const char *text)
{
	t.p.text[0] = '\0';
	assert_int_equal(condition_parse("--fail-if", text, &t.c, &t.p), 0);
	return condition_evaluate(&t.c, &t.j, &t.v, &t.p);
}

TEST(what_holds)
{
	static const struct { const char *text; bool holds; double value, base; } cases[] = {
		{ "read.max > 20ms", true, 25e6, -1 }, { "read.max > 25ms", false, 25e6, -1 },
		{ "read.max >= 25ms", true, 25e6, -1 }, { "read.max < 25ms", false, 25e6, -1 },
		{ "read.max <= 25ms", true, 25e6, -1 }, { "read.min > +10%", false, 110000, 100000 },
		{ "read.min >= +10%", true, 110000, 100000 }, { "read.min > +9.99%", true, 110000, 100000 },
		{ "read.iops < -5%", false, 950.5, 1000 }, { "read.iops < -4.9%", true, 950.5, 1000 },
		{ "read.mbps < 3.9", true, 950.5 * 4096 / 1e6, -1 }, { "read.p100 > 24ms", true, 25e6, -1 },
		{ "read.mean > 100us", true, (1900 * 110000 + 25e6) / 1901, -1 },
		{ "read.errors > 2", true, 3, -1 }, { "total.errors > +0%", true, 3, 0 },
		{ "total.lost > 3", true, 4, -1 }, { "total.iops >= 1000", true, 1000, -1 },
		{ "total.iops < +0%", false, 1000, 1000 }, { "read.ks >= 1", true, 1, -1 },
		{ "write.min < 60us", true, 50000, -1 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		if (evaluate(cases[i].text))
			fail_msg("%s: %s", cases[i].text, t.p.text);
		if (t.v.holds != cases[i].holds)
			fail_msg("%s: holds %d", cases[i].text, t.v.holds);
		assert_close(t.v.value, cases[i].value, 1e-9 * cases[i].value);
		assert_close(t.v.base, cases[i].base, 0);
	}
}

/* Frames of an interval look like those of a run. */
TEST(an_interval)
{
	static const struct { const char *text; bool holds; double value; } cases[] = {
		{ "read.max > 20ms", true, 25e6 }, { "read.max > 25ms", false, 25e6 }, { "total.iops >= 1000", true, 1000 },
		{ "total.lost > 3", true, 4 }, { "total.errors > 2", true, 3 }, { "flush.max < 1s", false, 0 },
	};
	struct frame f = *t.run.run.watches[0].total;

	f.health.lost = 4;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(condition_parse("--keep-if", cases[i].text, &t.c, &t.p), 0);
		assert_int_equal(condition_evaluate_frame(&t.c, &f, &t.v), 0);
		if (t.v.holds != cases[i].holds)
			fail_msg("%s: holds %d", cases[i].text, t.v.holds);
		assert_close(t.v.value, cases[i].value, 1e-9 * cases[i].value);
	}
	assert_int_equal(condition_parse("--keep-if", "read.p99", &t.c, &t.p), -EINVAL);
	assert_string_equal(t.p.text, "--keep-if 'read.p99': at its end <, <=, > or >= is missing");
}

TEST(what_cannot_be_judged)
{
	static const struct { const char *text, *sentence; bool alone; } cases[] = {
		{ "write.p99 > +10%", "--fail-if 'write.p99 > +10%': 'the run' has no write IO of sda, so it can't be judged",
		  false },
		{ "flush.p99 > 1ms", "--fail-if 'flush.p99 > 1ms': 'run.blklat' has no flush IO of sda, so it can't be judged",
		  true },
		{ "read.p99 > +10%", "--fail-if 'read.p99 > +10%': there is no baseline to compare with; name two recordings",
		  true },
		{ "read.ks > 0.1", "--fail-if 'read.ks > 0.1': there is no baseline to compare with; name two recordings", true },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		t.j.base = cases[i].alone ? NULL : &t.base.run;
		assert_int_equal(evaluate(cases[i].text), -ENODATA);
		assert_string_equal(t.p.text, cases[i].sentence);
	}
}

TEST(what_is_said)
{
	static const struct { const char *text, *sentence; } cases[] = {
		{ "read.min >= +10%", "read.min of sda is 110 us, 10.0 % above the baseline's 100 us (read.min >= +10%)" },
		{ "read.iops<-5%", "read.iops of sda is 950, 4.95 % below the baseline's 1000 (read.iops<-5%)" },
		{ "read.max > 20ms", "read.max of sda is 25.0 ms (read.max > 20ms)" },
		{ "total.errors > +0%", "total.errors of sda is 3, the baseline's 0 (total.errors > +0%)" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(evaluate(cases[i].text), 0);
		condition_explain(&t.c, t.j.watch->watch, &t.v, &t.p);
		assert_string_equal(t.p.text, cases[i].sentence);
	}
}
