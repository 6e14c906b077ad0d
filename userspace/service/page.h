/* SPDX-License-Identifier: GPL-2.0-only */
/* The page at /, part of the program. */
#ifndef SERVICE_PAGE_H
#define SERVICE_PAGE_H

#include "util/types.h"

/* Its text, for the program's life. */
const char *page_text(size_t *ret_len);

/* What it may do: the Content-Security-Policy to send it with. */
const char *page_policy(void);

#endif
