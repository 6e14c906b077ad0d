/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names that Kubernetes has for containers and volumes, from files that kubelet leaves on a node, below @node
 * ("/" on the node itself).
 */
#ifndef CORE_KUBERNETES_H
#define CORE_KUBERNETES_H

#include "core/device.h"

#define KUBERNETES_LOGS "/var/log/containers"
#define KUBERNETES_MOUNTS "/proc/1/mountinfo"

/*
 * The label of a cgroup: "NAMESPACE/POD/CONTAINER", followed by the rest of @path if it is below the container's
 * cgroup. Returns NULL if it is of no container that is known there, or there is no memory; else the caller frees it.
 */
char *kubernetes_label(const char *node, const char *path);

/* Notes in @t which persistent volume is mounted from each device. Of a device with several, the last one. */
void kubernetes_volumes(const char *node, struct device_table *t);

#endif
