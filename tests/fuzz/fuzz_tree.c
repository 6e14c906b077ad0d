// SPDX-License-Identifier: GPL-2.0-only
/*
 * What drivers say of their devices in sysfs, such as a model name with anything in it: the contents of the files, one after
 * the other, separated by 0.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/device.h"
#include "play.h"

static const char *const folders[] = {
	"sys", "sys/block", "sys/block/sda", "sys/block/sda/queue", "sys/block/sda/device", "sys/block/sda/mq", "sys/block/sda/mq/0",
	"sys/block/sda/sda1", "sys/block/dm-0", "sys/block/dm-0/dm", "sys/block/dm-0/queue", "sys/block/dm-0/slaves",
};

static const char *const files[] = {
	"sda/dev", "sda/size", "sda/device/model", "sda/device/serial", "sda/queue/scheduler", "sda/queue/nr_requests",
	"sda/mq/0/nr_tags", "sda/queue/iostats", "sda/hidden", "sda/sda1/dev", "sda/sda1/partition", "sda/sda1/size", "sda/diskseq",
	"dm-0/dev", "dm-0/dm/name", "dm-0/size", "dm-0/queue/scheduler", "sda/device/wwid",
};

static const char *root_of(void)
{
	static char root[64];

	if (root[0])
		return root;
	snprintf(root, sizeof(root), "%s/blklat-fuzz-%d-tree", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
	check(!mkdir(root, 0700));
	for (u32 i = 0; i < ARRAY_SIZE(folders); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		check(!mkdir(path, 0700));
	}
	return root;
}

static void write_file(const char *name, const uint8_t *data, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/block/%s", root_of(), name);
	f = fopen(path, "we");
	check(f && fwrite(data, 1, len, f) == len && !fclose(f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct device_table t = { 0 };
	struct problem p = { "" };
	int err;

	for (u32 i = 0; i < ARRAY_SIZE(files); i++) {
		const uint8_t *end = memchr(data, 0, len);
		size_t n = end ? (size_t)(end - data) : len;

		write_file(files[i], data, n);
		data += n + !!end;
		len -= n + !!end;
	}
	err = device_table_read(&t, root_of(), &p);
	check(err ? !!p.text[0] : t.n <= 3);
	for (u32 i = 0; !err && i < t.n; i++) {
		const struct device *d = &t.d[i];

		check(strlen(d->name) < sizeof(d->name) && strlen(d->model) < sizeof(d->model));
		check(strlen(d->mapper) < sizeof(d->mapper) && strlen(d->scheduler) < sizeof(d->scheduler));
	}
	if (!err)
		device_table_free(&t);
	return 0;
}
