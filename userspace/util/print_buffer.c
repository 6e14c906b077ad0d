// SPDX-License-Identifier: GPL-2.0-only
#include "util/print_buffer.h"

#include <errno.h>
#include <stdlib.h>

int page_open(struct page *page)
{
	*page = (struct page){ 0 };
	page->f = open_memstream(&page->text, &page->len);
	return page->f ? 0 : -errno;
}

int page_write(struct page *page, FILE *out)
{
	if (fflush(page->f) || ferror(page->f))
		return -ENOMEM;
	errno = 0;
	if (fwrite(page->text, 1, page->len, out) == page->len && !fflush(out))
		return 0;
	return errno ? -errno : -EIO;
}

void page_close(struct page *page)
{
	if (page->f)
		fclose(page->f);
	free(page->text);
	*page = (struct page){ 0 };
}
