// SPDX-License-Identifier: GPL-2.0-only
#include "util/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/types.h"

/*
 * The kernel's interface (Documentation/userspace-api/landlock.rst), declared here since
 * <linux/landlock.h> of the build system may be older than the running kernel.
 */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define CREATE_RULESET_VERSION 1
#define RULE_PATH_BENEATH 1
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_REG (1ULL << 8)
#define FS_MAKE_FIFO (1ULL << 10)
#define FS_TRUNCATE (1ULL << 14)
#define FS_IOCTL_DEV (1ULL << 15)
#define NET_CONNECT_TCP (1ULL << 1)
#define FS_OF_FILES \
	(FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_FILE | FS_MAKE_REG | FS_MAKE_FIFO | FS_TRUNCATE)

struct ruleset {
	u64 handled_access_fs;
	u64 handled_access_net;
	u64 scoped;
};

struct path_beneath {
	u64 allowed_access;
	s32 parent_fd;
} __attribute__((packed));

/*
 * What each version of the interface supports: the number of access bits, from the lowest on, and the
 * size of the struct.
 */
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

/* Finds what this kernel can handle. Returns the size of its struct, or -EOPNOTSUPP. */
static int known(struct ruleset *ret)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	const struct version *v;

	/* Also if a container's system call filter does not know it. */
	if (version < 1)
		return -EOPNOTSUPP;
	v = &versions[(size_t)version < ARRAY_SIZE(versions) ? (size_t)version - 1 : ARRAY_SIZE(versions) - 1];
	*ret = (struct ruleset){ .handled_access_fs = lowest(v->fs), .handled_access_net = lowest(v->net),
				 .scoped = lowest(v->scopes) };
	return v->size;
}

/* Permits @access to @file and what is below it; what can't be reached needs no rule. Returns 0 or a negative errno. */
static int except(int ruleset, const char *file, u64 access)
{
	int path CLEANUP(cleanup_close) = open(file, O_PATH | O_CLOEXEC);
	struct path_beneath rule = { .allowed_access = access, .parent_fd = path };
	struct stat st;

	if (path < 0 || fstat(path, &st))
		return 0;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_WRITE_FILE | FS_READ_FILE;
	return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

/* Denies what this kernel can of @denied, except @access to @files (ended by NULL) and what is below them. */
static int restrict_to(const struct ruleset *denied, const char *const *files, u64 access)
{
	struct ruleset set;
	int size = known(&set), fd CLEANUP(cleanup_close) = -1, err = 0;

	if (size < 0)
		return size;
	set.handled_access_fs &= denied->handled_access_fs;
	set.handled_access_net &= denied->handled_access_net;
	set.scoped &= denied->scoped;
	fd = syscall(SYS_landlock_create_ruleset, &set, size, 0);
	if (fd < 0)
		return -errno;
	for (; *files && !err; files++)
		err = except(fd, *files, access & set.handled_access_fs);
	return err ?: syscall(SYS_landlock_restrict_self, fd, 0) ? -errno : 0;
}

static const struct ruleset everything = { UINT64_MAX, UINT64_MAX, UINT64_MAX };

int landlock_only_below(const char *folder)
{
	return restrict_to(&everything, (const char *const[]){ folder, NULL }, FS_OF_FILES);
}

int landlock_connect(const char *const *files)
{
	static const struct ruleset denied = { UINT64_MAX, ~NET_CONNECT_TCP, UINT64_MAX };

	return restrict_to(&denied, files, FS_READ_FILE | FS_READ_DIR);
}

int landlock_write_only(const char *file)
{
	static const struct ruleset denied = { .handled_access_fs = ~(FS_READ_FILE | FS_READ_DIR | FS_IOCTL_DEV) };

	return restrict_to(&denied, (const char *const[]){ file, NULL }, FS_WRITE_FILE);
}
