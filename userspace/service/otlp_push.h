/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pushes requests to a collector of OpenTelemetry's, by OTLP over HTTP (libcurl), one after the other. What it does
 * not take now is tried again, with longer and longer pauses, or when it says (Retry-After). Meanwhile requests wait;
 * beyond OTLP_WAITING_BYTES the oldest is dropped. Counts are totals, so what a dropped request loses is resolution
 * in time, and no IO.
 */
#ifndef SERVICE_OTLP_PUSH_H
#define SERVICE_OTLP_PUSH_H

#include "util/blob.h"
#include "util/problem.h"

#define OTLP_WAITING_BYTES (8u << 20)

struct otlp_target {
	char *url;		/* as typed; what has no path gets /v1/metrics */
	const char *ca_file;	/* whom TLS trusts, borrowed; NULL: whom the system trusts */
	char **headers;		/* "Name: value" */
	u32 n_headers;
};

/* @headers: a file with one header a line, or NULL. Returns 0, or a negative errno and a sentence. */
int otlp_target_init(struct otlp_target *t, const char *url, const char *ca_file, const char *headers,
		     struct problem *p);

/* Also wipes the headers, which may be secrets. Takes a struct that is all 0. */
void otlp_target_uninit(struct otlp_target *t);

/* What became of requests, in memory that processes share: one only writes, the others only read. */
enum otlp_result {
	OTLP_OK,
	OTLP_FAILED,	/* it is tried again */
	OTLP_REJECTED,	/* all of it, or a part */
	OTLP_RESULTS,
};

struct otlp_state {
	_Atomic u64 pushes[OTLP_RESULTS];
};

struct otlp_push;
struct otlp_push_config {
	const struct otlp_target *target;
	struct otlp_state *state;
	/* The first failure, and that it works again. */
	void (*told)(void *into, const struct problem *p);
	void *into;
};

/* Borrows @cfg. Returns 0 or -ENOMEM. */
int otlp_push_new(const struct otlp_push_config *cfg, struct otlp_push **ret);
void otlp_push_free(struct otlp_push *o);	/* takes NULL */

/* The file of certificates that is used, or NULL: none was found. */
const char *otlp_push_trusts(const struct otlp_target *t);

/* Has @request (protobuf) pushed, compressed. Returns 0 or -ENOMEM. */
int otlp_push_add(struct otlp_push *o, const struct blob *request);

/* Works on that until @fd is readable, or for some time. Returns whether @fd is. */
bool otlp_push_wait(struct otlp_push *o, int fd);

/* Tries for @ms at most to push what waits. */
void otlp_push_flush(struct otlp_push *o, u32 ms);

#endif
