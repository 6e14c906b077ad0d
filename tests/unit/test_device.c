// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>

#include "core/device.h"
#include "core/kubernetes.h"
#include "folder.h"

#define MAX 16

/* A small recorded machine in a directory of its own: sda with two partitions, dm-0 on sda2, nvme path. */
static struct tree {
	char root[FOLDER_ROOT];
	struct device_table t;
	struct problem p;
} x;

void set_up(void)
{
	static const char *const files[][2] = {
		{ "/sys/block/sda/dev", "8:0\n" }, { "/sys/block/sda/size", "2048\n" },
		{ "/sys/block/sda/mq/0/nr_tags", "48\n" }, { "/sys/block/sda/mq/1/cpu_list", "1\n" },
		{ "/sys/block/sda/mq/notes", "" }, { "/sys/block/sda/queue/nr_requests", "64\n" },
		{ "/sys/block/sda/queue/iostats", "1\n" }, { "/sys/block/sda/queue/scheduler", "none [bfq]\n" },
		{ "/sys/block/sda/stat", "  100 1 2 3  20 5 6 7 8 9 10  3 12 13 14  4 16\n" },
		{ "/sys/block/sda/sda1/dev", "8:1\n" }, { "/sys/block/sda/sda1/partition", "1\n" },
		{ "/sys/block/sda/sda1/size", "8\n" }, { "/sys/block/sda/sda1/stat", "1 2 3 4 5 6 7 8 9 10 11\n" },
		{ "/sys/block/sda/sda10/dev", "8:10\n" }, { "/sys/block/sda/sda10/partition", "10\n" },
		{ "/sys/block/sda/sda10/size", "8\n" }, { "/sys/block/sda/sda10/stat", "1 2 x 4\n" },
		{ "/sys/block/sda/sda2/dev", "8:2\n" }, { "/sys/block/sda/sda2/partition", "2\n" },
		{ "/sys/block/sda/power/async", "x\n" }, { "/sys/block/dm-0/dev", "253:0\n" },
		{ "/sys/block/dm-0/size", "8\n" }, { "/sys/block/dm-0/dm/name", "vg-root\n" },
		{ "/sys/block/dm-0/slaves/sda2/x", "" }, { "/sys/block/nvme0c0n1/hidden", "1\n" },
		{ "/sys/block/nvme0c0n1/size", "8\n" }, { "/sys/block/loop0/dev", "7:0\n" },
		{ "/sys/block/loop0/size", "0\n" },
	};

	folder_make(x.root);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		folder_put(x.root, files[i][0], files[i][1]);
	assert_int_equal(device_table_read(&x.t, x.root, &x.p), 0);
}

void tear_down(void)
{
	device_table_free(&x.t);
	folder_remove(x.root);
}

static const struct device *named(const char *name)
{
	for (u32 i = 0; i < x.t.n; i++)
		if (!strcmp(x.t.d[i].name, name))
			return &x.t.d[i];
	fail_msg("no '%s' in the table", name);
	return NULL;
}

/* The tags of a queue that tells; a partition's are its disk's. tests/cli/test_list.py has the other facts. */
TEST(test_queues)
{
	const struct device *sda = named("sda");

	assert_int_equal(sda->hw_queues, 2);
	assert_int_equal(sda->tags, 48);
	assert_int_equal(sda->nr_requests, 64);
	assert_int_equal(named("sda1")->tags, 48);
}

/* Only debugfs says that queues share their tags, and not of a scheduler's on kernels before 5.14. What is known stays known. */
TEST(test_shared_tags)
{
	static const struct { const char *release, *flags; bool shared; } cases[] = {
		{ "6.1.0-23-amd64", "alloc_policy=FIFO SHOULD_MERGE|TAG_HCTX_SHARED", true }, { "5.14.0-427.el9", "TAG_HCTX_SHARED", true },
		{ "6.1.0-23-amd64", "alloc_policy=FIFO SHOULD_MERGE|TAG_QUEUE_SHARED", false }, { "6.1.0-23-amd64", "", false },
		{ "5.13.19", "TAG_HCTX_SHARED", false }, { "4.18.0-553.el8", "TAG_HCTX_SHARED", false }, { "", "TAG_HCTX_SHARED", false },
	};

	assert_false(named("sda")->shared_tags);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct device d = *named("sda1");

		folder_put(x.root, "/proc/sys/kernel/osrelease", cases[i].release);
		folder_put(x.root, "/sys/kernel/debug/block/sda/hctx0/flags", cases[i].flags);
		assert_int_equal(device_read_queue(&x.t, &d), 0);
		assert_int_equal(d.shared_tags, cases[i].shared);
		folder_put(x.root, "/sys/kernel/debug/block/sda/hctx0/flags", "");
		assert_int_equal(device_read_queue(&x.t, &d), 0);
		assert_int_equal(d.shared_tags, cases[i].shared);
	}
}

TEST(test_find)
{
	static const struct { const char *name; const char *found[MAX]; } cases[] = {
		{ "sda1", { "sda1" } }, { "vg-root", { "dm-0" } }, { "/dev/sda2", { "sda2" } },
		{ "/dev/mapper/vg-root", { "dm-0" } }, { "sd*", { "sda", "sda1", "sda2", "sda10" } },
		{ "sda?", { "sda1", "sda2" } }, { "[dl]*", { "dm-0", "loop0" } },
		{ "all", { "dm-0", "sda" } }, { "/dev/sda1*", { "sda1", "sda10" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 set[MAX], n = 0;

		/* Twice: a device that is there already is not added again. */
		assert_int_equal(device_find(&x.t, cases[i].name, set, &n, &x.p), 0);
		assert_int_equal(device_find(&x.t, cases[i].name, set, &n, &x.p), 0);
		for (u32 k = 0; k < n; k++)
			assert_string_equal(x.t.d[set[k]].name, cases[i].found[k]);
		assert_null(cases[i].found[n]);
	}
}

TEST(test_not_found)
{
	static const struct { const char *name; int err; const char *says; } cases[] = {
		{ "sad", -ENODEV, "no block device 'sad'; did you mean 'sda'? ('blklat list' shows all)" },
		{ "sda3", -ENODEV, "no block device 'sda3'; did you mean 'sda1'? ('blklat list' shows all)" },
		{ "/dev/zzzzzz", -ENODEV, "no block device '/dev/zzzzzz'; 'blklat list' shows all" },
		{ "nvme*n2", -ENOENT, "the pattern 'nvme*n2' matches no block device; 'blklat list' shows all" },
		{ "nvme*", -ENOENT, "the pattern 'nvme*' matches no block device; 'blklat list' shows all" },
		{ "/sys/block/sda/dev", -ENOTBLK, "'/sys/block/sda/dev' is a file, not a block device; 'blklat list' shows all" },
		{ "/sys", -ENOTBLK, "'/sys' is a directory, not a block device; 'blklat list' shows all" },
		{ "", -ENODEV, "a device's name can't be empty; 'blklat list' shows all" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 set[MAX] = { 3 }, n = 1;

		assert_int_equal(device_find(&x.t, cases[i].name, set, &n, &x.p), cases[i].err);
		assert_string_equal(x.p.text, cases[i].says);
		assert_int_equal(n, 1);
	}
}

TEST(test_kernel_ios)
{
	struct kernel_stat stat = { 0 };
	char path[128];

	/* 100 reads, 20 writes, 3 discards, 4 flushes */
	assert_int_equal(device_kernel_stat(&x.t, named("sda"), &stat), 0);
	assert_int_equal(stat.ios, 127);
	assert_int_equal(stat.in_flight, 8);
	assert_int_equal(device_kernel_stat(&x.t, named("sda1"), &stat), -ENODATA);
	assert_int_equal(device_kernel_stat(&x.t, named("sda10"), &stat), -ENODATA);
	assert_int_equal(device_kernel_stat(&x.t, named("dm-0"), &stat), -ENODEV);
	snprintf(path, sizeof(path), "%s/sys/block/sda/stat", x.root);
	unlink(path);
	assert_int_equal(device_kernel_stat(&x.t, named("sda"), &stat), -ENODEV);
	assert_int_equal(stat.ios, 127);
}

/* The disk's sequence number is also its partitions'. */
TEST(test_another_is_put_in)
{
	struct kernel_stat stat = { 0 };

	device_table_free(&x.t);
	folder_put(x.root, "/sys/block/sda/diskseq", "41\n");
	assert_int_equal(device_table_read(&x.t, x.root, &x.p), 0);
	for (u32 i = 0; i < x.t.n; i++)
		assert_int_equal(x.t.d[i].diskseq, strncmp(x.t.d[i].name, "sda", 3) ? 0 : 41);
	assert_int_equal(device_kernel_stat(&x.t, named("sda"), &stat), 0);
	assert_int_equal(device_kernel_stat(&x.t, named("sda1"), &stat), -ENODATA);
	folder_put(x.root, "/sys/block/sda/diskseq", "42\n");
	assert_int_equal(device_kernel_stat(&x.t, named("sda"), &stat), -ENODEV);
	assert_int_equal(device_kernel_stat(&x.t, named("sda1"), &stat), -ENODEV);
}

/* An older kernel has no such number; but the directory is a different one. */
TEST(test_another_of_the_name)
{
	char path[128], old[128];
	struct kernel_stat stat = { 0 };

	assert_int_equal(device_kernel_stat(&x.t, named("sda1"), &stat), -ENODATA);
	snprintf(path, sizeof(path), "%s/sys/block/sda/sda1", x.root);
	snprintf(old, sizeof(old), "%s/old", x.root);
	assert_int_equal(rename(path, old), 0);
	folder_put(x.root, "/sys/block/sda/sda1/size", "8\n");
	folder_put(x.root, "/sys/block/sda/sda1/stat", "100 1 2 3 20 5 6 7 8 9 10 3 12 13 14 4 16\n");
	assert_int_equal(device_kernel_stat(&x.t, named("sda1"), &stat), -ENODEV);
	assert_int_equal(device_kernel_stat(&x.t, named("sda"), &stat), 0);
}

static void put_bytes(const char *file, const char *bytes, size_t n)
{
	FILE *f = fopen(folder_above(x.root, file), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/*
 * Where NVMe and SCSI drives have their serial number; a SCSI page that lies about its length; one that must not be
 * read.
 */
TEST(test_identity)
{
	static const char page[] = "\0\x80\0\x14        ZC1 A\0\x1bX    ";
	static const char liar[] = "\0\x80\0\xff" "S123";
	static const char *const wanted[][4] = {
		{ "sda", "ZC1 A", "naa.5000c500", "SN04" }, { "sda1", "ZC1 A", "naa.5000c500", "SN04" }, { "sdb", "S123", "", "" },
		{ "sdc", "", "", "" }, { "nvme0n1", "S4EWNX0N", "eui.0025385b", "5B2QGXA7" }, { "vda", "", "", "" },
		{ "dm-3", "", "LVM-8fX", "" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(wanted); i++) {
		char file[64];

		snprintf(file, sizeof(file), "/sys/block/%s/dev", wanted[i][0]);
		if (strcmp(wanted[i][0], "sda1"))
			folder_put(x.root, file, "9:9\n");
	}
	put_bytes("/sys/block/sda/device/vpd_pg80", page, 4 + 20);
	folder_put(x.root, "/sys/block/sda/device/wwid", "naa.5000c500\n");
	put_bytes("/sys/block/sdb/device/vpd_pg80", liar, sizeof(liar) - 1);
	put_bytes("/sys/block/sdc/device/vpd_pg80", "\0\x83\0\1A", 5);
	folder_put(x.root, "/sys/block/nvme0n1/device/serial", "S4EWNX0N            \n");
	folder_put(x.root, "/sys/block/nvme0n1/wwid", "eui.0025385b\n");
	folder_put(x.root, "/sys/block/sda/device/rev", "SN04\n");
	folder_put(x.root, "/sys/block/nvme0n1/device/firmware_rev", "5B2QGXA7\n");
	folder_put(x.root, "/sys/block/dm-3/dm/uuid", "LVM-8fX\n");
	/* Reading it is an IO. */
	folder_put(x.root, "/sys/block/vda/serial", "virt-1");
	device_table_free(&x.t);
	assert_int_equal(device_table_read(&x.t, x.root, &x.p), 0);
	for (u32 i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_string_equal(named(wanted[i][0])->serial, wanted[i][1]);
		assert_string_equal(named(wanted[i][0])->wwid, wanted[i][2]);
		assert_string_equal(named(wanted[i][0])->firmware, wanted[i][3]);
		assert_string_equal(named(wanted[i][0])->path, "");
	}
}

/* Where the links of /sys/block lead; names that the kernel gives in turn are left out. */
TEST(test_path)
{
	static const char *const cases[][2] = {
		{ "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sdk", "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0" },
		{ "pci0000:40/0000:41:00.0/nvme/nvme1/nvme1n1", "pci0000:40/0000:41:00.0" },
		{ "platform/soc/fe340000.mmc/block/mmcblk0", "platform/soc/fe340000.mmc" },
		{ "virtual/block/dm-7", "" }, { "virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = strrchr(cases[i][0], '/') + 1;
		char to[256], file[256];

		snprintf(file, sizeof(file), "/sys/devices/%s/dev", cases[i][0]);
		folder_put(x.root, file, "9:9\n");
		snprintf(to, sizeof(to), "../devices/%s", cases[i][0]);
		snprintf(file, sizeof(file), "/sys/block/%s", name);
		assert_int_equal(symlink(to, folder_above(x.root, file)), 0);
	}
	device_table_free(&x.t);
	assert_int_equal(device_table_read(&x.t, x.root, &x.p), 0);
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(named(strrchr(cases[i][0], '/') + 1)->path, cases[i][1]);
}

#define MOUNT(device, root, at) "36 35 " device " " root " " at " rw,relatime shared:1 - ext4 /dev/x rw\n"
#define PODS "/var/lib/kubelet/pods/8c9c8f5e-7d3c-4c6b-9a54-0f4b1f1f2a3c/volumes/kubernetes.io~"

/* A volume is a whole file system; one folder of a file system, or a mount elsewhere, is none. */
TEST(test_volumes)
{
	folder_put(x.root, "/proc/1/mountinfo", MOUNT("8:1", "/", PODS "csi/pvc-8f1c/mount") MOUNT("8:0", "/srv/a", PODS "local-volume/pv1")
		   MOUNT("7:0", "/", "/mnt") "rubbish\n" MOUNT("253:0", "/", PODS "gce-pd/disk\\0401") MOUNT("9:9", "/", PODS "csi/pvc-0/mount"));
	kubernetes_volumes(x.root, &x.t);
	assert_string_equal(named("sda1")->volume, "pvc-8f1c");
	assert_string_equal(named("sda")->volume, "");
	assert_string_equal(named("loop0")->volume, "");
	assert_string_equal(named("dm-0")->volume, "disk\\0401");
	/* Unmounted again; a file that can't be read says nothing. */
	folder_put(x.root, "/proc/1/mountinfo", MOUNT("8:2", "/", PODS "csi/pvc-8f1c/mount"));
	kubernetes_volumes(x.root, &x.t);
	assert_string_equal(named("sda1")->volume, "");
	assert_string_equal(named("sda2")->volume, "pvc-8f1c");
	kubernetes_volumes("/no-such", &x.t);
	assert_string_equal(named("sda2")->volume, "pvc-8f1c");
}

/* Only then are the requests of all devices looked at for its bios, so who never does must not seem to. */
TEST(test_passes_bios_on)
{
	static const struct { struct device d; bool passes, hides; } cases[] = {
		{ { .name = "md127" }, true, true }, { { .name = "md0p1" }, true, true }, { { .name = "nvme0n1" }, true, false },
		{ { .name = "bcache0" }, true, false }, { { .name = "nvme0n1", .hw_queues = 2 }, false, false },
		{ { .name = "dm-3" }, false, false }, { { .name = "zram0" }, false, false }, { { .name = "ram1" }, false, false },
		{ { .name = "pmem0p1" }, false, false }, { { .name = "something_new" }, true, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(device_passes_bios_on(&cases[i].d), cases[i].passes);
		assert_int_equal(device_hides_splits(&cases[i].d), cases[i].hides);
	}
}

/* --- a table that is kept up to date --- */

static void update(const bool *used)
{
	assert_int_equal(device_table_update(&x.t, used, &x.p), 0);
}

static void keep_up_to_date(void)
{
	device_table_free(&x.t);
	assert_int_equal(device_table_init(&x.t, x.root, &x.p), 0);
	folder_put(x.root, "/sys/block/sda/sda2/size", "8\n");
	folder_put(x.root, "/sys/block/dm-0/queue/nr_requests", "");
	folder_put(x.root, "/sys/block/loop0/queue/nr_requests", "");
	folder_put(x.root, "/sys/block/nvme0c0n1/queue/nr_requests", "");
	update(NULL);
}

static u32 number_of(const char *name)
{
	u32 found = UINT32_MAX;

	for (u32 i = 0; i < x.t.n; i++) {
		if (x.t.d[i].absent || strcmp(x.t.d[i].name, name))
			continue;
		assert_int_equal(found, UINT32_MAX);
		found = i;
	}
	return found;
}

static void take(const char *path)
{
	char at[128];

	snprintf(at, sizeof(at), "%s/sys/block/%s", x.root, path);
	folder_remove(at);
}

/* At first it is as if it was read; later nothing moves, and the queues of what is known are not read again. */
TEST(test_update_nothing)
{
	const struct device *first;
	struct device_table read;
	u32 n;

	keep_up_to_date();
	assert_int_equal(device_table_read(&read, x.root, &x.p), 0);
	first = x.t.d;
	n = x.t.n;
	assert_int_equal(n, read.n);
	assert_memory_equal(first, read.d, n * sizeof(*first));
	device_table_free(&read);
	folder_put(x.root, "/sys/block/sda/mq/0/nr_tags", "99\n");
	folder_put(x.root, "/sys/block/sda/size", "4096\n");
	update(NULL);
	assert_ptr_equal(x.t.d, first);
	assert_int_equal(x.t.n, n);
	assert_int_equal(named("sda")->tags, 48);
	assert_int_equal(named("sda")->size_bytes, 4096 * 512);
}

/* A disk with a partition, a partition of a known disk, and what lies on them. */
TEST(test_update_comes)
{
	u32 n, sdb, md;

	keep_up_to_date();
	n = x.t.n;
	folder_put(x.root, "/sys/block/sdb/dev", "8:16\n");
	folder_put(x.root, "/sys/block/sdb/size", "8\n");
	folder_put(x.root, "/sys/block/sdb/sdb1/dev", "8:17\n");
	folder_put(x.root, "/sys/block/sdb/sdb1/partition", "1\n");
	folder_put(x.root, "/sys/block/md0/dev", "9:0\n");
	folder_put(x.root, "/sys/block/md0/slaves/sdb1/x", "");
	folder_put(x.root, "/sys/block/md0/slaves/sda1/x", "");
	folder_put(x.root, "/sys/block/md0/queue/nr_requests", "");
	folder_put(x.root, "/sys/block/sda/sda3/dev", "8:3\n");
	folder_put(x.root, "/sys/block/sda/sda3/partition", "3\n");
	folder_put(x.root, "/sys/block/sda/mq/0/nr_tags", "99\n");
	folder_put(x.root, "/sys/block/dm-0/slaves/sda3/x", "");
	/* It is not complete as long as it has no queue. */
	update(NULL);
	assert_int_equal(number_of("sdb"), UINT32_MAX);
	folder_put(x.root, "/sys/block/sdb/queue/nr_requests", "64\n");
	update(NULL);
	sdb = number_of("sdb");
	md = number_of("md0");
	assert_int_equal(x.t.n, n + 4);
	assert_true(sdb >= n && number_of("sdb1") == sdb + 1);
	assert_int_equal(x.t.d[sdb + 1].parent, sdb);
	assert_int_equal(x.t.d[number_of("sda3")].parent, number_of("sda"));
	assert_int_equal(x.t.d[number_of("sda3")].tags, 99);
	assert_int_equal(x.t.d[md].n_lower, 2);
	assert_int_equal(x.t.d[md].lower[0], number_of("sda1"));
	assert_int_equal(x.t.d[md].lower[1], sdb + 1);
	assert_int_equal(x.t.d[number_of("dm-0")].lower[1], number_of("sda3"));
}

/* A disk goes with its partitions, and nobody lies on them any more. Another medium, or a size, makes another device. */
TEST(test_update_goes)
{
	u32 set[32], n = 0, sda, loop, was;

	keep_up_to_date();
	was = x.t.n;
	sda = number_of("sda");
	loop = number_of("loop0");
	take("sda");
	folder_put(x.root, "/sys/block/loop0/size", "8\n");
	update(NULL);
	assert_int_equal(number_of("sda"), UINT32_MAX);
	assert_int_equal(number_of("sda2"), UINT32_MAX);
	assert_int_equal(x.t.d[number_of("dm-0")].n_lower, 0);
	assert_string_equal(x.t.d[sda].name, "sda");
	assert_int_equal(device_find(&x.t, "sda", set, &n, &x.p), -ENODEV);
	assert_int_equal(device_find(&x.t, "sd*", set, &n, &x.p), -ENOENT);
	/* What had no size was never watched. */
	assert_int_equal(number_of("loop0"), loop);
	assert_int_equal(x.t.n, was);
	folder_put(x.root, "/sys/block/loop0/diskseq", "7\n");
	folder_put(x.root, "/sys/block/loop0/size", "0\n");
	update(NULL);
	assert_int_equal(number_of("loop0"), was);
	folder_put(x.root, "/sys/block/loop0/size", "8\n");
	update(NULL);
	assert_int_equal(number_of("loop0"), was);
	folder_put(x.root, "/sys/block/loop0/diskseq", "8\n");
	update(NULL);
	assert_int_equal(number_of("loop0"), was + 1);
	assert_int_equal(x.t.d[was].diskseq, 7);
}

/* Places of absent devices are used again only if they are free. */
TEST(test_update_again)
{
	bool used[32] = { false };
	u32 was, sda;

	keep_up_to_date();
	was = x.t.n;
	sda = number_of("sda");
	used[sda] = true;
	take("sda");
	update(used);
	folder_put(x.root, "/sys/block/sda/dev", "8:0\n");
	folder_put(x.root, "/sys/block/sda/queue/nr_requests", "64\n");
	folder_put(x.root, "/sys/block/sda/sda7/dev", "8:1\n");
	folder_put(x.root, "/sys/block/sda/sda7/partition", "7\n");
	update(used);
	assert_int_equal(x.t.n, was);
	assert_int_equal(number_of("sda"), sda + 1);
	assert_int_equal(x.t.d[number_of("sda7")].parent, sda + 1);
	assert_true(x.t.d[sda].absent);
}
