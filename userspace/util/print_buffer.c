// SPDX-License-Identifier: GPL-2.0-only
#include "util/print_buffer.h"

#include <errno.h>
#include <stdlib.h>

int print_buffer_open(struct print_buffer *buffer)
{
	*buffer = (struct print_buffer){ 0 };
	buffer->f = open_memstream(&buffer->text, &buffer->len);
	return buffer->f ? 0 : -errno;
}

int print_buffer_write(struct print_buffer *buffer, FILE *out)
{
	if (fflush(buffer->f) || ferror(buffer->f))
		return -ENOMEM;
	errno = 0;
	if (fwrite(buffer->text, 1, buffer->len, out) == buffer->len && !fflush(out))
		return 0;
	return errno ? -errno : -EIO;
}

void print_buffer_close(struct print_buffer *buffer)
{
	if (buffer->f)
		fclose(buffer->f);
	free(buffer->text);
	*buffer = (struct print_buffer){ 0 };
}
