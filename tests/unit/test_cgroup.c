// SPDX-License-Identifier: GPL-2.0-only
/* Which cgroup is which, by the numbers that stat(2) gives their directories. */
#include "unit.h"

#include "core/cgroup.h"
#include "folder.h"

static char root[FOLDER_ROOT];

static char cgroups[FOLDER_ROOT + 64];		/* where they are below it */

static const char *in(const char *path)
{
	static char at[512];

	assert_true(snprintf(at, sizeof(at), "%s%s", cgroups, path) < (int)sizeof(at));
	return at;
}

void set_up(void)
{
	folder_make(root);
	snprintf(cgroups, sizeof(cgroups), "%s/sys/fs/cgroup", root);
	folder_make_in(root, "/sys/fs/cgroup");
}

void tear_down(void)
{
	folder_remove(root);
}

static void free_all(struct cgroup_sought *s, u32 n)
{
	for (u32 i = 0; i < n; i++)
		free(s[i].path);
}

TEST(test_version_2)
{
	struct stat st;
	struct cgroup_sought s[5] = { { 0 } };

	assert_int_equal(stat(in(""), &st), 0);
	folder_put(cgroups, "/cgroup.controllers", "cpuset cpu io memory\n");
	s[0].id = folder_make_in(cgroups, "/a.slice");
	s[1].id = folder_make_in(cgroups, "/a.slice/b \"x\".service");
	folder_put(cgroups, "/a.slice/io.max", "");
	s[2].id = st.st_ino;
	s[3].id = UINT64_MAX;		/* gone */
	s[4].id = s[1].id;		/* asked for twice */
	assert_int_equal(cgroups_find(root, s, 5), 0);
	assert_string_equal(s[0].path, "/a.slice");
	assert_string_equal(s[1].path, "/a.slice/b \"x\".service");
	assert_string_equal(s[2].path, "/");
	assert_null(s[3].path);
	assert_string_equal(s[4].path, "/a.slice/b \"x\".service");
	free_all(s, 5);
}

TEST(test_charged)
{
	char file[512];

	assert_true(cgroups_charged(root, file, sizeof(file)));	/* there are no cgroups */
	folder_put(cgroups, "/cgroup.controllers", "cpuset cpu io memory\n");
	folder_put(cgroups, "/cgroup.subtree_control", "cpu iox memory\n");
	assert_false(cgroups_charged(root, file, sizeof(file)));
	assert_string_equal(file, in("/cgroup.subtree_control"));
	folder_put(cgroups, "/cgroup.subtree_control", "cpu io\n");
	assert_true(cgroups_charged(root, file, sizeof(file)));
	/* Version 1 charges all of them. */
	folder_put(cgroups, "/cgroup.subtree_control", "");
	folder_put(cgroups, "/cgroup.controllers", "memory\n");
	assert_true(cgroups_charged(root, file, sizeof(file)));
}

/* Where version 1 has the controller, the numbers are those of its hierarchy. */
TEST(test_version_1)
{
	struct cgroup_sought s[2] = { { 0 } };
	char path[512];

	folder_make_in(cgroups, "/unified");
	folder_put(cgroups, "/unified/cgroup.controllers", "memory\n");
	s[1].id = folder_make_in(cgroups, "/unified/a");
	folder_make_in(cgroups, "/blkio");
	s[0].id = folder_make_in(cgroups, "/blkio/a");
	assert_int_equal(cgroups_find(root, s, 2), 0);
	assert_string_equal(s[0].path, "/a");
	assert_null(s[1].path);
	free_all(s, 2);
	/* Limits exist in version 2 only. */
	cgroup_hierarchy(root, path, sizeof(path));
	assert_string_equal(path, in("/unified"));
}

TEST(test_none)
{
	struct cgroup_sought s = { .id = 1 };

	assert_int_equal(cgroups_find(root, &s, 1), 0);
	assert_null(s.path);
	assert_int_equal(cgroups_find("/tmp/nowhere", &s, 1), 0);
	assert_null(s.path);
}

/* The names that engines give: Kubernetes with both of its drivers, docker, podman, systemd alone. */
TEST(test_names)
{
#define ID "3f2a9d5b7c1e4f60a8b2c4d6e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234"
#define UID "8c9c8f5e-7d3c-4c6b-9a54-0f4b1f1f2a3c"
	static const struct { const char *path, *container, *pod, *unit; } cases[] = {
		{ "/", "", "", "" }, { "none", "", "", "" }, { "/a/b", "", "", "" },
		{ "/system.slice/cron.service", "", "", "cron.service" },
		{ "/system.slice", "", "", "system.slice" },
		{ "/system.slice/db.service/worker", "", "", "db.service" },
		{ "/user.slice/user-1000.slice/session-2.scope", "", "", "session-2.scope" },
		{ "/system.slice/docker-" ID ".scope", ID, "", "" }, { "/docker/" ID, ID, "", "" },
		{ "/docker/" ID "/system.slice/cron.service", ID, "", "cron.service" },
		{ "/machine.slice/libpod-" ID ".scope/container", ID, "", "" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8c9c8f5e_7d3c_4c6b_9a54_0f4b1f1f2a3c.slice/cri-containerd-" ID
		  ".scope", ID, UID, "" },
		{ "/kubepods.slice/kubepods-pod8c9c8f5e_7d3c_4c6b_9a54_0f4b1f1f2a3c.slice", "", UID, "" },
		{ "/kubepods/besteffort/pod" UID "/" ID, ID, UID, "" }, { "/kubepods/pod" UID "x", "", "", "" },
		{ "/docker-" ID "0.scope", "", "", "docker-" ID "0.scope" }, { "/x" ID, "", "", "" },
		{ "/.service", "", "", "" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct cgroup_names names = cgroup_names(cases[i].path);

		assert_string_equal(names.container, cases[i].container);
		assert_string_equal(names.pod, cases[i].pod);
		assert_string_equal(names.unit, cases[i].unit);
	}
}
