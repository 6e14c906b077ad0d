// SPDX-License-Identifier: GPL-2.0-only
/* Which cgroup is which, by the numbers that stat(2) gives their directories. */
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

#include "core/cgroup.h"

struct tree {
	char root[64];
};

static const char *in(const struct tree *t, const char *path)
{
	static char at[512];

	assert_true(snprintf(at, sizeof(at), "%s/sys/fs/cgroup%s", t->root, path) < (int)sizeof(at));
	return at;
}

static u64 make(const struct tree *t, const char *path)
{
	struct stat st;

	assert_int_equal(mkdir(in(t, path), 0755), 0);
	assert_int_equal(stat(in(t, path), &st), 0);
	return st.st_ino;
}

static void put(const struct tree *t, const char *path, const char *text)
{
	FILE *f = fopen(in(t, path), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char command[256];

	assert_non_null(t);
	strcpy(t->root, "/tmp/blklat-cgroup-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	snprintf(command, sizeof(command), "mkdir -p %s/sys/fs/cgroup", t->root);
	assert_int_equal(system(command), 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;
	char command[256];

	snprintf(command, sizeof(command), "rm -r %s", t->root);
	assert_int_equal(system(command), 0);
	free(t);
	return 0;
}

static void free_all(struct cgroup_sought *s, u32 n)
{
	for (u32 i = 0; i < n; i++)
		free(s[i].path);
}

static void test_version_2(void **state)
{
	const struct tree *t = *state;
	struct stat root;
	struct cgroup_sought s[5] = { { 0 } };

	assert_int_equal(stat(in(t, ""), &root), 0);
	put(t, "/cgroup.controllers", "cpuset cpu io memory\n");
	s[0].id = make(t, "/a.slice");
	s[1].id = make(t, "/a.slice/b \"x\".service");
	put(t, "/a.slice/io.max", "");
	s[2].id = root.st_ino;
	s[3].id = UINT64_MAX;		/* gone */
	s[4].id = s[1].id;		/* asked for twice */
	assert_int_equal(cgroups_find(t->root, s, 5), 0);
	assert_string_equal(s[0].path, "/a.slice");
	assert_string_equal(s[1].path, "/a.slice/b \"x\".service");
	assert_string_equal(s[2].path, "/");
	assert_null(s[3].path);
	assert_string_equal(s[4].path, "/a.slice/b \"x\".service");
	free_all(s, 5);
}

static void test_charged(void **state)
{
	const struct tree *t = *state;
	char file[512];

	assert_true(cgroups_charged(t->root, file, sizeof(file)));	/* there are no cgroups */
	put(t, "/cgroup.controllers", "cpuset cpu io memory\n");
	put(t, "/cgroup.subtree_control", "cpu iox memory\n");
	assert_false(cgroups_charged(t->root, file, sizeof(file)));
	assert_string_equal(file, in(t, "/cgroup.subtree_control"));
	put(t, "/cgroup.subtree_control", "cpu io\n");
	assert_true(cgroups_charged(t->root, file, sizeof(file)));
	/* Version 1 charges all of them. */
	put(t, "/cgroup.subtree_control", "");
	put(t, "/cgroup.controllers", "memory\n");
	assert_true(cgroups_charged(t->root, file, sizeof(file)));
}

/* Where version 1 has the controller, the numbers are those of its hierarchy. */
static void test_version_1(void **state)
{
	const struct tree *t = *state;
	struct cgroup_sought s[2] = { { 0 } };
	char path[512];

	make(t, "/unified");
	put(t, "/unified/cgroup.controllers", "memory\n");
	s[1].id = make(t, "/unified/a");
	make(t, "/blkio");
	s[0].id = make(t, "/blkio/a");
	assert_int_equal(cgroups_find(t->root, s, 2), 0);
	assert_string_equal(s[0].path, "/a");
	assert_null(s[1].path);
	free_all(s, 2);
	/* Limits exist in version 2 only. */
	cgroup_hierarchy(t->root, path, sizeof(path));
	assert_string_equal(path, in(t, "/unified"));
}

static void test_none(void **state)
{
	const struct tree *t = *state;
	struct cgroup_sought s = { .id = 1 };

	assert_int_equal(cgroups_find(t->root, &s, 1), 0);
	assert_null(s.path);
	assert_int_equal(cgroups_find("/tmp/nowhere", &s, 1), 0);
	assert_null(s.path);
}

/* The names that engines give: Kubernetes with both of its drivers, docker, podman, systemd alone. */
static void test_names(void **state)
{
#define ID "3f2a9d5b7c1e4f60a8b2c4d6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234"
#define UID "8c9c8f5e-7d3c-4c6b-9a54-0f4b1f1f2a3c"
	static const struct {
		const char *path, *container, *pod, *unit;
	} cases[] = {
		{ "/", "", "", "" },
		{ "none", "", "", "" },
		{ "/a/b", "", "", "" },
		{ "/system.slice/cron.service", "", "", "cron.service" },
		{ "/system.slice", "", "", "system.slice" },
		{ "/system.slice/db.service/worker", "", "", "db.service" },
		{ "/user.slice/user-1000.slice/session-2.scope", "", "", "session-2.scope" },
		{ "/system.slice/docker-" ID ".scope", ID, "", "" },
		{ "/docker/" ID, ID, "", "" },
		{ "/docker/" ID "/system.slice/cron.service", ID, "", "cron.service" },
		{ "/machine.slice/libpod-" ID ".scope/container", ID, "", "" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8c9c8f5e_7d3c_4c6b_9a54_0f4b1f1f2a3c.slice/cri-containerd-" ID
		  ".scope", ID, UID, "" },
		{ "/kubepods.slice/kubepods-pod8c9c8f5e_7d3c_4c6b_9a54_0f4b1f1f2a3c.slice", "", UID, "" },
		{ "/kubepods/besteffort/pod" UID "/" ID, ID, UID, "" },
		{ "/kubepods/pod" UID "x", "", "", "" },
		{ "/docker-" ID "0.scope", "", "", "docker-" ID "0.scope" },
		{ "/x" ID, "", "", "" },
		{ "/.service", "", "", "" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct cgroup_names names = cgroup_names(cases[i].path);

		assert_string_equal(names.container, cases[i].container);
		assert_string_equal(names.pod, cases[i].pod);
		assert_string_equal(names.unit, cases[i].unit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_version_2, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_version_1, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_charged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
