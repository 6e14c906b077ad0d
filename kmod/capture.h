/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event means: which IO starts, ends, is taken back, and what it counts as. The same rules as
 * bpf/blklat.bpf.c, written a second time on purpose: each engine is the other's witness.
 *
 * All are called with preemption off, from any context an IO can end in, with a request or bio as
 * the block layer's tracepoints give it.
 */
#ifndef KMOD_CAPTURE_H
#define KMOD_CAPTURE_H

#include "kernel.h"
#include "session.h"

void blklat_capture_insert(struct blklat_session *s, struct request *rq);
void blklat_capture_merge(struct blklat_session *s, struct request *rq);
void blklat_capture_issue(struct blklat_session *s, struct request *rq);
void blklat_capture_requeue(struct blklat_session *s, struct request *rq);
/* @error: 0, or what the tracepoint says (blklat_rq_error); @bytes: how many ended now, less than the request has for a part of it. */
void blklat_capture_complete(struct blklat_session *s, struct request *rq, int error, unsigned int bytes);

/* A limit of its cgroup may hold the bio back now, before it is queued: its time begins. */
void blklat_capture_bio_hold(struct blklat_session *s, struct bio *bio);
void blklat_capture_bio_queue(struct blklat_session *s, struct bio *bio);
void blklat_capture_bio_complete(struct blklat_session *s, struct bio *bio);

#endif
