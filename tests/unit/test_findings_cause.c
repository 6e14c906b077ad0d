// SPDX-License-Identifier: GPL-2.0-only
/* Who slowed whom down, and where that is not sure. */
#include "findings_run.h"

static const struct part *of_cgroup(const char *label)
{
	return part_find("cgroup", label);
}

#define DB of_cgroup("/system.slice/db.service")
#define BACKUP of_cgroup("/backup")

/* Two drives, the IOs of each divided: watch 3 * i is a drive, followed by the two owners. */
static void begin_parts(const struct part *one, const struct part *other)
{
	init_run();
	for (u32 i = 0; i < 6; i++)
		s.watch[i] = (struct watch){ .device = &s.device[i / 3], .stage = BLKLAT_STAGE_DEVICE, .part = i % 3 == 1 ? one : i % 3 ? other : NULL };
	synthetic_begin(&s, 6, 6, 1);
}

static void begin_owners(void)
{
	begin_parts(DB, BACKUP);
}

static void owned(u32 drive, u32 owner, u32 op, u64 ns, u64 ios)
{
	synthetic_io(&s, 3 * drive, op, ns, ios);
	synthetic_io(&s, 3 * drive + owner, op, ns, ios);
}

/* The first: the other drive may be as slow, and follows. */
static const struct finding *change(void)
{
	for (u32 i = 0; i < fs.n; i++)
		if (!strcmp(fs.f[i].kind, "level_change"))
			return &fs.f[i];
	fail_msg("nothing changed");
	return NULL;
}

/*
 * Reads of db, 1000 a second, take ten times as long while the backup writes on sda; on sdb as long as told. In the other
 * cases something speaks against the backup: an earlier one that did no harm, an effect that outlasts it, or a drive as
 * slow without it: half of the factor counts (3.2 of 10; 3.1 do not).
 */
TEST(sure_or_at_the_same_time)
{
	static const struct { u32 earlier, until; u64 sdb_ns; bool sdb_written, sure; } cases[] = {
		{ 0, 60, 100000, false, true }, { 5, 60, 100000, false, true }, { 7, 60, 100000, false, false }, { 0, 53, 100000, false, false },
		{ 0, 55, 100000, false, true }, { 0, 60, 320000, false, false }, { 0, 60, 310000, false, true }, { 0, 60, 1000000, true, true },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		const char *text;

		begin_owners();
		for (u32 i = 0; i < 60; i++) {
			bool writes = i < cases[c].earlier || (i >= 30 && i < cases[c].until);

			owned(0, 1, READ, i < 30 ? 100000 : 1000000, 1000);
			owned(1, 1, READ, i < 30 ? 100000 : cases[c].sdb_ns, 1000);
			owned(0, 2, WRITE, 5000000, 500 * writes);
			owned(1, 2, WRITE, 5000000, 500 * (writes && cases[c].sdb_written));
			synthetic_tick(&s, 1);
		}
		judge();
		text = change()->text;
		if (!strstr(text, cases[c].sure ? "sda read: at 30.0 s backup began 500 writes/s of 4.00 KiB; it has " : "; at the same time backup began 500 writes/s of 4.00 KiB"))
			fail_msg("case %u: %s", c, text);
	}
}

/* On another drive it begins 20 s later, and slows reads there as much: that does not speak against it. */
TEST(one_drive_after_the_other)
{
	begin_owners();
	for (u32 i = 0; i < 80; i++) {
		for (u32 drive = 0; drive < 2; drive++) {
			bool writes = i >= 20 + 30 * drive;

			owned(drive, 1, READ, writes ? 800000 : 100000, 1000);
			owned(drive, 2, WRITE, 5000000, 500 * writes);
		}
		synthetic_tick(&s, 1);
	}
	judge();
	assert_memory_equal(fs.f[0].text, "sda read: at 20.0 s backup began ", 33);
	assert_memory_equal(fs.f[1].text, "sdb read: at 50.0 s backup began ", 33);
}

/*
 * Writes of db are slower by a larger factor than its reads, but they were slow before, so the culprit is sure of the reads
 * only, and these speak. On sdb reads become slower still, at another time and without a cause: they come first.
 */
TEST(the_culprit_speaks)
{
	begin_owners();
	for (u32 i = 0; i < 60; i++) {
		owned(0, 1, READ, i < 30 ? 100000 : 1000000, 1000);
		owned(0, 1, WRITE, i >= 10 && i < 30 ? 50000 : 1000000, 300);
		owned(0, 2, BLKLAT_OP_DISCARD, 5000000, i < 30 ? 0 : 500);
		owned(1, 1, READ, i < 45 ? 100000 : 5000000, 1000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_memory_equal(fs.f[0].text, "sdb read: mean latency rose 50.0 times at 45.0 s", 48);
	assert_memory_equal(fs.f[1].text, "sda read: at 30.0 s backup began 500 discards/s", 47);
	assert_ends(&fs.f[1], " (10.0 times slower); also slower: sda write (mean 20.0 times)");
	assert_int_equal(fs.f[1].also, 1);
	assert_int_equal(fs.f[2].also, 0);
}

/*
 * Reads of db are slow from 20 s on. The backup writes until 40 s, then the indexer. If it does not begin, or
 * later than in the next interval, the backup is not what made them slow.
 */
TEST(one_takes_over)
{
	static const struct { u32 from; bool sure; } cases[] = { { 40, true }, { 41, true }, { 42, false }, { 80, false } };

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		init_run();
		for (u32 i = 0; i < 4; i++)
			s.watch[i] = (struct watch){ .device = &s.device[0], .stage = BLKLAT_STAGE_DEVICE,
						     .part = i ? i == 1 ? DB : i == 2 ? BACKUP : of_cgroup("/indexer") : NULL };
		synthetic_begin(&s, 4, 6, 1);
		for (u32 i = 0; i < 80; i++) {
			owned(0, 1, READ, i < 20 ? 100000 : 1000000, 1000);
			owned(0, 2, WRITE, 5000000, 500 * (i >= 20 && i < 40));
			owned(0, 3, WRITE, 4000000, 500 * (i >= cases[c].from));
			synthetic_tick(&s, 1);
		}
		judge();
		assert_int_equal(!!strstr(change()->text, "at 20.0 s backup began 500 writes/s of 4.00 KiB, until 40.0 s; it has "), cases[c].sure);
		if (cases[c].sure)
			assert_non_null(strstr(fs.f[1].text, " indexer began 500 writes/s of 4.00 KiB; it has 66.7 % of the device's time since, and "
					       "reads of db.service went from p99 100 us to "));
	}
}

/* Processes and the kernel's workers are owners, too, and have whole names. */
TEST(processes)
{
	begin_parts(part_find("process", "/x (a/b) (12)"), part_find("process", "kworker"));
	for (u32 i = 0; i < 60; i++) {
		owned(0, 1, READ, i < 30 ? 100000 : 1000000, 1000);
		owned(0, 2, WRITE, 5000000, i < 30 ? 0 : 500);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_non_null(strstr(fs.f[0].text, "at 30.0 s kworker began 500 writes/s of 4.00 KiB; it has "));
	assert_non_null(strstr(fs.f[0].text, "and reads of /x (a/b) (12) went from p99 100 us to "));
}

/* Reads of db and of all IOs without an owner: both are slower, and the one with more IOs is named. */
TEST(two_victims)
{
	init_run();
	for (u32 i = 0; i < 4; i++)
		s.watch[i] = (struct watch){ .device = &s.device[0], .stage = BLKLAT_STAGE_DEVICE,
					     .part = i ? i == 1 ? DB : i == 2 ? BACKUP : of_cgroup("none") : NULL };
	synthetic_begin(&s, 4, 6, 1);
	for (u32 i = 0; i < 60; i++) {
		owned(0, 1, READ, i < 30 ? 100000 : 1000000, 1000);
		owned(0, 3, READ, i < 30 ? 100000 : 1500000, 100);
		owned(0, 2, WRITE, 5000000, i < 30 ? 0 : 500);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_non_null(strstr(fs.f[0].text, ", and reads of db.service went from p99 100 us to 1.00 ms, "));
	assert_ends(&fs.f[0], " (10.0 times slower); of 2 owners that are slower it loses most");
}

/* It comes three times, and each time reads are slow: one finding. One that comes by itself is told for itself. */
TEST(several_times)
{
	for (u32 alone = 0; alone < 2; alone++) {
		begin_owners();
		for (u32 i = 0; i < 70; i++) {
			bool writes = i / 10 % 2 && !(alone && i / 10 == 3);

			owned(0, 1, READ, writes || i / 10 == 3 ? 1000000 : 100000, 1000);
			owned(0, 2, WRITE, 5000000, 500 * writes);
			owned(1, 1, READ, 100000, 1000);
			synthetic_tick(&s, 1);
		}
		judge();
		if (alone) {
			assert_non_null(strstr(only("level_change")->text, " at 10.0 s for 10.0 s, and 2 times more, every 20.0 s, "));
			continue;
		}
		assert_value("level_change", "episodes", 3, 0);
		assert_value("level_change", "cause_share", 2.5 / 3.5, 1e-9);	/* 500 writes of 5 ms, 1000 reads of 1 ms */
		assert_close(only("level_change")->to_s, 60, 1e-9);
		assert_non_null(strstr(only("level_change")->text, "at 10.0 s backup began 500 writes/s of 4.00 KiB, until 20.0 s, and 2 times more "
				       "from 30.0 s on; it has 71.4 % of the device's time meanwhile, and reads of db.service went from p99 100 us"));
	}
}

/* All ops of db are slower since, by different factors: one sentence. */
TEST(all_ops_in_one_sentence)
{
	begin_owners();
	for (u32 i = 0; i < 60; i++) {
		owned(0, 1, READ, i < 30 ? 100000 : 1000000, 1000);
		owned(0, 1, WRITE, i < 30 ? 50000 : 200000, 300);
		owned(0, 1, BLKLAT_OP_FLUSH, i < 30 ? 1000000 : 8000000, 100);
		owned(0, 2, BLKLAT_OP_DISCARD, 5000000, i < 30 ? 0 : 500);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_int_equal(fs.f[0].also, 2);
	assert_memory_equal(fs.f[0].text, "sda read: at 30.0 s backup began ", 33);
	assert_ends(&fs.f[0], " (10.0 times slower); also slower: sda flush (mean 8.00 times) and sda write (mean 4.00 times)");
	assert_string_equal(fs.f[3].text, "4 are steady from 30.0 s to 60.0 s: sda read (1.00k IOPS), sda write (300 IOPS), "
			    "sda flush (100 IOPS) and sda discard (500 IOPS)");
	assert_int_equal(fs.n, 7);
}

/* 900 IOs that lose 1 ms are worth more than 10 that lose 50 ms: 0.9 and 0.5 s a second. 20 would lose more. */
TEST(who_loses_most)
{
	for (u32 few = 10; few <= 20; few += 10) {
		begin_owners();
		for (u32 i = 0; i < 60; i++) {
			synthetic_io(&s, 0, BLKLAT_OP_FLUSH, 5000000, i < 30 ? 0 : 500);
			owned(0, 1, READ, i < 30 ? 100000 : 1100000, 900);
			owned(0, 2, READ, i < 30 ? 100000 : 50100000, few);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_non_null(strstr(change()->text, "at 30.0 s 500 flushes/s of 4.00 KiB began; they have "));
		assert_non_null(strstr(change()->text, few == 10 ? "reads of db.service went from" : "reads of backup went from"));
	}
}

/* IOs that grow take longer: no cache. By a factor of 1.5 or more (sizes are set by hand; synthetic IOs have 4 KiB). */
TEST(sizes_that_changed)
{
	for (u32 size = 6143; size <= 6144; size++) {
		begin(1);
		for (u32 i = 0; i < 60; i++) {
			synthetic_io(&s, 0, READ, i < 30 ? 100000 : 1000000, 1000);
			s.frames.f[0].ops[READ].bytes = 1000 * (i < 30 ? 4096 : size);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_ends(only("level_change"), size == 6144 ? ", as their size went from 4.00 KiB to 6.00 KiB" :
			    ", as when a cache is exhausted");
		assert_int_equal(only("level_change")->grade, size == 6144 ? FINDING_DIFFERS : FINDING_WRONG);
	}
}
