// SPDX-License-Identifier: GPL-2.0-only
#include "core/device.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "blklat/abi.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/sysfs.h"
#include "util/utf8.h"

#define SECTOR_BYTES 512	/* sysfs's unit, whatever the device's own sectors are */
#define DEVICES_MAX 65536

struct reading {
	struct device_table *t;
	const struct device *disk;	/* the disk whose partitions are being read; NULL: disks are being read */
	u32 room;
};

/* The kind of a whole device, by its kernel name; the rest are "disk". */
static const char *kind_of(const char *name)
{
	static const struct { const char *prefix, *kind; } kinds[] = {
		{ "nvme", "nvme" }, { "vd", "virtio" }, { "dm-", "dm" }, { "mmcblk", "mmc" },
		{ "md", "md" }, { "loop", "loop" }, { "zram", "zram" }, { "ram", "ram" },
		{ "sr", "rom" }, { "nbd", "nbd" }, { "nullb", "null_blk" }, { "ublkb", "ublk" },
		{ "xvd", "xen" }, { "rbd", "rbd" }, { "drbd", "drbd" }, { "bcache", "bcache" },
		{ "pmem", "pmem" }, { "dasd", "dasd" }, { "fd", "floppy" }, { "zd", "zvol" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].kind;
	return "disk";
}

static bool is_named(const struct device *d, const char *prefix)
{
	return !strncmp(d->name, prefix, strlen(prefix));
}

bool device_passes_bios_on(const struct device *d)
{
	return !d->hw_queues && !is_named(d, "dm-") && !is_named(d, "zram") && !is_named(d, "ram") && !is_named(d, "pmem");
}

bool device_hides_splits(const struct device *d)
{
	return is_named(d, "md");
}

/* The kernel name for a name in sysfs: a file's name can't hold a '/', so sysfs has '!' instead. */
static int name_from_sysfs(const char *entry, char ret[DEVICE_NAME_MAX])
{
	if (strlen(entry) >= DEVICE_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(ret, entry);
	for (char *c = ret; *c; c++)
		if (*c == '!')
			*c = '/';
	text_clean(ret);
	return 0;
}

/* What tells a user which device it is: the model, or else a mapped file, or an array's level. */
static void read_model(struct device *d, int dir)
{
	static const char *const files[] = {
		"device/model", "device/name", "loop/backing_file", "md/level",
	};
	char text[PATH_MAX];
	size_t len;

	for (u32 i = 0; i < ARRAY_SIZE(files); i++) {
		if (sysfs_text(dir, files[i], text, sizeof(text)) || !text[0])
			continue;
		len = strlen(text);
		if (len < sizeof(d->model)) {
			memcpy(d->model, text, len + 1);
			return;
		}
		/* The end of a path says more than its beginning. */
		if (text[0] == '/')
			snprintf(d->model, sizeof(d->model), "...%s", text + len - sizeof(d->model) + 4);
		else
			snprintf(d->model, sizeof(d->model), "%.*s...", (int)sizeof(d->model) - 4, text);
		text_clean(d->model);	/* the cut may have split a character */
		return;
	}
}

/* Page 0x80 of a SCSI drive, its serial number: four bytes, the last of them the length, then the text (SPC-4). */
static void read_scsi_serial(struct device *d, int dir)
{
	CLEANUP(cleanup_close) int fd = openat(dir, "device/vpd_pg80", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char page[4 + sizeof(d->serial) - 1];
	ssize_t n = fd < 0 ? -1 : read(fd, page, sizeof(page));
	size_t len;

	if (n < 4 || page[1] != 0x80)
		return;
	len = page[3] < n - 4 ? page[3] : n - 4;
	memcpy(d->serial, page + 4, len);
	d->serial[len] = '\0';
	text_clean(d->serial);
}

/*
 * What tells this drive from another of its model. NVMe and eMMC have it in one place, SCSI in another. All of it is
 * cached by the drivers. virtio's "serial" is not read: that asks the device, which is an IO (virtblk_get_id()).
 */
static void read_identity(struct device *d, int dir)
{
	sysfs_text(dir, "device/serial", d->serial, sizeof(d->serial));
	if (!d->serial[0])
		read_scsi_serial(d, dir);
	if (sysfs_text(dir, "wwid", d->wwid, sizeof(d->wwid)) || !d->wwid[0])
		sysfs_text(dir, "device/wwid", d->wwid, sizeof(d->wwid));
}

static int add_hw_queue(int dir, const char *name, void *into)
{
	struct device *d = into;
	CLEANUP(cleanup_close) int queue = isdigit((unsigned char)name[0]) ? sysfs_open_dir(dir, name) : -1;
	u32 tags;

	if (queue < 0)
		return 0;
	d->hw_queues++;
	tags = sysfs_u32_or(queue, "nr_tags", 0);
	if (tags > d->tags)
		d->tags = tags;
	return 0;
}

static void read_queue(struct device *d, int dir)
{
	sysfs_entries(dir, "mq", add_hw_queue, d);
	d->nr_requests = sysfs_u32_or(dir, "queue/nr_requests", 0);
	d->iostats = sysfs_u32_or(dir, "queue/iostats", 0) != 0;
	d->stages = 1u << BLKLAT_STAGE_TOTAL;
	if (!d->hw_queues)
		return;
	d->stages |= 1u << BLKLAT_STAGE_DEVICE | 1u << BLKLAT_STAGE_QUEUE;
	sysfs_choice(dir, "queue/scheduler", d->scheduler, sizeof(d->scheduler));
}

/* What all devices have. -ENODEV: it went away, or is not a device. */
static int read_common(struct device *d, int dir)
{
	u64 sectors = 0;
	char dev[32], end;
	struct stat st;

	if (!fstat(dir, &st))
		d->node = st.st_ino;
	d->hidden = sysfs_u32_or(dir, "hidden", 0) == 1;
	/* A hidden path has no device number to show (block/genhd.c, device_add_disk()). */
	if (sysfs_text(dir, "dev", dev, sizeof(dev)) || sscanf(dev, "%9u:%9u%c", &d->major, &d->minor, &end) != 2) {
		d->major = d->minor = 0;
		if (!d->hidden)
			return -ENODEV;
	}
	sysfs_u64(dir, "size", &sectors);
	if (__builtin_mul_overflow(sectors, (u64)SECTOR_BYTES, &d->size_bytes))
		d->size_bytes = 0;
	return 0;
}

static int read_disk(struct device *d, int dir, const char *entry)
{
	int err = name_from_sysfs(entry, d->name) ?: read_common(d, dir);

	if (err)
		return err;
	snprintf(d->sysfs, sizeof(d->sysfs), "/sys/block/%s", entry);
	strcpy(d->kind, kind_of(d->name));
	sysfs_text(dir, "dm/name", d->mapper, sizeof(d->mapper));
	sysfs_u64(dir, "diskseq", &d->diskseq);
	read_model(d, dir);
	read_identity(d, dir);
	read_queue(d, dir);
	return 0;
}

/* A partition's requests go through its disk's queue, so the queue's properties are copied. */
static int read_partition(struct device *d, int dir, const char *entry, const struct device *disk)
{
	int err, len;
	u64 number;

	*d = *disk;
	d->n_lower = 0;
	d->mapper[0] = '\0';
	err = sysfs_u64(dir, "partition", &number) ?: name_from_sysfs(entry, d->name) ?: read_common(d, dir);
	if (err)
		return err;
	len = snprintf(d->sysfs, sizeof(d->sysfs), "%s/%s", disk->sysfs, entry);
	if (len >= (int)sizeof(d->sysfs))
		return -ENAMETOOLONG;
	strcpy(d->kind, "partition");
	return 0;
}

static int append(struct reading *r, const struct device *d)
{
	struct device_table *t = r->t;

	if (array_more(&t->d, sizeof(*t->d), t->n, &r->room))
		return -ENOMEM;
	t->d[t->n++] = *d;
	return 0;
}

static int add_partition(int dir, const char *entry, void *into)
{
	struct reading *r = into;
	/* A partition is a directory of its own; links lead elsewhere, for example to the driver. */
	CLEANUP(cleanup_close) int fd = openat(dir, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct device d;

	if (fd < 0 || read_partition(&d, fd, entry, r->disk) || r->t->n >= DEVICES_MAX)
		return 0;
	return append(r, &d);
}

static int add_disk(int dir, const char *entry, void *into)
{
	struct reading *r = into;
	CLEANUP(cleanup_close) int fd = sysfs_open_dir(dir, entry);
	struct device d = { 0 };
	int err;

	if (fd < 0 || read_disk(&d, fd, entry) || r->t->n >= DEVICES_MAX)
		return 0;
	d.parent = r->t->n;
	err = append(r, &d);
	if (err)
		return err;
	r->disk = &d;
	err = sysfs_entries(fd, ".", add_partition, r);
	r->disk = NULL;
	/* The disk may be gone by now: then it has no partitions. */
	return err == -ENOMEM ? err : 0;
}

/* Compares the disks first, so that a disk's partitions follow it. @disks is the unsorted table. */
static int by_name(const void *va, const void *vb, void *disks)
{
	const struct device *a = va, *b = vb, *d = disks;
	int order = strverscmp(d[a->parent].name, d[b->parent].name);

	if (order)
		return order;
	if (!strcmp(a->kind, "partition") != !strcmp(b->kind, "partition"))
		return strcmp(a->kind, "partition") ? -1 : 1;
	return strverscmp(a->name, b->name);
}

/* Sorts the table and adjusts the parents' indices. */
static int sort_table(struct device_table *t)
{
	CLEANUP(cleanup_free) struct device *unsorted = reallocarray(NULL, t->n, sizeof(*unsorted));
	u32 disk = 0;

	if (!t->n)
		return 0;
	if (!unsorted)
		return -ENOMEM;
	memcpy(unsorted, t->d, t->n * sizeof(*unsorted));
	qsort_r(t->d, t->n, sizeof(*t->d), by_name, unsorted);
	for (u32 i = 0; i < t->n; i++) {
		if (strcmp(t->d[i].kind, "partition"))
			disk = i;
		t->d[i].parent = disk;
	}
	return 0;
}

struct stacking {
	const struct device_table *t;
	struct device *d;
};

static int add_lower(int dir, const char *entry, void *into)
{
	struct stacking *s = into;
	struct device *d = s->d;
	char name[DEVICE_NAME_MAX];

	(void)dir;
	if (d->n_lower == ARRAY_SIZE(d->lower) || name_from_sysfs(entry, name))
		return 0;
	for (u32 i = 0; i < s->t->n; i++)
		if (!strcmp(s->t->d[i].name, name))
			d->lower[d->n_lower++] = i;
	return 0;
}

/* Finds the devices below each device. Links name other devices, so the table must be complete and sorted. */
static void resolve_stack(struct device_table *t, int block)
{
	for (u32 i = 0; i < t->n; i++) {
		struct stacking s = { .t = t, .d = &t->d[i] };
		char path[PATH_MAX];

		if (t->d[i].parent != i)
			continue;
		snprintf(path, sizeof(path), "%s/slaves", t->d[i].sysfs + strlen("/sys/block/"));
		sysfs_entries(block, path, add_lower, &s);
		qsort(s.d->lower, s.d->n_lower, sizeof(*s.d->lower), compare_u32);
	}
}

int device_table_read(struct device_table *t, const char *root, struct problem *p)
{
	struct device_table table = { 0 };
	struct reading r = { .t = &table };
	CLEANUP(cleanup_close) int block = -1;
	char path[sizeof(t->root) + sizeof("/sys/block")];
	int err;

	if (strlen(root) >= sizeof(t->root))
		return problem_set(p, -ENAMETOOLONG, "the path of the tree is longer than %zu characters",
				   sizeof(t->root) - 1);
	strcpy(table.root, root);
	snprintf(path, sizeof(path), "%s/sys/block", root);
	block = sysfs_open_dir(AT_FDCWD, path);
	if (block < 0)
		return problem_set(p, block, "can't read '%s', where the block devices are found: %s", path,
				   strerror(-block));
	err = sysfs_entries(block, ".", add_disk, &r) ?: sort_table(&table);
	if (err) {
		device_table_free(&table);
		return problem_set(p, err, "can't read the block devices in '%s': %s", path, strerror(-err));
	}
	resolve_stack(&table, block);
	*t = table;
	return 0;
}

int device_read_queue(const struct device_table *t, struct device *d)
{
	char path[sizeof(t->root) + sizeof(d->sysfs)];
	CLEANUP(cleanup_close) int dir = -1;

	/* A partition has no queue of its own. */
	snprintf(path, sizeof(path), "%s%s", t->root, t->d[d->parent].sysfs);
	dir = sysfs_open_dir(AT_FDCWD, path);
	if (dir < 0)
		return dir;
	d->hw_queues = d->tags = 0;
	d->scheduler[0] = '\0';
	read_queue(d, dir);
	return 0;
}

void device_table_free(struct device_table *t)
{
	free(t->d);
	*t = (struct device_table){ 0 };
}

void device_mark_below(const struct device_table *t, u32 i, bool *below)
{
	const struct device *d = &t->d[i];

	if (below[i])
		return;
	below[i] = true;
	device_mark_below(t, d->parent, below);
	for (u32 l = 0; l < d->n_lower; l++)
		device_mark_below(t, d->lower[l], below);
}

int device_table_copy(struct device_table *to, const struct device_table *from)
{
	struct device_table made = *from;

	made.d = calloc(from->n ?: 1, sizeof(*made.d));
	if (!made.d)
		return -ENOMEM;
	memcpy(made.d, from->d, from->n * sizeof(*made.d));
	*to = made;
	return 0;
}
