// SPDX-License-Identifier: GPL-2.0-only
#include "core/device.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blklat/abi.h"
#include "core/kinds.h"
#include "util/cleanup.h"
#include "util/sysfs.h"
#include "util/utf8.h"

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
	return !d->hw_queues && !is_named(d, "dm-") && !is_named(d, "zram") && !is_named(d, "ram") &&
	       !is_named(d, "pmem");
}

bool device_hides_splits(const struct device *d)
{
	return is_named(d, "md");
}

static u32 partition_of(const struct device *d)
{
	size_t digits = strlen(d->name);

	while (digits && isdigit((unsigned char)d->name[digits - 1]))
		digits--;
	return device_is_partition(d) ? strtoul(d->name + digits, NULL, 10) : 0;
}

enum device_likeness device_compare(const struct device *a, const struct device *b)
{
	bool same;

	if (a->wwid[0] && b->wwid[0])
		same = !strcmp(a->wwid, b->wwid);
	else if (a->serial[0] && b->serial[0])
		same = !strcmp(a->serial, b->serial) && !strcmp(a->model, b->model);
	else
		return DEVICE_UNKNOWN;
	return same && partition_of(a) == partition_of(b) ? DEVICE_SAME : DEVICE_OTHER;
}

int device_name(const char *entry, char ret[DEVICE_NAME_MAX])
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

/* What tells a user which device this is: the model, or the mapped file, or the array's level. */
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
 * "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0", from where the link in /sys/block leads. What follows in
 * that path are the kernel's names of the device and, of NVMe, its controller.
 */
static void read_path(struct device *d, const char *root)
{
	char link[PATH_MAX], path[PATH_MAX], *at, *end;
	ssize_t len;

	snprintf(link, sizeof(link), "%s%s", root, d->sysfs);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	at = strstr(path, "/devices/");
	at = at ? at + strlen("/devices/") : path + strlen(path);
	end = strstr(at, "/block/") ?: strstr(at, "/nvme/") ?: strrchr(at, '/');
	if (!end || end - at >= (ssize_t)sizeof(d->path) || !strncmp(at, "virtual/", strlen("virtual/")))
		return;
	memcpy(d->path, at, end - at);
	text_clean(d->path);
}

/* Reads the first of @files that says something. */
static void read_first(int dir, const char *const files[], char *ret, size_t size)
{
	ret[0] = '\0';
	for (; !ret[0] && *files; files++)
		sysfs_text(dir, *files, ret, size);
}

#define FILES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/*
 * What distinguishes this drive from others of its model. NVMe and eMMC have it in one place, SCSI in another. All of
 * it is cached by the drivers. virtio's "serial" is not read, as reading it is an IO (virtblk_get_id()).
 */
static void read_identity(struct device *d, int dir)
{
	read_first(dir, FILES("device/serial"), d->serial, sizeof(d->serial));
	if (!d->serial[0])
		read_scsi_serial(d, dir);
	read_first(dir, FILES("wwid", "device/wwid", "dm/uuid", "md/uuid"), d->wwid, sizeof(d->wwid));
	read_first(dir, FILES("device/firmware_rev", "device/rev", "device/fwrev"), d->firmware, sizeof(d->firmware));
}

static int add_hw_queue(int dir, const char *name, void *into)
{
	struct device *d = into;
	char path[32];

	if (!isdigit((unsigned char)name[0]))
		return 0;
	d->hw_queues++;
	/* All have as many (blk_mq_alloc_map_and_rqs()), and large hosts have thousands of queues. */
	snprintf(path, sizeof(path), "%.20s/nr_tags", name);
	if (!d->tags)
		d->tags = sysfs_u32_or(dir, path, 0);
	return 0;
}

/*
 * The queues of a host bus adapter may share one set of tags (BLK_MQ_F_TAG_HCTX_SHARED, which only debugfs shows, or
 * the kernel's own structures to engine bpf). Their scheduler's tags are one set since 5.14 (d97e594c5166). Where
 * this is unknown, as for a backport, there are more slots than needed.
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
	/* It never changes, but with fewer privileges it may not be readable again. */
	d->shared_tags = d->shared_tags || (d->hw_queues > 1 && has_shared_tags(root, sysfs));
}

/* Reads what all devices have. -ENODEV: it is gone, or not a device. */
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

int device_read_disk(struct device *d, int dir, const char *entry, const char *root)
{
	int err = device_name(entry, d->name) ?: read_common(d, dir);

	if (err)
		return err;
	snprintf(d->sysfs, sizeof(d->sysfs), "/sys/block/%s", entry);
	strcpy(d->kind, kind_of(d->name));
	sysfs_text(dir, "dm/name", d->mapper, sizeof(d->mapper));
	sysfs_u64(dir, "diskseq", &d->diskseq);
	read_model(d, dir);
	read_identity(d, dir);
	read_path(d, root);
	read_queue(d, dir, root, d->sysfs);
	return 0;
}

int device_read_partition(struct device *d, int dir, const char *entry, const struct device *disk)
{
	int err, len;
	u64 number;

	*d = *disk;
	d->n_lower = 0;
	d->mapper[0] = '\0';
	err = sysfs_u64(dir, "partition", &number) ?: device_name(entry, d->name) ?: read_common(d, dir);
	if (err)
		return err;
	len = snprintf(d->sysfs, sizeof(d->sysfs), "%s/%s", disk->sysfs, entry);
	if (len >= (int)sizeof(d->sysfs))
		return -ENAMETOOLONG;
	strcpy(d->kind, "partition");
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
	read_queue(d, dir, t->root, t->d[d->parent].sysfs);
	return 0;
}
