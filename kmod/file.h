/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of a slow IO, by the rules of bpf/file.bpf.h. */
#ifndef KMOD_FILE_H
#define KMOD_FILE_H

#include "blklat/slow.h"

struct bio;

/*
 * Sets pages and all about the file in @io, where they are 0, and its bytes and op are set. @bio: of a request that has
 * not ended, or just ending itself; NULL: there is none. Called in any context.
 */
void blklat_tell_file(struct blklat_slow *io, const struct bio *bio);

#endif
