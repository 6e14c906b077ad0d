/* SPDX-License-Identifier: GPL-2.0-only */
/* The hierarchy of cgroups, and their paths. */
#ifndef CORE_CGROUP_H
#define CORE_CGROUP_H

#include "util/types.h"

/*
 * Writes the directory of version 2's hierarchy below @root into @path and returns its length. @root is "", except in
 * tests and recorded trees.
 */
size_t cgroup_hierarchy(const char *root, char *path, size_t size);

/*
 * Calls @visit with the directory of the cgroup at @path, which has room for @size bytes, then with those below it.
 * @path is the visited cgroup's during the call, and unchanged on return. Cgroups that can't be opened are skipped.
 * Returns the first value other than 0 that @visit returns, which ends the walk; else 0.
 */
int cgroups_walk(char *path, size_t size, int (*visit)(void *arg, int dir), void *arg);

/* A cgroup to look for. */
struct cgroup_sought {
	u64 id;			/* the kernel's: the inode number of its directory */
	char *path;		/* if found: "/system.slice/cron.service", malloc'ed; else NULL */
};

/*
 * Searches the hierarchy in which IO is charged: version 2's if it has the io controller, else version 1's blkio.
 * Fills in the paths of those among @n that exist. Returns 0 or -ENOMEM; either way the caller owns the paths found
 * so far.
 */
int cgroups_find(const char *root, struct cgroup_sought *sought, u32 n);

/* Is @path, found by cgroups_find(), still the cgroup @id? True if that is unknown. */
bool cgroup_is_there(const char *root, const char *path, u64 id);

/*
 * Are cgroups below the top charged for their IO? If not, @file is set to the reason: the top's
 * cgroup.subtree_control, which lacks io, so all IO is charged to the top.
 */
bool cgroups_charged(const char *root, char *file, size_t size);

/* What a cgroup's path says; fields are "" if it does not say. */
struct cgroup_names {
	char container[65];	/* 64 digits, as docker, containerd, CRI-O and podman put them into the cgroup's name */
	char pod[37];		/* UID of the Kubernetes pod: 8c9c8f5e-7d3c-4c6b-9a54-0f4b1f1f2a3c */
	char unit[128];		/* innermost systemd unit, unless it is the container's: postgresql@15-main.service */
};

/* Parses @path, which is in the form of a part's label. */
struct cgroup_names cgroup_names(const char *path);

#endif
