// SPDX-License-Identifier: GPL-2.0-only
/* The names of parts by cgroup: watches get them when their cgroups are first seen, the same in all captures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "blklat/parts.h"
#include "engine/cgroups.h"

#define CGROUPS 5

struct world {
	struct device_table devices;
	struct kernel_capture k[2];
	struct blklat_cgroup list[CGROUPS];
};

static u64 make(const struct world *w, const char *path)
{
	char at[600];
	struct stat st;

	snprintf(at, sizeof(at), "%s/sys/fs/cgroup/blkio%s", w->devices.root, path);
	assert_int_equal(mkdir(at, 0755), 0);
	assert_int_equal(stat(at, &st), 0);
	return st.st_ino;
}

static void take_away(const struct world *w, const char *path)
{
	char at[600];

	snprintf(at, sizeof(at), "%s/sys/fs/cgroup/blkio%s", w->devices.root, path);
	assert_int_equal(rmdir(at), 0);
}

/* Moves it to where its directory keeps its number but is not a cgroup. */
static void put_away(const struct world *w, const char *path)
{
	char at[600], to[600];

	snprintf(at, sizeof(at), "%s/sys/fs/cgroup/blkio%s", w->devices.root, path);
	snprintf(to, sizeof(to), "%s/away", w->devices.root);
	assert_int_equal(rename(at, to), 0);
}

static int set_up(void **state)
{
	static const struct watch wholes[] = { { .stage = BLKLAT_STAGE_DEVICE }, { .stage = BLKLAT_STAGE_TOTAL } };
	struct world *w = calloc(1, sizeof(*w));
	char command[400];

	assert_non_null(w);
	strcpy(w->devices.root, "/tmp/blklat-cgroups-XXXXXX");
	assert_non_null(mkdtemp(w->devices.root));
	snprintf(command, sizeof(command), "mkdir -p %s/sys/fs/cgroup/blkio", w->devices.root);
	assert_int_equal(system(command), 0);
	for (u32 i = 0; i < 2; i++) {
		struct kernel_capture *k = &w->k[i];

		k->by = BLKLAT_BY_CGROUP;
		k->cgroups = CGROUPS;
		k->parts = blklat_parts(k->by, CGROUPS);
		k->capture.devices = &w->devices;
		assert_int_equal(watches_divide(wholes, 2, k->by, CGROUPS, &k->capture.watches, &k->capture.n_watches), 0);
	}
	*state = w;
	/* A directory of the previous test may have had the same number, so begin with nothing known. */
	return cgroups_name(&w->k[0], w->list);
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[400];

	snprintf(command, sizeof(command), "rm -r %s", w->devices.root);
	assert_int_equal(system(command), 0);
	free(w->k[0].capture.watches);
	free(w->k[1].capture.watches);
	free(w);
	return 0;
}

/* Both watches of the capture have this label. */
static void assert_label(const struct world *w, u32 capture, u32 number, const char *label)
{
	const struct kernel_capture *k = &w->k[capture];

	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i))
		assert_string_equal(k->capture.watches[i + BLKLAT_CGROUP_FIRST + number].part->label, label);
}

static void test_paths(void **state)
{
	struct world *w = *state;

	w->list[0].id = make(w, "/a");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 0, "/a");
	assert_label(w, 0, 1, "");
	/* Two CPUs saw the same cgroup first: the second gave its number back, which leaves a gap without a name. */
	w->list[2].id = make(w, "/a/b");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 1, "");
	assert_label(w, 0, 2, "/a/b");
	/* A name stays known, also for a capture that starts when the cgroup is gone. */
	take_away(w, "/a/b");
	assert_int_equal(cgroups_name(&w->k[1], w->list), 0);
	assert_label(w, 1, 2, "/a/b");
	assert_string_equal(w->k[0].capture.watches[1].part->label, "none");
	assert_string_equal(w->k[0].capture.watches[2].part->label, "rest");
}

static void test_gone_before_it_was_seen(void **state)
{
	struct world *w = *state;

	w->list[0] = (struct blklat_cgroup){ .id = UINT64_MAX, .name = "run-1\n.scope" };
	w->list[1] = (struct blklat_cgroup){ .id = UINT64_MAX - 1, .name = "run-1\n.scope" };
	memset(w->list[2].name, 'x', sizeof(w->list[2].name));	/* no terminating 0, whoever wrote it */
	w->list[2].id = UINT64_MAX - 2;
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 0, "run-1?.scope (gone)");
	assert_label(w, 0, 1, "run-1?.scope (gone) #2");
	assert_int_equal(strlen(w->k[0].capture.watches[BLKLAT_CGROUP_FIRST + 2].part->label), 56 + strlen(" (gone)"));
}

/* A service that is restarted is another cgroup with the same path. */
static void test_same_path_again(void **state)
{
	struct world *w = *state;

	w->list[0].id = make(w, "/db.service");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	take_away(w, "/db.service");
	make(w, "/another");	/* otherwise the number of the directory is used again */
	w->list[1].id = make(w, "/db.service");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 0, "/db.service");
	assert_label(w, 0, 1, "/db.service #2");
}

/* Whoever may make cgroups may give them any names. What differs only in bytes that can't be shown stays apart. */
static void test_odd_names(void **state)
{
	struct world *w = *state;

	w->list[0].id = make(w, "/a");
	w->list[1].id = make(w, "/a ");
	w->list[2].id = make(w, "/a \t ");
	w->list[3].id = make(w, "/\n");
	w->list[4].id = make(w, "/a #2");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 0, "/a");
	assert_label(w, 0, 1, "/a #2");
	assert_label(w, 0, 2, "/a #3");
	assert_label(w, 0, 3, "/");
	assert_label(w, 0, 4, "/a #2 #2");
}

/* When all captures have ended, numbering starts again: the same cgroup may then have another number. */
static void test_begun_anew(void **state)
{
	struct world *w = *state;

	w->list[0].id = make(w, "/a");
	w->list[1].id = make(w, "/b");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	w->list[0].id = w->list[1].id;
	w->list[1].id = 0;
	assert_int_equal(cgroups_name(&w->k[1], w->list), 0);
	assert_label(w, 1, 0, "/b");
	assert_label(w, 1, 1, "");
}

/* Of a path that is too long the end is kept, starting with a whole character. */
static void test_long(void **state)
{
	struct world *w = *state;
	const char *label;
	char path[1024] = "";

	for (u32 i = 0; i < 8; i++) {
		sprintf(path + strlen(path), "/%u-", i);
		for (u32 n = 0; n < 20; n++)
			strcat(path, "ü");
		w->list[0].id = make(w, path);
	}
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	label = w->k[0].capture.watches[BLKLAT_CGROUP_FIRST].part->label;
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
static u32 leave(struct world *w, struct snapshot *s)
{
	told.n = 0;
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_int_equal(cgroups_leave(&w->k[0], w->list, s, let_go), 0);
	return told.n;
}

static void check_last(u32 number, u64 id, u32 step)
{
	assert_int_equal(told.last[0].number, number);
	assert_int_equal(told.last[0].id, id);
	assert_int_equal(told.last[0].step, step);
}

/* A cgroup that has ended is let go of step by step, each after a read that found nothing; a live one never is. */
static void test_leave(void **state)
{
	struct world *w = *state;
	struct kernel_capture *k = &w->k[0];
	struct snapshot s;
	struct watch_counts *at;
	u64 id;

	assert_int_equal(snapshot_init(&s, k->capture.n_watches, 0), 0);
	k->owners = calloc(CGROUPS, sizeof(*k->owners));
	assert_non_null(k->owners);
	at = &s.w[next_whole(k, 0) + BLKLAT_CGROUP_FIRST + 1];
	w->list[0].id = make(w, "/stays");
	id = w->list[1].id = make(w, "/ends");
	for (u32 i = 0; i < 5; i++)
		assert_int_equal(leave(w, &s), 0);
	assert_int_equal(told.calls, 0);
	put_away(w, "/ends");
	at->in_flight = 1;
	assert_int_equal(leave(w, &s), 0);
	at->in_flight = 0;
	at->ops[0].sum_ns = 10;
	assert_int_equal(leave(w, &s), 0);
	assert_int_equal(leave(w, &s), 0);
	told.others = true;
	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(leave(w, &s), 1);
		check_last(1, id, BLKLAT_STEP_HELD);
	}
	told.others = false;
	assert_int_equal(leave(w, &s), 1);
	check_last(1, id, BLKLAT_STEP_HELD);
	/* One IO was still on its way. */
	at->in_flight = 1;
	assert_int_equal(leave(w, &s), 0);
	at->in_flight = 0;
	assert_int_equal(leave(w, &s), 1);
	check_last(1, id, BLKLAT_STEP_LEFT);
	/* It ended, and is reported under the cgroup's name. */
	at->ops[0].bytes = 512;
	assert_int_equal(leave(w, &s), 0);
	assert_label(w, 0, 1, "/ends");
	assert_int_equal(leave(w, &s), 1);
	check_last(1, id, BLKLAT_STEP_DRAINED);
	assert_label(w, 0, 1, "");
	assert_label(w, 0, 0, "/stays");
	w->list[1].id = make(w, "/next");
	at->ops[0].bytes = 1024;
	assert_int_equal(leave(w, &s), 0);
	assert_label(w, 0, 1, "/next");
	/* What is written back after the cgroup ended still has its name. */
	w->list[2] = (struct blklat_cgroup){ .id = id, .name = "ends" };
	assert_int_equal(leave(w, &s), 0);
	assert_label(w, 0, 2, "/ends");
	snapshot_uninit(&s);
	free(k->owners);
}

/* IOs that a device had in flight when it went away never end, and hold no cgroup back. */
static void test_leave_gone(void **state)
{
	struct world *w = *state;
	struct kernel_capture *k = &w->k[0];
	struct snapshot s;

	assert_int_equal(snapshot_init(&s, k->capture.n_watches, 0), 0);
	k->owners = calloc(CGROUPS, sizeof(*k->owners));
	assert_non_null(k->owners);
	w->list[0] = (struct blklat_cgroup){ .id = UINT64_MAX, .name = "x" };
	s.w[BLKLAT_CGROUP_FIRST].in_flight = 1;
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(leave(w, &s), 0);
	s.w[BLKLAT_CGROUP_FIRST].gone = true;
	assert_int_equal(leave(w, &s), 0);
	assert_int_equal(leave(w, &s), 1);
	snapshot_uninit(&s);
	free(k->owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone_before_it_was_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_same_path_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_odd_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_begun_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_leave, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_leave_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
