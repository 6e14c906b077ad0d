// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_engine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "find.skel.h"
#include "util/cleanup.h"

#define AT_ONCE 512	/* directories that are open at a time */

struct bpf_finder {
	struct find *skel;
	struct bpf_link *link;
};

/* Keeps the iterator's results for our own descriptors. */
static int read_found(int iter, const int *fds, u32 n, struct found_device *ret)
{
	struct found_device found[64];
	ssize_t got;

	while ((got = read(iter, found, sizeof(found))) != 0) {
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return -errno;
		/* Records are never cut: bpf_seq_write() writes whole ones, and the buffer holds a multiple. */
		for (size_t r = 0; r < got / sizeof(found[0]); r++)
			for (u32 i = 0; i < n; i++)
				if (fds[i] >= 0 && found[r].fd == (u32)fds[i])
					ret[i] = found[r];
	}
	return 0;
}

/* Looks up the devices whose directories are open. */
static int run_iterator(struct bpf_link *link, const int *fds, u32 n, struct found_device *ret, struct problem *p)
{
	int iter CLEANUP(cleanup_close) = bpf_iter_create(bpf_link__fd(link));
	int err;

	if (iter < 0)
		return problem_set(p, iter, "could not run a BPF iterator: %s", strerror(-iter));
	err = read_found(iter, fds, n, ret);
	return err ? problem_set(p, err, "could not read a BPF iterator: %s", strerror(-err)) : 0;
}

static int find_some(struct bpf_link *link, const struct device *const *devices, u32 n, struct found_device *ret,
		     struct problem *p)
{
	int fds[AT_ONCE], err = 0;
	u32 opened = 0;

	for (; !err && opened < n; opened++) {
		ret[opened] = (struct found_device){ 0 };
		fds[opened] = open(devices[opened]->sysfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fds[opened] < 0)
			err = problem_set(p, errno == ENOENT ? -ENODEV : -errno, "could not open %s: %s",
					  devices[opened]->sysfs, strerror(errno));
	}
	if (!err)
		err = run_iterator(link, fds, n, ret, p);
	for (u32 i = 0; i < opened; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return err;
}

/* Loads the one whose types the kernel has; see bpf_kernel_types(). */
static int load(struct bpf_finder *f, bool before_5_11)
{
	f->skel = find__open();
	if (!f->skel)
		return -errno;
	bpf_program__set_autoload(f->skel->progs.find_devices, !before_5_11);
	bpf_program__set_autoload(f->skel->progs.find_devices_before_5_11, before_5_11);
	return find__load(f->skel);
}

int bpf_finder_open(struct bpf_finder **ret, bool before_5_11, struct problem *p)
{
	struct bpf_finder *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return problem_set(p, -ENOMEM, "out of memory");
	err = load(f, before_5_11);
	if (err)
		problem_set(p, err, "the kernel refused a BPF iterator over open files: %s", strerror(-err));
	else if (!(f->link = bpf_program__attach_iter(before_5_11 ? f->skel->progs.find_devices_before_5_11 :
							   f->skel->progs.find_devices, NULL)))
		err = problem_set(p, -errno, "could not attach a BPF iterator: %s", strerror(errno));
	if (err)
		bpf_finder_close(f);
	else
		*ret = f;
	return err;
}

void bpf_finder_close(struct bpf_finder *f)
{
	if (!f)
		return;
	bpf_link__destroy(f->link);
	find__destroy(f->skel);
	free(f);
}

static int check_found(const struct device *const *devices, u32 n, struct found_device *found, struct problem *p)
{
	for (u32 i = 0; i < n; i++) {
		const struct device *d = devices[i];

		/* A hidden path has a number in the kernel, but none in sysfs. */
		if (!found[i].part || (!d->hidden && found[i].dev != (d->major << 20 | d->minor)))
			return problem_set(p, -ENODEV, "could not find %s in the kernel: the device went "
					   "away, or its structures differ from those known", d->name);
		found[i].fd = i;
	}
	return 0;
}

int bpf_find_devices(struct bpf_finder *f, const struct device *const *devices, u32 n, struct found_device *ret,
		     struct problem *p)
{
	u32 done = 0;
	int err = 0;

	while (!err && done < n) {
		u32 some = n - done < AT_ONCE ? n - done : AT_ONCE;

		err = find_some(f->link, devices + done, some, ret + done, p);
		done += some;
	}
	return err ?: check_found(devices, n, ret, p);
}
