// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_cgroups.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "blklat.skel.h"
#include "blklat/parts.h"
#include "engine/cgroups.h"
#include "util/cleanup.h"

static struct {
	u32 users;
	int parts, cgroups;	/* descriptors */
} shared;

int bpf_cgroups_share(struct bpf_capture *b)
{
	struct bpf_map *parts = b->skel->maps.cgroup_parts, *cgroups = b->skel->maps.cgroups;

	if (!b->kernel.cgroups)
		return 0;
	if (shared.users)
		return bpf_map__reuse_fd(parts, shared.parts) ?: bpf_map__reuse_fd(cgroups, shared.cgroups);
	return bpf_map__set_max_entries(parts, b->kernel.cgroups) ?: bpf_map__set_max_entries(cgroups, b->kernel.cgroups);
}

int bpf_cgroups_hold(struct bpf_capture *b)
{
	if (!b->kernel.cgroups)
		return 0;
	if (!shared.users) {
		shared.parts = fcntl(bpf_map__fd(b->skel->maps.cgroup_parts), F_DUPFD_CLOEXEC, 3);
		shared.cgroups = fcntl(bpf_map__fd(b->skel->maps.cgroups), F_DUPFD_CLOEXEC, 3);
		if (shared.parts < 0 || shared.cgroups < 0) {
			int err = -errno;

			cleanup_close(&shared.parts);
			cleanup_close(&shared.cgroups);
			return err;
		}
	}
	shared.users++;
	b->holds_cgroups = true;
	return 0;
}

void bpf_cgroups_release(struct bpf_capture *b)
{
	if (!b->holds_cgroups || --shared.users)
		return;
	cleanup_close(&shared.parts);
	cleanup_close(&shared.cgroups);
}

int bpf_cgroups_name(struct bpf_capture *b)
{
	struct blklat_cgroup list[BLKLAT_CGROUPS_MAX] = { 0 }, found[BLKLAT_CGROUPS_MAX];
	u32 numbers[BLKLAT_CGROUPS_MAX], position, n = BLKLAT_CGROUPS_MAX;
	int err;

	if (!b->kernel.cgroups)
		return 0;
	/* All are no more than this, so one call has them; it says so by ENOENT. */
	err = bpf_map_lookup_batch(shared.cgroups, NULL, &position, numbers, found, &n, NULL);
	if (err && err != -ENOENT)
		return err;
	for (u32 i = 0; i < n; i++)
		if (numbers[i] < b->kernel.cgroups)
			list[numbers[i]] = found[i];
	return cgroups_name(&b->kernel, list);
}
