// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/device.h"

#define MAX 16

/* A small recorded machine in a directory of its own: sda with two partitions, dm-0 on sda2, nvme path. */
struct tree {
	char root[64];
	struct device_table t;
};

static void put(const char *root, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, file);
	for (char *c = path + strlen(root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	static const char *const files[][2] = {
		{ "/sys/block/sda/dev", "8:0\n" }, { "/sys/block/sda/size", "2048\n" },
		{ "/sys/block/sda/mq/0/nr_tags", "32\n" }, { "/sys/block/sda/mq/1/nr_tags", "48\n" },
		{ "/sys/block/sda/mq/notes", "" }, { "/sys/block/sda/queue/nr_requests", "64\n" },
		{ "/sys/block/sda/queue/iostats", "1\n" },
		{ "/sys/block/sda/queue/scheduler", "none [bfq]\n" },
		{ "/sys/block/sda/stat", "  100 1 2 3  20 5 6 7 8 9 10  3 12 13 14  4 16\n" },
		{ "/sys/block/sda/sda1/dev", "8:1\n" }, { "/sys/block/sda/sda1/partition", "1\n" },
		{ "/sys/block/sda/sda1/size", "8\n" },
		{ "/sys/block/sda/sda1/stat", "1 2 3 4 5 6 7 8 9 10 11\n" },
		{ "/sys/block/sda/sda10/dev", "8:10\n" }, { "/sys/block/sda/sda10/partition", "10\n" },
		{ "/sys/block/sda/sda10/size", "8\n" }, { "/sys/block/sda/sda10/stat", "1 2 x 4\n" },
		{ "/sys/block/sda/sda2/dev", "8:2\n" }, { "/sys/block/sda/sda2/partition", "2\n" },
		{ "/sys/block/sda/power/async", "x\n" },
		{ "/sys/block/dm-0/dev", "253:0\n" }, { "/sys/block/dm-0/size", "8\n" },
		{ "/sys/block/dm-0/dm/name", "vg-root\n" }, { "/sys/block/dm-0/slaves/sda2/x", "" },
		{ "/sys/block/nvme0c0n1/hidden", "1\n" }, { "/sys/block/nvme0c0n1/size", "8\n" },
		{ "/sys/block/loop0/dev", "7:0\n" }, { "/sys/block/loop0/size", "0\n" },
	};
	struct tree *x = calloc(1, sizeof(*x));
	struct problem p;

	strcpy(x->root, "/tmp/blklat-test-XXXXXX");
	assert_non_null(mkdtemp(x->root));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(x->root, files[i][0], files[i][1]);
	assert_int_equal(device_table_read(&x->t, x->root, &p), 0);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct tree *x = *state;

	device_table_free(&x->t);
	nftw(x->root, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
	free(x);
	return 0;
}

static const struct device *named(const struct tree *x, const char *name)
{
	for (u32 i = 0; i < x->t.n; i++)
		if (!strcmp(x->t.d[i].name, name))
			return &x->t.d[i];
	fail_msg("no '%s' in the table", name);
	return NULL;
}

static void test_order_and_parents(void **state)
{
	static const char *const order[] = { "dm-0", "loop0", "nvme0c0n1", "sda", "sda1", "sda2", "sda10" };
	const struct tree *x = *state;

	assert_int_equal(x->t.n, ARRAY_SIZE(order));
	for (u32 i = 0; i < x->t.n; i++) {
		assert_string_equal(x->t.d[i].name, order[i]);
		assert_int_equal(x->t.d[i].parent, i < 3 ? i : 3);
	}
}

static void test_facts(void **state)
{
	const struct tree *x = *state;
	const struct device *sda = named(x, "sda"), *sda1 = named(x, "sda1"), *dm = named(x, "dm-0");

	assert_int_equal(sda->hw_queues, 2);
	assert_int_equal(sda->tags, 48);
	assert_int_equal(sda->nr_requests, 64);
	assert_string_equal(sda->scheduler, "bfq");
	assert_true(sda->size_bytes == 1048576);
	assert_int_equal(sda->stages, 7);
	assert_true(sda->iostats);
	assert_int_equal(sda1->tags, 48);
	assert_int_equal(sda1->stages, 7);
	assert_int_equal(sda1->major * 1000 + sda1->minor, 8001);
	assert_true(sda1->size_bytes == 4096);
	assert_string_equal(sda1->sysfs, "/sys/block/sda/sda1");
	assert_int_equal(dm->stages, 4);
	assert_int_equal(dm->hw_queues, 0);
	assert_string_equal(dm->mapper, "vg-root");
	assert_int_equal(dm->n_lower, 1);
	assert_ptr_equal(&x->t.d[dm->lower[0]], named(x, "sda2"));
	assert_true(named(x, "nvme0c0n1")->hidden);
}

static void test_find(void **state)
{
	static const struct { const char *name; const char *found[MAX]; } cases[] = {
		{ "sda1", { "sda1" } }, { "vg-root", { "dm-0" } }, { "/dev/sda2", { "sda2" } },
		{ "/dev/mapper/vg-root", { "dm-0" } }, { "sd*", { "sda", "sda1", "sda2", "sda10" } },
		{ "sda?", { "sda1", "sda2" } }, { "[dl]*", { "dm-0", "loop0" } },
		{ "all", { "dm-0", "sda" } }, { "/dev/sda1*", { "sda1", "sda10" } },
	};
	const struct tree *x = *state;
	struct problem p;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 set[MAX], n = 0;

		/* Twice: a device that is there already is not added again. */
		assert_int_equal(device_find(&x->t, cases[i].name, set, &n, &p), 0);
		assert_int_equal(device_find(&x->t, cases[i].name, set, &n, &p), 0);
		for (u32 k = 0; k < n; k++)
			assert_string_equal(x->t.d[set[k]].name, cases[i].found[k]);
		assert_null(cases[i].found[n]);
	}
}

static void test_not_found(void **state)
{
	static const struct { const char *name; int err; const char *says; } cases[] = {
		{ "sad", -ENODEV, "no block device 'sad'; did you mean 'sda'? ('blklat list' shows all)" },
		{ "sda3", -ENODEV, "no block device 'sda3'; did you mean 'sda1'? ('blklat list' shows all)" },
		{ "/dev/zzzzzz", -ENODEV, "no block device '/dev/zzzzzz'; 'blklat list' shows all" },
		{ "nvme*n2", -ENOENT, "the pattern 'nvme*n2' matches no block device; 'blklat list' shows "
				      "all" },
		{ "nvme*", -ENOENT, "the pattern 'nvme*' matches no block device; 'blklat list' shows all" },
		{ "/sys/block/sda/dev", -ENOTBLK, "'/sys/block/sda/dev' is a file, not a block device; 'blklat "
						  "list' shows all" },
		{ "/sys", -ENOTBLK, "'/sys' is a directory, not a block device; 'blklat list' shows all" },
		{ "", -ENODEV, "a device's name can't be empty; 'blklat list' shows all" },
	};
	const struct tree *x = *state;
	struct problem p;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 set[MAX] = { 3 }, n = 1;

		assert_int_equal(device_find(&x->t, cases[i].name, set, &n, &p), cases[i].err);
		assert_string_equal(p.text, cases[i].says);
		assert_int_equal(n, 1);
	}
}

static void test_kernel_ios(void **state)
{
	const struct tree *x = *state;
	struct kernel_stat stat = { 0 };
	char path[128];

	/* 100 reads, 20 writes, 3 discards, 4 flushes */
	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda"), &stat), 0);
	assert_int_equal(stat.ios, 127);
	assert_int_equal(stat.in_flight, 8);
	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda1"), &stat), -ENODATA);
	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda10"), &stat), -ENODATA);
	assert_int_equal(device_kernel_stat(&x->t, named(x, "dm-0"), &stat), -ENODEV);
	snprintf(path, sizeof(path), "%s/sys/block/sda/stat", x->root);
	unlink(path);
	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda"), &stat), -ENODEV);
	assert_int_equal(stat.ios, 127);
}

/* The disk's sequence number is also its partitions'. */
static void test_another_is_put_in(void **state)
{
	struct tree x = { 0 };
	struct problem p;
	struct kernel_stat stat = { 0 };

	strcpy(x.root, ((const struct tree *)*state)->root);
	put(x.root, "/sys/block/sda/diskseq", "41\n");
	assert_int_equal(device_table_read(&x.t, x.root, &p), 0);
	for (u32 i = 0; i < x.t.n; i++)
		assert_int_equal(x.t.d[i].diskseq, strncmp(x.t.d[i].name, "sda", 3) ? 0 : 41);
	assert_int_equal(device_kernel_stat(&x.t, named(&x, "sda"), &stat), 0);
	assert_int_equal(device_kernel_stat(&x.t, named(&x, "sda1"), &stat), -ENODATA);
	put(x.root, "/sys/block/sda/diskseq", "42\n");
	assert_int_equal(device_kernel_stat(&x.t, named(&x, "sda"), &stat), -ENODEV);
	assert_int_equal(device_kernel_stat(&x.t, named(&x, "sda1"), &stat), -ENODEV);
	device_table_free(&x.t);
}

/* An older kernel has no such number; but the directory is a different one. */
static void test_another_of_the_name(void **state)
{
	const struct tree *x = *state;
	char path[128], old[128];
	struct kernel_stat stat = { 0 };

	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda1"), &stat), -ENODATA);
	snprintf(path, sizeof(path), "%s/sys/block/sda/sda1", x->root);
	snprintf(old, sizeof(old), "%s/old", x->root);
	assert_int_equal(rename(path, old), 0);
	put(x->root, "/sys/block/sda/sda1/size", "8\n");
	put(x->root, "/sys/block/sda/sda1/stat", "100 1 2 3 20 5 6 7 8 9 10 3 12 13 14 4 16\n");
	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda1"), &stat), -ENODEV);
	assert_int_equal(device_kernel_stat(&x->t, named(x, "sda"), &stat), 0);
}

static void test_no_tree(void **state)
{
	struct device_table t = { .n = 4711 };
	char root[300];
	struct problem p;
	(void)state;

	assert_int_equal(device_table_read(&t, "/nonexistent", &p), -ENOENT);
	assert_string_equal(p.text, "can't read '/nonexistent/sys/block', where the block devices are found: "
			    "No such file or directory");
	memset(root, '/', sizeof(root));
	root[sizeof(root) - 1] = '\0';
	assert_int_equal(device_table_read(&t, root, &p), -ENAMETOOLONG);
	assert_int_equal(t.n, 4711);
}

static void put_bytes(const char *root, const char *file, const char *bytes, size_t n)
{
	char path[512];
	FILE *f;

	put(root, file, "");
	snprintf(path, sizeof(path), "%s%s", root, file);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/*
 * Where NVMe and SCSI drives have their serial number; a SCSI page that lies about its length; one that must not be
 * read.
 */
static void test_identity(void **state)
{
	static const char page[] = "\0\x80\0\x14        ZC1 A\0\x1bX    ";
	static const char liar[] = "\0\x80\0\xff" "S123";
	static const char *const wanted[][3] = {
		{ "sda", "ZC1 A", "naa.5000c500" }, { "sda1", "ZC1 A", "naa.5000c500" }, { "sdb", "S123", "" },
		{ "sdc", "", "" }, { "nvme0n1", "S4EWNX0N", "eui.0025385b" }, { "vda", "", "" },
	};
	struct tree *x = *state;
	struct problem p;

	for (u32 i = 0; i < ARRAY_SIZE(wanted); i++) {
		char file[64];

		snprintf(file, sizeof(file), "/sys/block/%s/dev", wanted[i][0]);
		if (strcmp(wanted[i][0], "sda1"))
			put(x->root, file, "9:9\n");
	}
	put_bytes(x->root, "/sys/block/sda/device/vpd_pg80", page, 4 + 20);
	put(x->root, "/sys/block/sda/device/wwid", "naa.5000c500\n");
	put_bytes(x->root, "/sys/block/sdb/device/vpd_pg80", liar, sizeof(liar) - 1);
	put_bytes(x->root, "/sys/block/sdc/device/vpd_pg80", "\0\x83\0\1A", 5);
	put(x->root, "/sys/block/nvme0n1/device/serial", "S4EWNX0N            \n");
	put(x->root, "/sys/block/nvme0n1/wwid", "eui.0025385b\n");
	/* Reading it is an IO. */
	put(x->root, "/sys/block/vda/serial", "virt-1");
	device_table_free(&x->t);
	assert_int_equal(device_table_read(&x->t, x->root, &p), 0);
	for (u32 i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_string_equal(named(x, wanted[i][0])->serial, wanted[i][1]);
		assert_string_equal(named(x, wanted[i][0])->wwid, wanted[i][2]);
	}
}

/* Only then are the requests of all devices looked at for its bios, so who never does must not seem to. */
static void test_passes_bios_on(void **state)
{
	static const struct {
		struct device d;
		bool passes, hides;
	} cases[] = {
		{ { .name = "md127" }, true, true }, { { .name = "md0p1" }, true, true }, { { .name = "nvme0n1" }, true, false },
		{ { .name = "bcache0" }, true, false }, { { .name = "nvme0n1", .hw_queues = 2 }, false, false },
		{ { .name = "dm-3" }, false, false }, { { .name = "zram0" }, false, false }, { { .name = "ram1" }, false, false },
		{ { .name = "pmem0p1" }, false, false }, { { .name = "something_new" }, true, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(device_passes_bios_on(&cases[i].d), cases[i].passes);
		assert_int_equal(device_hides_splits(&cases[i].d), cases[i].hides);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order_and_parents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_facts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_ios, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_is_put_in, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_of_the_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identity, setup, teardown),
		cmocka_unit_test(test_no_tree),
		cmocka_unit_test(test_passes_bios_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
