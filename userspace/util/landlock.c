// SPDX-License-Identifier: GPL-2.0-only
#include "util/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/types.h"

/*
 * The kernel's interface (Documentation/userspace-api/landlock.rst), of its own header: <linux/landlock.h> of the
 * system that builds may be older than the kernel that runs.
 */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#define CREATE_RULESET_VERSION 1

struct ruleset {
	u64 handled_access_fs;
	u64 handled_access_net;
	u64 scoped;
};

/* How much each version of the interface knows: bits of accesses, from the lowest on, and the size of the struct. */
static const struct version {
	u32 fs, net, scopes;
	size_t size;
} versions[] = {
	{ 13, 0, 0, offsetof(struct ruleset, handled_access_net) },	/* 5.13 */
	{ 14, 0, 0, offsetof(struct ruleset, handled_access_net) },	/* 5.19: files from one directory to another */
	{ 15, 0, 0, offsetof(struct ruleset, handled_access_net) },	/* 6.2: truncate */
	{ 15, 2, 0, offsetof(struct ruleset, scoped) },			/* 6.7: bind and connect of TCP */
	{ 16, 2, 0, offsetof(struct ruleset, scoped) },			/* 6.10: ioctl of devices */
	{ 16, 2, 2, sizeof(struct ruleset) },				/* 6.12: abstract Unix sockets, signals */
};

static u64 lowest(u32 bits)
{
	return (1ULL << bits) - 1;
}

int landlock_shut_out(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	int fd CLEANUP(cleanup_close) = -1;
	const struct version *v;
	struct ruleset all;

	if (version < 1)
		return version < 0 ? -errno : -EOPNOTSUPP;
	v = &versions[(size_t)version < ARRAY_SIZE(versions) ? (size_t)version - 1 : ARRAY_SIZE(versions) - 1];
	all = (struct ruleset){ .handled_access_fs = lowest(v->fs), .handled_access_net = lowest(v->net),
				.scoped = lowest(v->scopes) };
	/* A set without a rule: what it handles is allowed nowhere. */
	fd = syscall(SYS_landlock_create_ruleset, &all, v->size, 0);
	if (fd < 0)
		return -errno;
	return syscall(SYS_landlock_restrict_self, fd, 0) ? -errno : 0;
}
