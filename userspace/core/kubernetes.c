// SPDX-License-Identifier: GPL-2.0-only
#include "core/kubernetes.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cgroup.h"
#include "util/cleanup.h"
#include "util/utf8.h"

/*
 * Kubelet links each container's log as POD_NAMESPACE_CONTAINER-ID.log (kuberuntime's legacyLogSymlink()). No name
 * has a _.
 */
static char *label_of(const char *link, const char *id, const char *rest)
{
	char pod[NAME_MAX + 1], namespace[NAME_MAX + 1], container[NAME_MAX + 1], *label = NULL;
	const char *end = strstr(link, id);

	if (!end || end == link || end[-1] != '-' || strcmp(end + strlen(id), ".log") != 0 ||
	    sscanf(link, "%255[^_]_%255[^_]_%255s", pod, namespace, container) != 3)
		return NULL;
	if (asprintf(&label, "%s/%s/%.*s%s", namespace, pod, (int)(strlen(container) - strlen(end) - 1), container, rest) < 0)
		return NULL;
	text_clean(label);
	return label;
}

char *kubernetes_label(const char *node, const char *path)
{
	const struct cgroup_names names = cgroup_names(path);
	const char *at = names.container[0] ? strstr(path, names.container) : NULL;
	DIR *dir CLEANUP(cleanup_closedir) = NULL;
	char folder[PATH_MAX], *label = NULL;
	struct dirent *e;

	if (!at)
		return NULL;
	snprintf(folder, sizeof(folder), "%s" KUBERNETES_LOGS, node);
	dir = opendir(folder);
	while (dir && !label && (e = readdir(dir)))
		label = label_of(e->d_name, names.container, strchrnul(at, '/'));
	return label;
}

/*
 * "36 35 253:3 / /var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/pvc-8f1c/mount rw,relatime ...":
 * proc_pid_mountinfo(5).
 */
static void take_mount(const char *line, struct device_table *t)
{
	char at[PATH_MAX], *volume, whole;
	u32 major, minor;

	if (sscanf(line, "%*u %*u %9u:%9u /%c%4095s", &major, &minor, &whole, at) != 4 || whole != ' ')
		return;
	volume = strstr(at, "/volumes/kubernetes.io~");
	volume = volume ? strchr(volume + strlen("/volumes/"), '/') : NULL;
	for (u32 i = 0; volume && i < t->n; i++) {
		struct device *d = &t->d[i];

		if (d->absent || d->hidden || d->major != major || d->minor != minor)
			continue;
		snprintf(d->volume, sizeof(d->volume), "%.*s", (int)strcspn(volume + 1, "/"), volume + 1);
		text_clean(d->volume);
	}
}

void kubernetes_volumes(const char *node, struct device_table *t)
{
	CLEANUP(cleanup_fclose) FILE *f = NULL;
	CLEANUP(cleanup_free) char *line = NULL;
	char file[PATH_MAX];
	size_t room = 0;

	snprintf(file, sizeof(file), "%s" KUBERNETES_MOUNTS, node);
	f = fopen(file, "re");
	for (u32 i = 0; f && i < t->n; i++)
		t->d[i].volume[0] = '\0';
	while (f && getline(&line, &room, f) > 0)
		take_mount(line, t);
}
