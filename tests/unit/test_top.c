// SPDX-License-Identifier: GPL-2.0-only
/* What top knows, without a screen: order, folding, selection, keys, pause, the last minutes. */
#include "unit.h"

#include "live/top.h"

#define DEVICES 12
#define MS 1000000ULL

static const struct device devices[DEVICES] = {
	{ .name = "sd10" }, { .name = "sd2" }, { .name = "sd3" }, { .name = "sd4" }, { .name = "sd5" }, { .name = "sd6" },
	{ .name = "sd7" }, { .name = "sd8" }, { .name = "sd9" }, { .name = "nvme0n1" }, { .name = "nvme1n1" }, { .name = "dm-0" },
};

static struct {
	struct watch watches[DEVICES];
	struct run_info run;
	struct frames frames;
	struct top top;
} w;

void tear_down(void)
{
	top_uninit(&w.top);
	frames_uninit(&w.frames);
	memset(&w, 0, sizeof(w));
}

void set_up(void)
{
	w.run = (struct run_info){ .watches = w.watches, .n_watches = DEVICES, .scale = BLKLAT_SCALE_MAX, .interval_s = 1 };
	for (u32 i = 0; i < DEVICES; i++)
		w.watches[i] = (struct watch){ .device = &devices[i], .stage = BLKLAT_STAGE_DEVICE };
	assert_int_equal(frames_init(&w.frames, w.watches, DEVICES, BLKLAT_SCALE_MAX), 0);
	assert_int_equal(top_init(&w.top, &w.run), 0);
	w.top.room = 4;
}

static struct frame *put(u32 i, enum blklat_op op, u64 ns, u64 n)
{
	struct op_frame *o = &w.frames.f[i].ops[op];

	o->ios += n;
	o->bytes += n * 4096;
	o->min_ns = o->min_ns && o->min_ns < ns ? o->min_ns : ns;
	o->max_ns = o->max_ns > ns ? o->max_ns : ns;
	hist_put(&o->hist, blklat_cell(ns, BLKLAT_SCALE_MAX), n);
	return &w.frames.f[i];
}

/* Takes in the interval of 2 s that was put together, and empties it for the next one. */
static void take(void)
{
	for (u32 i = 0; i < w.frames.n; i++)
		w.frames.f[i].interval_s = 2;
	assert_int_equal(health_judge(&w.frames), 0);
	assert_int_equal(top_take(&w.top, &w.frames), 0);
	for (u32 i = 0; i < w.frames.n; i++) {
		struct frame *f = &w.frames.f[i];

		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			hist_clear(&f->ops[op].hist);
			f->ops[op] = (struct op_frame){ .hist = f->ops[op].hist, .after_idle = f->ops[op].after_idle };
		}
		f->in_flight = f->oldest_ns = 0;
		f->queue_depth = 0;
	}
}

/* "a b c|idle idle", by name. */
static const char *lines(const struct top *t)
{
	static char text[1024];

	text[0] = '\0';
	for (u32 i = 0; i < t->n_lines + t->n_idle; i++) {
		strcat(text, i == t->n_lines ? "|" : i ? " " : "");
		strcat(text, t->items[t->order[i]].watch->device->name);
	}
	return text;
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		assert_true(top_key(&w.top, *keys));
}

static const char *selected(void)
{
	return top_selected(&w.top)->watch->device->name;
}

/* By p99 nvme0n1 < sd3 < sd2; sd4 hangs; sd9's IOs are the most and the smallest. */
static void busy(void)
{
	put(9, BLKLAT_OP_READ, 1 * MS, 100);
	put(2, BLKLAT_OP_READ, 2 * MS, 50)->queue_depth = 8;
	put(1, BLKLAT_OP_READ, 4 * MS, 10);
	put(1, BLKLAT_OP_WRITE, 3 * MS, 990);
	w.frames.f[3].in_flight = 2;
	w.frames.f[3].oldest_ns = 1500 * MS;
	put(8, BLKLAT_OP_WRITE, MS / 10, 2000);
	w.frames.f[8].ops[BLKLAT_OP_WRITE].bytes = 512 * 2000;
}

TEST(each_order)
{
	static const char idle[] = "|dm-0 nvme1n1 sd5 sd6 sd7 sd8 sd10";
	static const char *const orders[TOP_SORTS] = {
		"sd4 sd2 sd3 nvme0n1 sd9", "sd4 nvme0n1 sd2 sd3 sd9", "sd3 nvme0n1 sd2 sd4 sd9", "sd9 sd2 nvme0n1 sd3 sd4",
		"sd2 sd9 nvme0n1 sd3 sd4", "nvme0n1 sd2 sd3 sd4 sd9",
	};

	busy();
	take();
	for (u32 sort = 0; sort < TOP_SORTS; sort++) {
		char all[512];

		snprintf(all, sizeof(all), "%s%s", orders[sort], idle);
		assert_string_equal(lines(&w.top), all);
		press("s");
	}
	assert_int_equal(w.top.sort, TOP_BY_P99);
}

TEST(figures_by_op)
{
	const struct top_figures *g;

	busy();
	take();
	g = w.top.items[1].figures;
	assert_true(g[TOP_ALL_OPS].iops == 500 && g[BLKLAT_OP_READ].iops == 5 && g[BLKLAT_OP_WRITE].iops == 495);
	assert_true(g[TOP_ALL_OPS].bytes_per_s == 500 * 4096);
	/* Of 1000 IOs the 990th takes 3 ms, in a bin of 1.09 %; all reads took 4 ms. */
	assert_true(g[TOP_ALL_OPS].percentile_ns[TOP_P99] > 2.96e6 && g[TOP_ALL_OPS].percentile_ns[TOP_P99] < 3.04e6);
	assert_true(g[BLKLAT_OP_READ].percentile_ns[TOP_P50] == 4e6);
	assert_int_equal(g[TOP_ALL_OPS].max_ns, 4 * MS);
	/* read: sd9 only wrote, and still has a line. */
	press("o");
	assert_int_equal(w.top.op, BLKLAT_OP_READ);
	assert_string_equal(lines(&w.top), "sd4 sd2 sd3 nvme0n1 sd9|dm-0 nvme1n1 sd5 sd6 sd7 sd8 sd10");
	assert_int_equal(w.top.items[8].figures[BLKLAT_OP_READ].ios, 0);
}

/* At first the worst device is selected; a device that the user chose stays so wherever it goes, even if idle. */
TEST(selection)
{
	assert_null(top_selected(&w.top));
	busy();
	take();
	assert_string_equal(selected(), "sd4");
	put(5, BLKLAT_OP_READ, 9 * MS, 1);
	put(1, BLKLAT_OP_READ, 1 * MS, 1);
	take();
	assert_string_equal(selected(), "sd6");
	top_key(&w.top, TOP_DOWN);
	assert_string_equal(selected(), "sd2");
	put(5, BLKLAT_OP_READ, 9 * MS, 1);
	take();
	assert_string_equal(lines(&w.top), "sd6 sd2|dm-0 nvme0n1 nvme1n1 sd3 sd4 sd5 sd7 sd8 sd9 sd10");
	assert_string_equal(selected(), "sd2");
	top_key(&w.top, TOP_HOME);
	assert_string_equal(selected(), "sd6");
	assert_string_equal(lines(&w.top), "sd6|dm-0 nvme0n1 nvme1n1 sd2 sd3 sd4 sd5 sd7 sd8 sd9 sd10");
}

/* Twelve lines, room for four: the selected one is always among those that are visible. */
TEST(scrolling)
{
	static const struct { int key; u32 selected, first; } steps[] = {
		{ TOP_DOWN, 1, 0 }, { TOP_DOWN, 2, 0 }, { TOP_DOWN, 3, 0 }, { TOP_DOWN, 4, 1 }, { TOP_PAGE_DOWN, 8, 5 },
		{ TOP_END, 11, 8 }, { TOP_DOWN, 11, 8 }, { TOP_PAGE_UP, 7, 7 }, { TOP_HOME, 0, 0 }, { TOP_UP, 0, 0 },
	};

	for (u32 i = 0; i < DEVICES; i++)
		put(i, BLKLAT_OP_READ, (DEVICES - i) * MS, 1);
	take();
	assert_int_equal(w.top.first, 0);
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		top_key(&w.top, steps[i].key);
		assert_int_equal(top_selected_line(&w.top), steps[i].selected);
		assert_int_equal(w.top.first, steps[i].first);
	}
}

TEST(filter)
{
	busy();
	take();
	press("/NVMq");
	assert_true(w.top.typing);
	assert_string_equal(lines(&w.top), "");
	assert_null(top_selected(&w.top));
	top_key(&w.top, TOP_BACKSPACE);
	assert_string_equal(lines(&w.top), "nvme0n1|nvme1n1");
	top_key(&w.top, TOP_ENTER);
	assert_false(w.top.typing);
	assert_string_equal(w.top.filter, "NVM");
	top_key(&w.top, TOP_ESCAPE);
	assert_string_equal(w.top.filter, "");
	assert_int_equal(w.top.n_lines, 5);
	press("/");
	for (u32 i = 0; i < 100; i++)
		top_key(&w.top, 'x');
	assert_int_equal(strlen(w.top.filter), TOP_FILTER_MAX - 1);
	top_key(&w.top, 0x07);
	assert_int_equal(strlen(w.top.filter), TOP_FILTER_MAX - 1);
}

/* Only the screen stands still; the history goes on. */
TEST(pausing)
{
	double steps[TOP_STEPS] = { 0 };

	put(0, BLKLAT_OP_READ, 2 * MS, 10)->accounting.lost = 3;
	take();
	press("p");
	put(1, BLKLAT_OP_READ, 20 * MS, 8)->accounting.lost = 0;
	w.frames.f[0].accounting.lost = 9;
	take();
	assert_string_equal(lines(&w.top), "sd10|dm-0 nvme0n1 nvme1n1 sd2 sd3 sd4 sd5 sd6 sd7 sd8 sd9");
	assert_int_equal(w.top.shown, 1);
	press("p");
	take();
	assert_string_equal(lines(&w.top), "|dm-0 nvme0n1 nvme1n1 sd2 sd3 sd4 sd5 sd6 sd7 sd8 sd9 sd10");
	assert_int_equal(w.top.shown, 3);
	assert_int_equal(w.top.items[0].lost, 9);
	top_heat_of(&w.top, &w.top.items[1], 1, steps);
	/* 20 ms: four decades and log10(2) * 6 = 1.8 steps above 1 us, which is 6 steps above 100 ns. */
	assert_true(steps[4 * TOP_DECADE + 7] == 8);
}

/* Minutes later only the last of them are left, and empty intervals are empty. */
TEST(history)
{
	for (u32 i = 0; i < TOP_SAMPLES + 10; i++) {
		if (i % 2)
			put(0, BLKLAT_OP_WRITE, 3 * MS, 1000);
		take();
	}
	assert_int_equal(top_first_sample(&w.top), 10);
	for (u64 sample = 10; sample < TOP_SAMPLES + 10; sample++) {
		double steps[TOP_STEPS] = { 0 }, sum = 0;

		top_heat_of(&w.top, &w.top.items[0], sample, steps);
		for (u32 step = 0; step < TOP_STEPS; step++)
			sum += steps[step];
		if (sample % 2)
			assert_true(sum > 950 && sum < 1050);
		else
			assert_true(sum == 0);
	}
	/* A device that never had an IO needs no history. */
	assert_null(w.top.items[1].heat[BLKLAT_OP_WRITE]);
	assert_null(w.top.items[0].heat[BLKLAT_OP_READ]);
}

/* The interval in which a device goes away still shows it; after that the loop leaves it out. */
TEST(a_device_goes)
{
	u32 n = DEVICES;

	w.frames.f[n - 1].gone = true;
	take();
	assert_string_equal(lines(&w.top), "dm-0|nvme0n1 nvme1n1 sd2 sd3 sd4 sd5 sd6 sd7 sd8 sd9 sd10");
	assert_true(top_selected(&w.top)->gone);
	w.frames.n = n - 1;
	take();
	assert_string_equal(lines(&w.top), "|nvme0n1 nvme1n1 sd2 sd3 sd4 sd5 sd6 sd7 sd8 sd9 sd10");
	w.frames.n = n;
}

TEST(shades)
{
	/* log2(31) / log2(1000) is 0.497: the fourth of eight. */
	static const struct { double n; int shade; } of_1000[] = { { 0, 0 }, { 1, 1 }, { 31, 4 }, { 999, 8 }, { 1000, 8 } };

	for (u32 i = 0; i < ARRAY_SIZE(of_1000); i++)
		assert_int_equal(top_shade(of_1000[i].n, 1000, 8), of_1000[i].shade);
	/* One IO, where the most is one, gets the full shade. */
	assert_int_equal(top_shade(1, 1, 8), 8);
}

/* It is on the screen from then on; what was selected stays so, also if that was the first line. */
TEST(a_device_comes)
{
	top_uninit(&w.top);
	w.run.n_watches = w.frames.n = DEVICES - 1;
	w.run.most_watches = DEVICES;
	assert_int_equal(top_init(&w.top, &w.run), 0);
	put(2, BLKLAT_OP_READ, MS, 10);
	take();
	assert_null(strstr(lines(&w.top), devices[DEVICES - 1].name));
	w.run.n_watches = w.frames.n = DEVICES;
	put(2, BLKLAT_OP_READ, 2 * MS, 10);
	put(DEVICES - 1, BLKLAT_OP_READ, MS, 10);
	take();
	assert_string_equal(selected(), devices[2].name);
	assert_int_equal(w.top.n_lines, 2);
	assert_non_null(strstr(lines(&w.top), devices[DEVICES - 1].name));
}
