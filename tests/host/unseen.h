/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by unseen.bpf.c and unseen.c. */
#ifndef UNSEEN_H
#define UNSEEN_H

struct disk {
	char name[32];
};

#endif
