// SPDX-License-Identifier: GPL-2.0-only
#include "recording/sqlite_vfs.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"
#include "util/cleanup.h"

#define MAGIC 0x377f0682		/* with bit 0 set, checksums are of big-endian words */
#define VERSION 3007000
#define FRAME_HEAD_BYTES 24
#define FRAMES_MAX (1u << 20)		/* a recorder begins its log anew after some thousands */

/* Both structs are as in the file, big-endian. */
struct head {
	u32 magic, version, page_bytes, checkpoint;
	u32 salt[2], sum[2];
};
struct frame_head {
	u32 page, commit;		/* database size in pages if this frame ends a transaction, else 0 */
	u32 salt[2], sum[2];
};
static_assert(sizeof(struct head) == SQLITE_WAL_HEAD_BYTES && sizeof(struct frame_head) == FRAME_HEAD_BYTES,
	      "as they stand in the file");

/* The position. A frame's checksum continues that of the previous frame. */
struct reading {
	struct sqlite_wal *w;
	u32 salt[2], sum[2];
	bool big;
	u32 room;
	u32 committed;			/* frames */
};

static void add_sum(struct reading *r, const void *bytes, size_t len)
{
	const u32 *words = bytes;

	for (size_t i = 0; i < len / sizeof(u32); i += 2) {
		r->sum[0] += (r->big ? be32toh(words[i]) : le32toh(words[i])) + r->sum[1];
		r->sum[1] += (r->big ? be32toh(words[i + 1]) : le32toh(words[i + 1])) + r->sum[0];
	}
}

static bool sum_is(const struct reading *r, const u32 sum[2])
{
	return r->sum[0] == be32toh(sum[0]) && r->sum[1] == be32toh(sum[1]);
}

static bool take_head(struct reading *r, const struct head *h)
{
	u32 magic = be32toh(h->magic), page_bytes = be32toh(h->page_bytes);

	if ((magic & ~1u) != MAGIC || be32toh(h->version) != VERSION || page_bytes < 512 || page_bytes > 65536 ||
	    page_bytes & (page_bytes - 1))
		return false;
	r->big = magic & 1;
	add_sum(r, h, offsetof(struct head, sum));
	memcpy(r->salt, h->salt, sizeof(r->salt));
	r->w->page_bytes = page_bytes;
	return sum_is(r, h->sum);
}

static s64 frame_at(const struct sqlite_wal *w, u32 frame)
{
	return SQLITE_WAL_HEAD_BYTES + (s64)frame * (FRAME_HEAD_BYTES + w->page_bytes);
}

static int add_page(struct reading *r, u32 page)
{
	struct sqlite_wal *w = r->w;

	if (w->n == FRAMES_MAX)
		return -EFBIG;
	if (array_more(&w->pages, sizeof(*w->pages), w->n, &r->room))
		return -ENOMEM;
	w->pages[w->n] = (struct sqlite_wal_page){ page, w->n };
	w->n++;
	return 0;
}

/* Returns 1 if the next frame is valid, 0 after the last valid one. */
static int take_frame(struct reading *r, struct frame_head *f)
{
	struct sqlite_wal *w = r->w;
	ssize_t size = FRAME_HEAD_BYTES + w->page_bytes, len = pread(w->fd, f, size, frame_at(w, w->n));
	int err;

	if (len < 0)
		return -errno;
	if (len < size || !f->page || memcmp(f->salt, r->salt, sizeof(r->salt)))
		return 0;
	add_sum(r, f, offsetof(struct frame_head, salt));
	add_sum(r, f + 1, w->page_bytes);
	if (!sum_is(r, f->sum))
		return 0;
	err = add_page(r, be32toh(f->page));
	if (err)
		return err;
	if (f->commit) {
		w->db_pages = be32toh(f->commit);
		r->committed = w->n;
	}
	return 1;
}

static int compare_pages(const void *a, const void *b)
{
	const struct sqlite_wal_page *x = a, *y = b;

	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->frame < y->frame ? -1 : 1;
}

/* Keeps the last frame of each page. */
static void make_index(struct sqlite_wal *w)
{
	u32 n = 0;

	if (w->n)
		qsort(w->pages, w->n, sizeof(*w->pages), compare_pages);
	for (u32 i = 0; i < w->n; i++)
		if (i + 1 == w->n || w->pages[i].page != w->pages[i + 1].page)
			w->pages[n++] = w->pages[i];
	w->n = n;
}

static int read_frames(struct reading *r)
{
	struct frame_head *f CLEANUP(cleanup_free) = malloc(FRAME_HEAD_BYTES + r->w->page_bytes);
	int more;

	if (!f)
		return -ENOMEM;
	while ((more = take_frame(r, f)) > 0)
		;
	r->w->n = r->committed;
	if (!more)
		make_index(r->w);
	return more;
}

int sqlite_wal_read(struct sqlite_wal *w, int fd)
{
	struct reading r = { .w = w };
	struct head head;
	ssize_t len = pread(fd, &head, sizeof(head), 0);
	int err;

	*w = (struct sqlite_wal){ .fd = fd };
	if (len < 0)
		return -errno;
	if (len < (ssize_t)sizeof(head) || !take_head(&r, &head))
		return 0;
	err = read_frames(&r);
	if (err)
		sqlite_wal_uninit(w);
	return err;
}

s64 sqlite_wal_find(const struct sqlite_wal *w, u32 page)
{
	u32 low = 0, high = w->n;	/* pages before low are smaller, those from high on are not */

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (w->pages[mid].page < page)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == w->n || w->pages[low].page != page)
		return -1;
	return frame_at(w, w->pages[low].frame) + FRAME_HEAD_BYTES;
}

void sqlite_wal_uninit(struct sqlite_wal *w)
{
	free(w->pages);
	*w = (struct sqlite_wal){ .fd = -1 };
}
