// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/machine.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>

#include "util/sysfs.h"

const char *const capability_names[CAPABILITIES] = { "CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN" };
static const u32 capability_bits[CAPABILITIES] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };

#define FILE_BYTES 8192

static int read_below(const char *root, const char *file, char *ret, size_t size)
{
	char path[PATH_MAX];

	ret[0] = '\0';
	if (snprintf(path, sizeof(path), "%s%s", root, file) >= (int)sizeof(path))
		return -1;
	return sysfs_text(AT_FDCWD, path, ret, size);
}

/* The text that follows @title in a file of such lines; newlines became '?' when it was read. */
static const char *after(const char *text, const char *title)
{
	const char *at = strstr(text, title);

	return at ? at + strlen(title) + strspn(at + strlen(title), " \t?:") : NULL;
}

static void read_capabilities(struct machine *m, const char *root)
{
	char text[FILE_BYTES];
	const char *set;
	u64 bits;

	read_below(root, "/proc/self/status", text, sizeof(text));
	set = after(text, "CapEff");
	bits = set ? strtoull(set, NULL, 16) : 0;
	for (u32 i = 0; i < CAPABILITIES; i++)
		m->capable[i] = bits >> capability_bits[i] & 1;
}

static void read_locked_memory(struct machine *m, const char *root)
{
	char text[FILE_BYTES];
	const char *limit;

	read_below(root, "/proc/self/limits", text, sizeof(text));
	limit = after(text, "Max locked memory");
	if (limit)
		m->locked_memory_bytes = strncmp(limit, "unlimited", 9) ? strtoull(limit, NULL, 10) : ~0ULL;
}

void machine_read(struct machine *m, const char *root)
{
	u32 major = 0, minor = 0;
	char path[PATH_MAX];

	*m = (struct machine){ 0 };
	read_below(root, "/proc/sys/kernel/osrelease", m->release, sizeof(m->release));
	if (sscanf(m->release, "%9u.%9u", &major, &minor) == 2)
		m->locks_bpf_memory = major < 5 || (major == 5 && minor < 11);
	m->cpus = sysfs_cpus(root);
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	m->btf = !access(path, R_OK);
	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", root);
	sysfs_choice(AT_FDCWD, path, m->lockdown, sizeof(m->lockdown));
	read_capabilities(m, root);
	read_locked_memory(m, root);
}
