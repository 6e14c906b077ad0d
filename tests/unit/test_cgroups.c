// SPDX-License-Identifier: GPL-2.0-only
/* What the parts by cgroup are called: watches get them when their cgroups are seen, the same in all captures. */
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
	/* A directory of the test before may have had the same number: nothing is known of that. */
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

/* Both watches of a capture have it. */
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
	/* Two CPUs came with the same one: the second gave its number back, so there is one between without. */
	w->list[2].id = make(w, "/a/b");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 1, "");
	assert_label(w, 0, 2, "/a/b");
	/* What is known stays so, also to another capture that comes when it is gone. */
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
	memset(w->list[2].name, 'x', sizeof(w->list[2].name));	/* not ended, whoever wrote it */
	w->list[2].id = UINT64_MAX - 2;
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 0, "run-1?.scope (gone)");
	assert_label(w, 0, 1, "run-1?.scope (gone) #2");
	assert_int_equal(strlen(w->k[0].capture.watches[BLKLAT_CGROUP_FIRST + 2].part->label), 56 + strlen(" (gone)"));
}

/* A service that is started again is another cgroup of the same path. */
static void test_same_path_again(void **state)
{
	struct world *w = *state;

	w->list[0].id = make(w, "/db.service");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	take_away(w, "/db.service");
	make(w, "/another");	/* or the number of the directory is used again */
	w->list[1].id = make(w, "/db.service");
	assert_int_equal(cgroups_name(&w->k[0], w->list), 0);
	assert_label(w, 0, 0, "/db.service");
	assert_label(w, 0, 1, "/db.service #2");
}

/* Whoever may make cgroups may give them any names. What differs in what can't be shown is told apart all the same. */
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

/* When all captures have ended, numbers begin anew: the same cgroup may have another one then. */
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

/* Of a path that is too long the end stays, from a whole character on. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone_before_it_was_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_same_path_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_odd_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_begun_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
