/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a service tells its recorder, as recordings that follow each other. Each is one by itself: its run has the devices that were
 * there when it began, and its accounts begin with it.
 */
#ifndef CMD_SERVED_FILE_H
#define CMD_SERVED_FILE_H

#include "core/sink.h"
#include "recording/archive.h"

/* A watch in a file. */
struct served_watch {
	u32 number;			/* see struct frame */
	bool gone;
	/* What it had counted before the file began: the file's accounts begin at 0. */
	u64 started, kernel_ios, accounts[BLKLAT_ACCOUNTS];
	bool kernel_known;
};

/* All 0 to begin with, except for the first three. */
struct served_file {
	const char *folder;
	const struct origin *described;	/* the origin of each */
	const struct run_info *given;	/* by the service; changes when devices come and go */
	struct sink *sink;		/* NULL: no file is open */
	char name[ARCHIVE_NAME];
	s64 begins_ns;			/* CLOCK_REALTIME */
	/* Its run. */
	struct origin origin;
	struct run_info run;
	struct device_table devices;
	struct watch *watches;
	struct served_watch *served;	/* [watch] */
	u32 n_gone;
	u64 skipped;
	/* An interval, as it is written. */
	struct frames shown;
	struct watch_counts *counts;	/* [frame] */
	/* The last interval, whether it was written or not. */
	struct watch_counts *last;	/* [n_last], of these numbers */
	u32 *last_numbers, n_last;
	u64 last_skipped;
};

/* Begins a file with interval @fs, which begins at @begins_ns. Returns 0, or a negative errno and a sentence. */
int served_file_begin(struct served_file *f, const struct frames *fs, s64 begins_ns, struct problem *p);

/* Whether @fs, an interval of the run given now, belongs into the open file; else another one has to begin. */
bool served_file_fits(struct served_file *f, const struct frames *fs);

/* Writes an interval that belongs into the open file. Returns 0, or a negative errno and a sentence. */
int served_file_write(struct served_file *f, const struct frames *fs, struct problem *p);

/* Ends the file, if one is open, and deletes it if it has no interval. */
void served_file_end(struct served_file *f);

/* To be called after each interval. Returns 0 or -ENOMEM. */
int served_file_remember(struct served_file *f, const struct frames *fs);
void served_file_uninit(struct served_file *f);

#endif
