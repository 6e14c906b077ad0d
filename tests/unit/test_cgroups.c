// SPDX-License-Identifier: GPL-2.0-only
/* The names of parts by cgroup and by process: watches get them when these are first seen, the same in all captures. */
#include "unit.h"

#include "blklat/parts.h"
#include "core/kubernetes.h"
#include "engine/cgroups.h"
#include "folder.h"

#define CGROUPS 5

static struct {
	struct device_table devices;
	struct kernel_capture k[2];
	struct blklat_cgroup list[CGROUPS];
	struct snapshot s;
} w;

static char cgroups[sizeof(w.devices.root) + 64];	/* where they are */

static u64 make(const char *path)
{
	return folder_make_in(cgroups, path);
}

static void take_away(const char *path)
{
	assert_int_equal(rmdir(folder_above(cgroups, path)), 0);
}

/* Moves it to where its directory keeps its number but is not a cgroup. */
static void put_away(const char *path)
{
	char to[600];

	snprintf(to, sizeof(to), "%s/away", w.devices.root);
	assert_int_equal(rename(folder_above(cgroups, path), to), 0);
}

static void divide(struct kernel_capture *k, enum blklat_by by)
{
	static const struct watch wholes[] = { { .stage = BLKLAT_STAGE_DEVICE }, { .stage = BLKLAT_STAGE_TOTAL } };

	k->by = by;
	k->cgroups = CGROUPS;
	k->parts = blklat_parts(by, CGROUPS);
	free(k->capture.watches);
	assert_int_equal(watches_divide(wholes, 2, by, CGROUPS, &k->capture.watches, &k->capture.n_watches), 0);
}

void set_up(void)
{
	memset(&w, 0, sizeof(w));
	folder_make(w.devices.root);
	snprintf(cgroups, sizeof(cgroups), "%s/sys/fs/cgroup/blkio", w.devices.root);
	folder_make_in(w.devices.root, "/sys/fs/cgroup/blkio");
	for (u32 i = 0; i < 2; i++) {
		w.k[i].capture.devices = &w.devices;
		divide(&w.k[i], BLKLAT_BY_CGROUP);
	}
	assert_int_equal(snapshot_init(&w.s, w.k[0].capture.n_watches, 0), 0);
	w.k[0].owners = calloc(CGROUPS, sizeof(*w.k[0].owners));
	assert_non_null(w.k[0].owners);
	/* A directory of the previous test may have had the same number, so begin with nothing known. */
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
}

void tear_down(void)
{
	folder_remove(w.devices.root);
	free(w.k[0].capture.watches);
	free(w.k[1].capture.watches);
	free(w.k[0].owners);
	snapshot_uninit(&w.s);
}

/* Both watches of the capture have this label. */
static void assert_label(u32 capture, u32 number, const char *label)
{
	const struct kernel_capture *k = &w.k[capture];

	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i))
		assert_string_equal(k->capture.watches[i + BLKLAT_CGROUP_FIRST + number].part->label, label);
}

TEST(test_paths)
{
	w.list[0].id = make("/a");
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 0, "/a");
	assert_label(0, 1, "");
	/* Two CPUs saw the same cgroup first: the second gave its number back, which leaves a gap without a name. */
	w.list[2].id = make("/a/b");
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 1, "");
	assert_label(0, 2, "/a/b");
	/* A name stays known, also for a capture that starts when the cgroup is gone. */
	take_away("/a/b");
	assert_int_equal(cgroups_name(&w.k[1], w.list), 0);
	assert_label(1, 2, "/a/b");
	assert_string_equal(w.k[0].capture.watches[1].part->label, "none");
	assert_string_equal(w.k[0].capture.watches[2].part->label, "rest");
}

TEST(test_gone_before_it_was_seen)
{
	w.list[0] = (struct blklat_cgroup){ .id = UINT64_MAX, .name = "run-1\n.scope" };
	w.list[1] = (struct blklat_cgroup){ .id = UINT64_MAX - 1, .name = "run-1\n.scope" };
	memset(w.list[2].name, 'x', sizeof(w.list[2].name));	/* no terminating 0, whoever wrote it */
	w.list[2].id = UINT64_MAX - 2;
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 0, "run-1?.scope (gone)");
	assert_label(0, 1, "run-1?.scope (gone) #2");
	assert_int_equal(strlen(w.k[0].capture.watches[BLKLAT_CGROUP_FIRST + 2].part->label), 56 + strlen(" (gone)"));
}

#define ID "3f2a9d5b7c1e4f60a8b2c4d6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234"
#define OTHER_ID "00009d5b7c1e4f60a8b2c4d6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f900000"
#define LOGS KUBERNETES_LOGS "/"

/* Only what kubelet's links tell, and only if they are asked for; the cgroup is found by its path all the same. */
TEST(test_kubernetes)
{
	static const char *const paths[] = {
		"/kubepods.slice", "/kubepods.slice/cri-containerd-" ID ".scope", "/kubepods.slice/cri-containerd-" ID ".scope/init",
		"/docker-" OTHER_ID ".scope",
	};

	folder_put(w.devices.root, LOGS "mysql-0_shop_db-" ID ".log", "");
	folder_put(w.devices.root, LOGS "x_y_z" OTHER_ID ".log", "");
	folder_put(w.devices.root, LOGS "no-names-" OTHER_ID ".log", "");
	for (u32 i = 0; i < ARRAY_SIZE(paths); i++)
		w.list[i].id = make(paths[i]);
	assert_null(w.devices.node);
	assert_null(kubernetes_label("/no-such", paths[1]));
	w.devices.node = w.devices.root;
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 0, paths[0]);
	assert_label(0, 1, "shop/mysql-0/db");
	assert_label(0, 2, "shop/mysql-0/db/init");
	assert_label(0, 3, paths[3]);
	w.devices.node = NULL;
	memset(w.list, 0, sizeof(w.list));
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	w.list[0].id = make("/cri-containerd-" ID ".scope");
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 0, "/cri-containerd-" ID ".scope");
}

/* Whoever may make cgroups may give them any names. What differs only in bytes that can't be shown stays apart. */
TEST(test_odd_names)
{
	static const char *const names[CGROUPS][2] = {
		{ "/a", "/a" }, { "/a ", "/a #2" }, { "/a \t ", "/a #3" }, { "/\n", "/" }, { "/a #2", "/a #2 #2" },
	};

	for (u32 i = 0; i < CGROUPS; i++)
		w.list[i].id = make(names[i][0]);
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	for (u32 i = 0; i < CGROUPS; i++)
		assert_label(0, i, names[i][1]);
}

/* When all captures have ended, numbering starts again: the same cgroup may then have another number. */
TEST(test_begun_anew)
{
	w.list[0].id = make("/a");
	w.list[1].id = make("/b");
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	w.list[0].id = w.list[1].id;
	w.list[1].id = 0;
	assert_int_equal(cgroups_name(&w.k[1], w.list), 0);
	assert_label(1, 0, "/b");
	assert_label(1, 1, "");
}

/* Of a path that is too long the end is kept, starting with a whole character. */
TEST(test_long)
{
	const char *label;
	char path[1024] = "";

	for (u32 i = 0; i < 8; i++) {
		sprintf(path + strlen(path), "/%u-", i);
		for (u32 n = 0; n < 20; n++)
			strcat(path, "ü");
		w.list[0].id = make(path);
	}
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	label = w.k[0].capture.watches[BLKLAT_CGROUP_FIRST].part->label;
	assert_memory_equal(label, "...", 3);
	assert_true(strlen(label) < PART_LABEL_MAX && strlen(label) > PART_LABEL_MAX - 20);
	assert_string_equal(path + strlen(path) - strlen(label + 3), label + 3);
	assert_memory_equal(label + 3, "ü", 2);
}

/* --- those that have ended ------------------------------------------------------------------ */

static struct {
	u32 calls, n;
	struct blklat_leaving last[CGROUPS];
	bool others;		/* captures that have not let go yet */
} told;

/* Here one call for a step is enough. */
static int let_go(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n)
{
	(void)k;
	told.calls++;
	told.n = n;
	memcpy(told.last, leaving, n * sizeof(*leaving));
	for (u32 i = 0; i < n && !told.others; i++)
		leaving[i].step++;
	return 0;
}

/* Reads. Returns how many cgroups were let go of. */
static u32 leave(void)
{
	told.n = 0;
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_int_equal(cgroups_leave(&w.k[0], w.list, &w.s, let_go), 0);
	return told.n;
}

static void check_last(u32 number, u64 id, u32 step)
{
	assert_int_equal(told.last[0].number, number);
	assert_int_equal(told.last[0].id, id);
	assert_int_equal(told.last[0].step, step);
}

/* A cgroup that has ended is let go of step by step, each after a read that found nothing; a live one never is. */
TEST(test_leave)
{
	struct watch_counts *at = &w.s.w[next_whole(&w.k[0], 0) + BLKLAT_CGROUP_FIRST + 1];
	u64 id;

	w.list[0].id = make("/stays");
	id = w.list[1].id = make("/ends");
	for (u32 i = 0; i < 5; i++)
		assert_int_equal(leave(), 0);
	assert_int_equal(told.calls, 0);
	put_away("/ends");
	at->in_flight = 1;
	assert_int_equal(leave(), 0);
	at->in_flight = 0;
	at->ops[0].sum_ns = 10;
	assert_int_equal(leave(), 0);
	assert_int_equal(leave(), 0);
	told.others = true;
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(leave(), 1);
		check_last(1, id, BLKLAT_STEP_HELD);
	}
	told.others = false;
	assert_int_equal(leave(), 1);
	check_last(1, id, BLKLAT_STEP_HELD);
	/* One IO was still on its way. */
	at->in_flight = 1;
	assert_int_equal(leave(), 0);
	at->in_flight = 0;
	assert_int_equal(leave(), 1);
	check_last(1, id, BLKLAT_STEP_LEFT);
	/* It ended, and is reported under the cgroup's name. */
	at->ops[0].bytes = 512;
	assert_int_equal(leave(), 0);
	assert_label(0, 1, "/ends");
	assert_int_equal(leave(), 1);
	check_last(1, id, BLKLAT_STEP_DRAINED);
	assert_label(0, 1, "");
	assert_label(0, 0, "/stays");
	w.list[1].id = make("/next");
	at->ops[0].bytes = 1024;
	assert_int_equal(leave(), 0);
	assert_label(0, 1, "/next");
	/* What is written back after the cgroup ended still has its name. */
	w.list[2] = (struct blklat_cgroup){ .id = id, .name = "ends" };
	assert_int_equal(leave(), 0);
	assert_label(0, 2, "/ends");
}

/* IOs that a device had in flight when it went away never end, and hold no cgroup back. */
TEST(test_leave_gone)
{
	w.list[0] = (struct blklat_cgroup){ .id = UINT64_MAX, .name = "x" };
	w.s.w[BLKLAT_CGROUP_FIRST].in_flight = 1;
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(leave(), 0);
	w.s.w[BLKLAT_CGROUP_FIRST].gone = true;
	assert_int_equal(leave(), 0);
	assert_int_equal(leave(), 1);
}

/* --- processes ------------------------------------------------------------------------------ */

enum { BEGAN_NS = 1000000000 };

/* As the kernel has it, in ticks of 10 ms. */
static void put_process(u32 tgid, const char *name, u64 began_ns)
{
	char path[64], stat[512];

	snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	snprintf(stat, sizeof(stat), "%u (%s) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %llu 9 10 11\n", tgid, name,
		 began_ns / 10000000);
	folder_put(w.devices.root, path, stat);
}

static void begin_processes(void)
{
	const struct blklat_cgroup list[] = { { blklat_process_id(70, BEGAN_NS), "sh" },
					      { blklat_process_id(71, BEGAN_NS + 9999999), "sh" },
					      { blklat_process_id(72, BEGAN_NS), "gone\n" } };

	divide(&w.k[0], BLKLAT_BY_PROCESS);
	put_process(70, "fio", BEGAN_NS);
	put_process(71, "a (b) 1 2", BEGAN_NS);
	memcpy(w.list, list, sizeof(list));
}

/* As they are called now, not as when they began their first IO, unless they have ended; and then that stays. */
TEST(test_processes)
{
	begin_processes();
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
		assert_label(0, 0, "fio (70)");
		assert_label(0, 1, "a (b) 1 2 (71)");
		assert_label(0, 2, "gone? (72)");
		assert_label(0, 3, "");
		put_process(70, "dd", BEGAN_NS);
	}
	assert_string_equal(w.k[0].capture.watches[1].part->label, "kworker");
}

/* What has the id of another one began at another time: so do those of another PID namespace. */
TEST(test_process_of_another_time)
{
	begin_processes();
	put_process(70, "fio", BEGAN_NS + 20000000);
	put_process(71, "fio", BEGAN_NS - 10000000);
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 0, "sh (70)");
	assert_label(0, 1, "sh (71)");
}

/* One with the id of another one that still has its part gets its own, and is told apart even if the names are the same. */
TEST(test_process_again)
{
	begin_processes();
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	w.list[1].id = blklat_process_id(70, BEGAN_NS + 10 * (u64)BEGAN_NS);
	w.list[3].id = blklat_process_id(70, BEGAN_NS + 20 * (u64)BEGAN_NS);
	put_process(70, "fio", BEGAN_NS + 20 * (u64)BEGAN_NS);
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	assert_label(0, 0, "fio (70)");
	assert_label(0, 1, "sh (70)");
	assert_label(0, 3, "fio (70) #2");
}

/* One that has ended, or has another name, gives its number back, and only then. */
TEST(test_processes_leave)
{
	const u64 id = blklat_process_id(70, BEGAN_NS);

	begin_processes();
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(leave(), 0);
	assert_int_equal(leave(), 1);
	check_last(2, w.list[2].id, BLKLAT_STEP_HELD);
	put_process(70, "dd", BEGAN_NS);
	told.others = true;
	assert_int_equal(leave(), 2);
	check_last(0, id, BLKLAT_STEP_HELD);
	told.others = false;
	for (u32 step = BLKLAT_STEP_HELD; step < BLKLAT_STEP_FREE; step++)
		assert_true(leave());
	w.list[0].id = 0;
	leave();
	w.list[0].id = id;
	leave();
	assert_label(0, 0, "dd (70)");
	assert_label(0, 1, "a (b) 1 2 (71)");
}

/* A long-lived process keeps its part, however many others come and go. */
TEST(test_many_processes)
{
	enum { ROUNDS = 100000 / (CGROUPS - 1) };
	const struct part *stays;
	size_t before = 0;
	char label[32];

	begin_processes();
	assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
	stays = w.k[0].capture.watches[BLKLAT_CGROUP_FIRST].part;
	for (u32 round = 0; round < ROUNDS; round++) {
		before = round == PARTS_SPARE ? in_use() : before;
		for (u32 i = 1; i < CGROUPS; i++) {
			w.list[i].id = blklat_process_id(100 + i, (u64)(2 + round) * BEGAN_NS);
			snprintf(w.list[i].name, sizeof(w.list[i].name), "dd%u", round);
		}
		assert_int_equal(cgroups_name(&w.k[0], w.list), 0);
		snprintf(label, sizeof(label), "dd%u (%u)", round, 100 + CGROUPS - 1);
		assert_label(0, CGROUPS - 1, label);
	}
	assert_in_range(in_use(), 0, before + 4096);
	assert_ptr_equal(w.k[0].capture.watches[BLKLAT_CGROUP_FIRST].part, stays);
	assert_label(0, 0, "fio (70)");
	assert_ptr_equal(part_find("process", "fio (70)"), stays);
}
