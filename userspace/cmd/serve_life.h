/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs 'blklat serve', from its options to its exit status: two processes, devices, the loop. Prints
 * messages.
 */
#ifndef CMD_SERVE_LIFE_H
#define CMD_SERVE_LIFE_H

#include "cmd/capture_options.h"
#include "service/address.h"

#define SERVE_USER "nobody"

struct serve_options {
	struct capture_options capture;
	struct address address;
	int schema;
	double history_s;
	const char *web_file;
	bool bins;
	const char *user;	/* NULL: not given */
};

/* Serves until it is told to end; @who is the command's name in messages. Returns the exit status. */
int serve_life(const struct serve_options *o, const char *who);

#endif
