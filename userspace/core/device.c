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
#include "core/kinds.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/sysfs.h"
#include "util/utf8.h"

#define SECTOR_BYTES 512	/* sysfs's unit, whatever the device's own sectors are */

struct reading {
	struct device_table t;
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

/*
 * The queues of a host bus adapter may have one set of tags together (BLK_MQ_F_TAG_HCTX_SHARED, which only debugfs shows, or the
 * kernel's own structures to engine bpf). Their scheduler's tags are one set since 5.14 (d97e594c5166). Where this is not known, as by a backport, there are more slots than needed.
 */
static bool has_shared_tags(const char *root, const char *sysfs)
{
	char path[PATH_MAX], text[256];
	u32 major, minor;

	snprintf(path, sizeof(path), "%s/sys/kernel/debug%s/hctx0/flags", root, sysfs + strlen("/sys"));
	if (sysfs_text(AT_FDCWD, path, text, sizeof(text)) || !strstr(text, "TAG_HCTX_SHARED"))
		return false;
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/osrelease", root);
	sysfs_text(AT_FDCWD, path, text, sizeof(text));
	return sscanf(text, "%9u.%9u", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 14));
}

#define WITHOUT_REQUESTS(stage, name, span, of_requests) | (of_requests ? 0 : 1u << stage)

/* @sysfs: the disk's, open as @dir. */
static void read_queue(struct device *d, int dir, const char *root, const char *sysfs)
{
	sysfs_entries(dir, "mq", add_hw_queue, d);
	d->nr_requests = sysfs_u32_or(dir, "queue/nr_requests", 0);
	d->iostats = sysfs_u32_or(dir, "queue/iostats", 0) != 0;
	d->stages = 0 STAGES(WITHOUT_REQUESTS);
	if (!d->hw_queues)
		return;
	d->stages = (1u << BLKLAT_STAGES) - 1;
	sysfs_choice(dir, "queue/scheduler", d->scheduler, sizeof(d->scheduler));
	/* It never changes, but with fewer privileges it may not be known again. */
	d->shared_tags = d->shared_tags || (d->hw_queues > 1 && has_shared_tags(root, sysfs));
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

static int read_disk(struct device *d, int dir, const char *entry, const char *root)
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
	read_queue(d, dir, root, d->sysfs);
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
	struct device_table *t = &r->t;

	if (array_more(&t->d, sizeof(*t->d), t->n, &r->room))
		return -ENOMEM;
	t->d[t->n++] = *d;
	return 0;
}

/*
 * Opens a directory that may be a partition's: it is named after its disk (add_partition() in block/partitions/core.c), and no
 * link, as those lead elsewhere, for example to the driver.
 */
static int open_partition(int dir, const char *entry, const struct device *disk)
{
	const char *name = strrchr(disk->sysfs, '/') + 1;

	return strncmp(entry, name, strlen(name)) ? -1 : openat(dir, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int add_partition(int dir, const char *entry, void *into)
{
	struct reading *r = into;
	CLEANUP(cleanup_close) int fd = open_partition(dir, entry, r->disk);
	struct device d;

	if (fd < 0 || read_partition(&d, fd, entry, r->disk) || r->t.n >= DEVICES_MAX)
		return 0;
	return append(r, &d);
}

static int add_disk(int dir, const char *entry, void *into)
{
	struct reading *r = into;
	CLEANUP(cleanup_close) int fd = sysfs_open_dir(dir, entry);
	struct device d = { 0 };
	int err;

	if (fd < 0 || read_disk(&d, fd, entry, r->t.root) || r->t.n >= DEVICES_MAX)
		return 0;
	d.parent = r->t.n;
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
		if (!s->t->d[i].absent && !strcmp(s->t->d[i].name, name))
			d->lower[d->n_lower++] = i;
	return 0;
}

/* Finds the devices below a disk. Links name other devices, so all must be in the table. */
static void resolve_lower(struct device_table *t, u32 disk, int block)
{
	struct stacking s = { .t = t, .d = &t->d[disk] };
	char path[PATH_MAX];

	s.d->n_lower = 0;
	snprintf(path, sizeof(path), "%s/slaves", s.d->sysfs + strlen("/sys/block/"));
	sysfs_entries(block, path, add_lower, &s);
	qsort(s.d->lower, s.d->n_lower, sizeof(*s.d->lower), compare_u32);
}

/* Opens the directory of disks below @root. Returns a descriptor, or a negative errno and a sentence. */
static int open_block(const char *root, struct problem *p)
{
	char path[sizeof(((struct device_table *)0)->root) + sizeof("/sys/block")];
	int fd;

	snprintf(path, sizeof(path), "%s/sys/block", root);
	fd = sysfs_open_dir(AT_FDCWD, path);
	return fd < 0 ? problem_set(p, fd, "can't read '%s', where the block devices are found: %s", path, strerror(-fd)) : fd;
}

/* --- a table that is kept up to date -------------------------------------------------------- */

struct updating {
	struct device_table *t;
	struct device **known;		/* the entries that are not absent, by name */
	u32 n_known;
	bool *seen;			/* [entry] */
	bool incomplete;		/* a disk may be without a queue */
	u32 disk;			/* the known disk whose partitions are looked at */
	struct reading disks;		/* what has come: disks, each followed by its partitions */
	struct reading partitions;	/* and partitions of known disks */
};

static int by_known_name(const void *va, const void *vb)
{
	const struct device *const *a = va, *const *b = vb;

	return strcmp((*a)->name, (*b)->name);
}

/* Marks as seen and returns the device that is known by this name, if it is still the one in the directory; else NULL. */
static struct device *known_device(struct updating *u, const char *entry, int dir, bool partition)
{
	struct device key, *name = &key, **at, *d;
	u64 sectors = 0, diskseq = 0;
	struct stat st;

	if (name_from_sysfs(entry, key.name))
		return NULL;
	at = bsearch(&name, u->known, u->n_known, sizeof(*u->known), by_known_name);
	d = at ? *at : NULL;
	if (!d || fstat(dir, &st) || (d->node && st.st_ino != d->node) || sysfs_u64(dir, "size", &sectors))
		return NULL;
	if (d->diskseq && !partition && (sysfs_u64(dir, "diskseq", &diskseq) || diskseq != d->diskseq))
		return NULL;
	if (!sectors != !d->size_bytes)
		return NULL;
	d->size_bytes = sectors * SECTOR_BYTES;
	u->seen[d - u->t->d] = true;
	return d;
}

static int update_partition(int dir, const char *entry, void *into)
{
	struct updating *u = into;
	struct device *disk = &u->t->d[u->disk], d;
	CLEANUP(cleanup_close) int fd = open_partition(dir, entry, disk);

	if (fd < 0 || known_device(u, entry, fd, true) || read_partition(&d, fd, entry, disk))
		return 0;
	d.parent = u->disk;
	device_read_queue(u->t, &d);	/* the disk's may have changed since it was read */
	return append(&u->partitions, &d);
}

static int update_disk(int dir, const char *entry, void *into)
{
	struct updating *u = into;
	CLEANUP(cleanup_close) int fd = sysfs_open_dir(dir, entry);
	struct device *disk;
	int err;

	if (fd < 0)
		return 0;
	disk = known_device(u, entry, fd, false);
	if (disk) {
		u->disk = disk - u->t->d;
		err = sysfs_entries(fd, ".", update_partition, u);
		return err == -ENOMEM ? err : 0;
	}
	/* Without a queue it is not complete yet; its event is still to come (device_add_disk()). */
	return !u->incomplete && faccessat(fd, "queue", F_OK, 0) ? 0 : add_disk(dir, entry, &u->disks);
}

static void mark_absent(struct device_table *t, u32 gone)
{
	t->d[gone].absent = true;
	for (u32 i = 0; i < t->n; i++) {
		struct device *d = &t->d[i];
		u32 kept = 0;

		for (u32 l = 0; l < d->n_lower; l++)
			if (d->lower[l] != gone)
				d->lower[kept++] = d->lower[l];
		d->n_lower = kept;
	}
}

/* The entry for a device that has come. One without a size is never watched, so nothing refers to it. */
static u32 free_entry(const struct device_table *t, const bool *used, u32 n_used, u32 from)
{
	u32 i = from;

	while (i < n_used && !(t->d[i].absent && (!t->d[i].size_bytes || (used && !used[i]))))
		i++;
	return i < n_used ? i : max_u64(t->n, n_used);
}

/* Puts the devices of @come into the table; their parents are in @come, too, or in the table. */
static int take_in(struct device_table *t, const bool *used, u32 n_used, const struct device_table *come, bool parents_too)
{
	u32 at = 0, disk = 0;

	for (u32 i = 0; i < come->n; i++) {
		at = free_entry(t, used, n_used, at);
		if (at >= DEVICES_MAX)
			return -ENOSPC;
		if (come->d[i].parent == i)
			disk = at;
		t->d[at] = come->d[i];
		if (parents_too)
			t->d[at].parent = disk;
		t->n = max_u64(t->n, at + 1);
	}
	return 0;
}

static int update(struct updating *u, const bool *used, int block)
{
	struct device_table *t = u->t;
	u32 n = t->n;
	int err;

	for (u32 i = 0; i < n; i++)
		if (!t->d[i].absent)
			u->known[u->n_known++] = &t->d[i];
	qsort(u->known, u->n_known, sizeof(*u->known), by_known_name);
	err = sysfs_entries(block, ".", update_disk, u) ?: sort_table(&u->disks.t);
	if (err)
		return err;
	for (u32 i = 0; i < u->n_known; i++)
		if (!u->seen[u->known[i] - t->d])
			mark_absent(t, u->known[i] - t->d);
	if (u->partitions.t.n)
		qsort_r(u->partitions.t.d, u->partitions.t.n, sizeof(*t->d), by_name, t->d);
	err = take_in(t, used, n, &u->partitions.t, false) ?: take_in(t, used, n, &u->disks.t, true);
	/* Volumes may be moved, and arrays get other members. */
	for (u32 i = 0; i < t->n; i++)
		if (t->d[i].parent == i && !t->d[i].absent && (!t->d[i].hw_queues || i >= n || !u->seen[i]))
			resolve_lower(t, i, block);
	return err;
}

int device_table_init(struct device_table *t, const char *root, struct problem *p)
{
	*t = (struct device_table){ 0 };
	if (strlen(root) >= sizeof(t->root))
		return problem_set(p, -ENAMETOOLONG, "the path of the tree is longer than %zu characters",
				   sizeof(t->root) - 1);
	strcpy(t->root, root);
	t->d = sparse_calloc(DEVICES_MAX, sizeof(*t->d));
	return t->d ? 0 : problem_set(p, -ENOMEM, "out of memory");
}

static int update_table(struct device_table *t, const bool *used, bool incomplete, struct problem *p)
{
	CLEANUP(cleanup_free) struct device **known = calloc(t->n + 1, sizeof(*known));
	CLEANUP(cleanup_free) bool *seen = calloc(t->n + 1, sizeof(*seen));
	struct updating u = { .t = t, .known = known, .seen = seen, .incomplete = incomplete };
	CLEANUP(cleanup_close) int block = open_block(t->root, p);
	int err = known && seen ? 0 : -ENOMEM;

	if (block < 0)
		return block;
	strcpy(u.disks.t.root, t->root);
	err = err ?: update(&u, used, block);
	device_table_free(&u.disks.t);
	device_table_free(&u.partitions.t);
	if (err == -ENOSPC)
		return problem_set(p, err, "more than %d block devices have come and gone", DEVICES_MAX);
	return !err ? 0 : problem_set(p, err, "can't read the block devices in '%s/sys/block': %s", t->root,
				      strerror(-err));
}

int device_table_update(struct device_table *t, const bool *used, struct problem *p)
{
	return update_table(t, used, false, p);
}

int device_table_read(struct device_table *t, const char *root, struct problem *p)
{
	struct device_table table;
	int err = device_table_init(&table, root, p) ?: update_table(&table, NULL, true, p);

	if (err)
		device_table_free(&table);
	else
		*t = table;
	return err;
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
	read_queue(d, dir, t->root, t->d[d->parent].sysfs);
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
