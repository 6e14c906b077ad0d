// SPDX-License-Identifier: GPL-2.0-only
#include "util/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/types.h"
#include "util/utf8.h"

/* Characters without a special meaning in any shell and locale. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%_+=:,./-"

static bool is_plain(const char *word)
{
	return *word && !word[strspn(word, PLAIN)];
}

static void put_quoted(const char *word, FILE *out)
{
	fputc('\'', out);
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			fputs("'\\''", out);
		else
			fputc(*c, out);
	fputc('\'', out);
}

/* Every byte that is not plain ASCII is written as its number, as it may be part of an invalid character. */
static void put_escaped(const char *word, FILE *out)
{
	fputs("$'", out);
	for (const unsigned char *c = (const unsigned char *)word; *c; c++)
		if (*c == '\'' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < ' ' || *c >= 0x7f)
			fprintf(out, "\\%03o", *c);
		else
			fputc(*c, out);
	fputc('\'', out);
}

char *shell_line(char *const *words)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	for (u32 i = 0; words[i]; i++) {
		if (i)
			fputc(' ', out);
		if (is_plain(words[i]))
			fputs(words[i], out);
		else if (text_is_clean(words[i]))
			put_quoted(words[i], out);
		else
			put_escaped(words[i], out);
	}
	if (fclose(out)) {
		free(line);
		return NULL;
	}
	return line;
}
