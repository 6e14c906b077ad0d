/* SPDX-License-Identifier: GPL-2.0-only */
/* What unseen.bpf.c and unseen.c share. */
#ifndef UNSEEN_H
#define UNSEEN_H

struct disk {
	char name[32];
};

#endif
