// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/device.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/sysfs.h"

enum seen { NOT_SEEN, KNOWN, COME };

struct updating {
	struct device_table *t;
	struct device **known;		/* devices known so far, by name */
	u32 n_known;
	u32 n_before;			/* entries, including absent devices */
	u32 next;			/* none of those before it is free */
	u8 *seen;			/* [entry] an enum seen */
	const bool *used;		/* see device_table_update() */
	bool incomplete;		/* a disk may be without a queue */
	bool full;
	u32 disk;			/* the one whose partitions are looked at */
};

static int by_name(const void *va, const void *vb)
{
	const struct device *const *a = va, *const *b = vb;

	return strcmp((*a)->name, (*b)->name);
}

static struct device *find_known(const struct updating *u, const char *entry)
{
	struct device key, *name = &key, **at;

	if (device_name(entry, key.name))
		return NULL;
	at = bsearch(&name, u->known, u->n_known, sizeof(*u->known), by_name);
	return at ? *at : NULL;
}

/* Is @d still the device in the directory? If so, marks it as known and updates its size. */
static bool still_there(struct updating *u, struct device *d, int dir)
{
	u64 sectors = 0, diskseq = 0;
	struct stat st;

	if (!d || fstat(dir, &st) || (d->node && st.st_ino != d->node) || sysfs_u64(dir, "size", &sectors))
		return false;
	if (d->diskseq && !device_is_partition(d) && (sysfs_u64(dir, "diskseq", &diskseq) || diskseq != d->diskseq))
		return false;
	if (!sectors != !d->size_bytes)
		return false;
	d->size_bytes = sectors * SECTOR_BYTES;
	u->seen[d - u->t->d] = KNOWN;
	return true;
}

/* A device without a size is never watched, so nothing refers to its entry. */
static u32 free_entry(struct updating *u)
{
	for (; u->next < u->n_before; u->next++) {
		const struct device *d = &u->t->d[u->next];

		if (d->absent && (!d->size_bytes || (u->used && !u->used[u->next])))
			return u->next++;
	}
	return u->t->n;
}

/*
 * Puts a new device into the table; in place of @was, its former entry, if that had no size. NULL: the table is full.
 */
static struct device *put(struct updating *u, const struct device *d, const struct device *was)
{
	struct device_table *t = u->t;
	u32 i = was && !was->size_bytes ? was - t->d : free_entry(u);

	u->full |= i >= DEVICES_MAX;
	if (i >= DEVICES_MAX)
		return NULL;
	t->d[i] = *d;
	t->n = max_u64(t->n, i + 1);
	u->seen[i] = COME;
	return &t->d[i];
}

/*
 * Opens a directory that may be a partition's: it is named after its disk (add_partition() in
 * block/partitions/core.c) and is no link, as links lead elsewhere, for example to the driver.
 */
static int open_partition(int dir, const char *entry, const struct device *disk)
{
	const char *name = strrchr(disk->sysfs, '/') + 1;

	if (strncmp(entry, name, strlen(name)))
		return -1;
	return openat(dir, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int update_partition(int dir, const char *entry, void *into)
{
	struct updating *u = into;
	const struct device *disk = &u->t->d[u->disk];
	CLEANUP(cleanup_close) int fd = open_partition(dir, entry, disk);
	struct device *known = find_known(u, entry), d;

	if (known && known->parent != u->disk)
		known = NULL;
	if (fd < 0 || still_there(u, known, fd) || device_read_partition(&d, fd, entry, disk))
		return 0;
	if (u->seen[u->disk] == KNOWN)
		device_read_queue(u->t, &d);	/* the disk's may have changed since it was read */
	put(u, &d, known);
	return 0;
}

static int update_disk(int dir, const char *entry, void *into)
{
	struct updating *u = into;
	CLEANUP(cleanup_close) int fd = sysfs_open_dir(dir, entry);
	struct device *disk = find_known(u, entry), d = { 0 };
	int err;

	if (fd < 0)
		return 0;
	if (!still_there(u, disk, fd)) {
		/* Without a queue it is incomplete; its event is still to come (device_add_disk()). */
		if ((!u->incomplete && faccessat(fd, "queue", F_OK, 0)) || device_read_disk(&d, fd, entry, u->t->root))
			return 0;
		disk = put(u, &d, disk);
		if (!disk)
			return 0;
		disk->parent = disk - u->t->d;
	}
	u->disk = disk - u->t->d;
	err = sysfs_entries(fd, ".", update_partition, u);
	/* The disk may be gone by now; then it has no partitions. */
	return err == -ENOMEM ? err : 0;
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
	if (d->n_lower == ARRAY_SIZE(d->lower) || device_name(entry, name))
		return 0;
	for (u32 i = 0; i < s->t->n; i++)
		if (!s->t->d[i].absent && !strcmp(s->t->d[i].name, name))
			d->lower[d->n_lower++] = i;
	return 0;
}

/* Finds the devices below a disk. They are links to other devices, so all must be in the table. */
static void resolve_lower(struct device_table *t, u32 disk, int block)
{
	struct stacking s = { .t = t, .d = &t->d[disk] };
	char path[PATH_MAX];

	s.d->n_lower = 0;
	snprintf(path, sizeof(path), "%s/slaves", s.d->sysfs + strlen("/sys/block/"));
	sysfs_entries(block, path, add_lower, &s);
	qsort(s.d->lower, s.d->n_lower, sizeof(*s.d->lower), compare_u32);
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

static int update(struct updating *u, int block)
{
	struct device_table *t = u->t;
	int err;

	for (u32 i = 0; i < u->n_before; i++)
		if (!t->d[i].absent)
			u->known[u->n_known++] = &t->d[i];
	qsort(u->known, u->n_known, sizeof(*u->known), by_name);
	err = sysfs_entries(block, ".", update_disk, u);
	if (err)
		return err;
	for (u32 i = 0; i < u->n_before; i++)
		if (!t->d[i].absent && !u->seen[i])
			mark_absent(t, i);
	/* Volumes may be moved, and arrays get other members. */
	for (u32 i = 0; i < t->n; i++)
		if (t->d[i].parent == i && !t->d[i].absent && (!t->d[i].hw_queues || u->seen[i] == COME))
			resolve_lower(t, i, block);
	return u->full ? -ENOSPC : 0;
}

/* Opens the directory of disks below @root. Returns a descriptor, or a negative errno and a sentence. */
static int open_block(const char *root, struct problem *p)
{
	char path[sizeof(((struct device_table *)0)->root) + sizeof("/sys/block")];
	int fd;

	snprintf(path, sizeof(path), "%s/sys/block", root);
	fd = sysfs_open_dir(AT_FDCWD, path);
	if (fd < 0)
		problem_set(p, fd, "can't read '%s', where the block devices are: %s", path, strerror(-fd));
	return fd;
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
	CLEANUP(cleanup_free) u8 *seen = calloc(DEVICES_MAX, sizeof(*seen));
	struct updating u = {
		.t = t, .known = known, .n_before = t->n, .seen = seen, .used = used, .incomplete = incomplete,
	};
	CLEANUP(cleanup_close) int block = open_block(t->root, p);
	int err;

	if (block < 0)
		return block;
	err = known && seen ? update(&u, block) : -ENOMEM;
	if (err == -ENOSPC)
		return problem_set(p, err, "more than %d block devices have come and gone", DEVICES_MAX);
	if (err)
		problem_set(p, err, "can't read the block devices in '%s/sys/block': %s", t->root, strerror(-err));
	return err;
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
