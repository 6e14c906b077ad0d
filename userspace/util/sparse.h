/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_SPARSE_H
#define UTIL_SPARSE_H

#include <stddef.h>

/*
 * Like calloc(3), for a large table of which little is ever touched: it never gets huge pages. One of them
 * would make 2 MiB resident for a single touched cell, 32 MiB or 512 MiB on arm64 with pages of 16 or 64 KiB,
 * where transparent huge pages are "always" to be used. To be freed by free().
 */
void *sparse_calloc(size_t n, size_t size);

#endif
