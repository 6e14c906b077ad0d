/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each event means: which IO starts, ends or is taken back, and what it counts as. The rules are
 * those of bpf/blklat.bpf.c, written a second time on purpose: each engine is the other's witness.
 *
 * All functions are called with preemption off, from any context in which an IO can end, with the
 * request or bio that the block layer's tracepoints pass.
 */
#ifndef KMOD_CAPTURE_H
#define KMOD_CAPTURE_H

#include "kernel.h"
#include "session.h"

void blklat_capture_insert(struct blklat_session *s, struct request *rq);
void blklat_capture_merge(struct blklat_session *s, struct request *rq);
void blklat_capture_issue(struct blklat_session *s, struct request *rq);
void blklat_capture_requeue(struct blklat_session *s, struct request *rq);
/*
 * @error: 0, or the error from the tracepoint (blklat_rq_error). @bytes: how many ended now; if less
 * than the request has, only a portion of it ends.
 */
void blklat_capture_complete(struct blklat_session *s, struct request *rq, int error, unsigned int bytes);

/* A limit of its cgroup may hold the bio back now, before it is queued, so its time begins here. */
void blklat_capture_bio_hold(struct blklat_session *s, struct bio *bio);
void blklat_capture_bio_queue(struct blklat_session *s, struct bio *bio);
/* The bio has a request now, or is merged into one. */
void blklat_capture_bio_got(struct blklat_session *s, struct bio *bio);
void blklat_capture_bio_split(struct blklat_session *s, const struct bio *piece);
void blklat_capture_bio_complete(struct blklat_session *s, struct bio *bio);

#endif
