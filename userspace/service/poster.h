/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sink that posts on a board: each interval as JSON, made once for all readers; the devices
 * whenever they change; and losses.
 */
#ifndef SERVICE_POSTER_H
#define SERVICE_POSTER_H

#include "core/sink.h"
#include "service/board.h"

/* What all captures of a service have in common; must outlive the sink. */
struct poster {
	struct sink_source source;
	struct board *board;
	double history_s;
	bool bins;			/* /api/snapshot has every bin, as with --bins */
	char boot[24];			/* of poster_init() */
	u64 start_mono_ns;
	u64 end_mono_ns;		/* of the interval that is posted next; 0: now */
	s64 start_wall_ns;
};

void poster_init(struct poster *p, struct board *board, double history_s, bool bins);

#endif
