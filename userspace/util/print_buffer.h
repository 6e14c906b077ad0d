/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sink writes at one go: made in memory, then handed to the stream whole. A reader never sees
 * half an interval, a failed write is noticed where it happens with the errno that it has, and a
 * terminal gets one write for each interval.
 */
#ifndef SINK_PAGE_H
#define SINK_PAGE_H

#include <stdio.h>

struct page {
	FILE *f;		/* to print to; failures (no memory) are found by page_write() */
	char *text;
	size_t len;
};

/* Returns 0 or a negative errno. */
int page_open(struct page *page);

/* Writes the page to @out and flushes. Returns 0 or the negative errno of the write. */
int page_write(struct page *page, FILE *out);

/* For CLEANUP(); the page may be written or not, or never have been opened (all 0). */
void page_close(struct page *page);

#endif
