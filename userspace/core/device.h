/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The block devices of a machine, as sysfs describes them, below a root: that of this machine, or of a recorded tree.
 */
#ifndef CORE_DEVICE_H
#define CORE_DEVICE_H

#include <errno.h>
#include <string.h>

#include "util/problem.h"
#include "util/types.h"

#define DEVICE_NAME_MAX 64

struct device {
	char name[DEVICE_NAME_MAX];	/* kernel name: nvme0n1, sda1, dm-0 (sysfs '!' shown as '/') */
	char mapper[DEVICE_NAME_MAX];	/* device-mapper name, "" elsewhere */
	char kind[16];			/* disk, partition, loop, zram, dm, md, nvme, virtio, rom, ram ... */
	char model[48];			/* trimmed; "" when unknown */
	char serial[64];		/* of the drive; "" if it has none */
	/* world-wide name of the drive or namespace, UUID of a mapping; "" when it has none */
	char wwid[128];
	char firmware[32];		/* its revision; "" when unknown */
	/* of Kubernetes that is mounted from it; "" unless kubernetes_volumes() found one */
	char volume[64];
	/* where it is plugged in: its directory below /sys/devices; "" for what is virtual */
	char path[160];
	char scheduler[16];		/* the active I/O scheduler; "" for bio-based devices */
	char sysfs[256];		/* directory below the root: /sys/block/sda or /sys/block/sda/sda1 */
	u32 major, minor;
	u64 node;			/* inode of its directory, never used again; 0: unknown */
	u64 diskseq;			/* of its disk, unique to each disk and medium; 0: before Linux 5.15 */
	u64 size_bytes;
	u32 parent;			/* partition: index of its disk in the table, else own index */
	u32 hw_queues;			/* hardware queues; 0: bio-based, no requests */
	u32 tags;			/* driver tags in a hardware queue (the largest); 0: bio-based */
	u32 nr_requests;		/* scheduler tags in a hardware queue */
	bool shared_tags;		/* known that no two of its requests share a tag */
	bool iostats;			/* the kernel counts its IOs */
	bool hidden;			/* a hidden path (nvme multipath) */
	bool absent;			/* gone, see device_table_update(); not found by device_find() */
	u32 n_lower;			/* devices it lies on (slaves): indices in the table */
	u32 lower[32];
	u32 stages;			/* bit s set: stage s of enum blklat_stage can be watched */
};

static inline bool device_is_partition(const struct device *d)
{
	return !strcmp(d->kind, "partition");
}

/* What tells a drive from others, however it is named, and where it is: in recordings, JSON and metrics. */
#define DEVICE_IDENTITY(F, SEP) F(serial) SEP F(wwid) SEP F(firmware) SEP F(path) SEP F(volume)

enum device_likeness { DEVICE_UNKNOWN, DEVICE_SAME, DEVICE_OTHER };

/*
 * Whether these, of any two runs, are one drive or the same partition of one, whatever its name: by WWID, else by
 * serial number and model.
 */
enum device_likeness device_compare(const struct device *a, const struct device *b);

/*
 * May requests of other devices end its bios, as it passes them on unchanged? Of the devices without requests, md,
 * nvme multipath, bcache and perhaps some unknown here do. dm never does, as it sends clones, nor do those without a
 * device below them (zram, brd, pmem).
 */
bool device_passes_bios_on(const struct device *d);

/* May it split bios without block_split, as md raid0 did until 6.17? Then block_bio_remap reports each piece. */
bool device_hides_splits(const struct device *d);

#define DEVICES_MAX 65536

struct device_table {
	char root[256];			/* "" or the root of a recorded tree */
	const char *node;		/* below which a node of Kubernetes has its files; NULL: not asked for */
	u32 n;
	struct device *d;		/* disks by name, each followed by its partitions; later devices behind */
};

/* Reads all block devices below @root/sys. Returns 0, -ENOMEM, or an errno with a sentence in @p. */
int device_table_read(struct device_table *t, const char *root, struct problem *p);
void device_table_free(struct device_table *t);

/* Makes an empty table for device_table_update(). Returns 0, or a negative errno and a sentence. */
int device_table_init(struct device_table *t, const char *root, struct problem *p);

/*
 * Finds devices that have come and gone; reads only those that are not known. Entries do not move: a device that is
 * gone is marked as absent, and so is one that got another medium or lost its size, which then gets a new entry. New
 * devices are appended or, if @used is not NULL, take the place of absent ones whose @used is false. Returns 0, or a
 * negative errno and a sentence.
 */
int device_table_update(struct device_table *t, const bool *used, struct problem *p);

/*
 * Reads again what the user or the driver can change: hardware queues and their tags, the scheduler, nr_requests. @d
 * is in @t, or a copy of an entry. Returns 0 or a negative errno; -ENOENT if the device is gone.
 */
int device_read_queue(const struct device_table *t, struct device *d);

/* Marks device @i and all that its IOs reach: a partition's disk, and the lower devices of a stack. */
void device_mark_below(const struct device_table *t, u32 i, bool *below);

/* Returns 0 or -ENOMEM. */
int device_table_copy(struct device_table *to, const struct device_table *from);

/*
 * Finds the devices for DEV, a user's argument: a kernel name, a path (links are followed; resolved by device number,
 * or in a recorded tree by the last component), a mapper name, a shell pattern over kernel names, or "all" (whole
 * devices with a size). Appends their indices to @set (of size t->n), without repeats and in any order, and updates
 * @n. Returns 0, or with a sentence -ENODEV (no such device; suggests the nearest name), -ENOTBLK (not a block
 * device), -ENOENT (a pattern that matches nothing).
 */
int device_find(const struct device_table *t, const char *name, u32 *set, u32 *n, struct problem *p);

/*
 * Has another device taken @d's place: one of the same name, or another file or medium in the same device? False if
 * the place is empty.
 */
bool device_replaced(const struct device_table *t, const struct device *d);

struct kernel_stat {
	u64 ios;		/* completed since boot: reads + writes + discards + flushes */
	u64 in_flight;		/* issued and not completed; where there are no requests, queued and not ended */
};

/*
 * The files with the kernel's own count of a device's IOs (Documentation/block/stat.rst), kept open, as looking them
 * up is most of the work of a read. Each takes a page of the kernel's memory (seq_read_iter()). None is open if that
 * failed: too many files, or the device is gone.
 */
struct device_files {
	int size, diskseq, stat;	/* -1: not open, or (diskseq) the kernel has none */
};
#define DEVICE_FILES_NONE ((struct device_files){ -1, -1, -1 })
void device_files_open(const struct device_table *t, const struct device *d, struct device_files *ret);
void device_files_close(struct device_files *f);

/*
 * Reads the count; if the files are not open, opens them for this read. Returns 0; -ENODATA if the file lacks
 * figures; or -ENODEV if the device is gone, has no size any more (a detached loop device stays, but empty), or is
 * another than the one that was read into @t.
 */
int device_files_stat(const struct device_files *f, const struct device_table *t, const struct device *d,
		      struct kernel_stat *ret);

static inline int device_kernel_stat(const struct device_table *t, const struct device *d, struct kernel_stat *ret)
{
	return device_files_stat(&DEVICE_FILES_NONE, t, d, ret);
}

static inline bool device_is_gone(const struct device_table *t, const struct device *d)
{
	struct kernel_stat stat;

	return device_kernel_stat(t, d, &stat) == -ENODEV;
}

/* --- device.c, for device_table.c: what sysfs says about one device --- */

#define SECTOR_BYTES 512	/* sysfs's unit, whatever the device's own sectors are */

/* The kernel name for a name in sysfs, where '!' stands for '/'. Returns 0 or -ENAMETOOLONG. */
int device_name(const char *entry, char ret[DEVICE_NAME_MAX]);

/* Reads disk @entry from its directory, open as @dir. Returns 0 or a negative errno; -ENODEV: gone, or not a device. */
int device_read_disk(struct device *d, int dir, const char *entry, const char *root);

/* The same for a partition of @disk. Its requests go through the disk's queue, so the queue's properties are copied. */
int device_read_partition(struct device *d, int dir, const char *entry, const struct device *disk);

#endif
