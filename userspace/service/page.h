/* SPDX-License-Identifier: GPL-2.0-only */
/* The page at /, which is part of the program. */
#ifndef SERVICE_PAGE_H
#define SERVICE_PAGE_H

#include "util/types.h"

/* Its text, which is valid for the program's life. */
const char *page_text(size_t *ret_len);

/* The Content-Security-Policy to send with it. */
const char *page_policy(void);

#endif
