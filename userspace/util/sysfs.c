// SPDX-License-Identifier: GPL-2.0-only
#include "util/sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

/* Bytes of the UTF-8 character at @s; 0 when there is none (RFC 3629, section 4). */
static u32 utf8_length(const unsigned char *s)
{
	unsigned char least = 0x80, most = 0xbf;
	u32 n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		least = 0xa0;	/* below: a longer form of a shorter character */
	else if (s[0] == 0xf0)
		least = 0x90;
	else if (s[0] == 0xed)
		most = 0x9f;	/* above: a surrogate */
	else if (s[0] == 0xf4)
		most = 0x8f;	/* above: beyond the last character */
	if (s[1] < least || s[1] > most)
		return 0;
	for (u32 i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

static bool is_control(const unsigned char *s, u32 length)
{
	return s[0] < ' ' || s[0] == 0x7f || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

bool text_is_clean(const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		u32 n = utf8_length(s);

		if (!n || is_control(s, n))
			return false;
		s += n;
	}
	return true;
}

void text_clean(char *text)
{
	size_t from = 0, to = strlen(text);

	while (to && isspace((unsigned char)text[to - 1]))
		to--;
	while (from < to && isspace((unsigned char)text[from]))
		from++;
	memmove(text, text + from, to - from);
	text[to - from] = '\0';
	for (unsigned char *s = (unsigned char *)text; *s;) {
		u32 n = utf8_length(s);

		if (!n || is_control(s, n))
			memset(s, '?', n ? n : 1);
		s += n ? n : 1;
	}
}

int sysfs_text(int dir, const char *path, char *ret, size_t size)
{
	/* In a recording a file may be anything: a fifo must not hold us up. */
	CLEANUP(cleanup_close) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	ret[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, ret, size - 1);
	if (n < 0) {
		n = -errno;
		ret[0] = '\0';
		return n;
	}
	ret[n] = '\0';
	text_clean(ret);
	return 0;
}

int sysfs_u64(int dir, const char *path, u64 *ret)
{
	char text[32], *end;
	int err = sysfs_text(dir, path, text, sizeof(text));
	u64 value;

	if (err)
		return err;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno)
		return -EINVAL;
	*ret = value;
	return 0;
}

u32 sysfs_u32_or(int dir, const char *path, u32 otherwise)
{
	u64 value;

	return sysfs_u64(dir, path, &value) || value > ~0u ? otherwise : value;
}

int sysfs_choice(int dir, const char *path, char *ret, size_t size)
{
	char text[256];
	const char *from, *word = text;
	int err = sysfs_text(dir, path, text, sizeof(text));
	size_t len;

	ret[0] = '\0';
	if (err)
		return err;
	from = strchr(text, '[');
	if (from)
		word = from + 1;
	len = strcspn(word, from ? "]" : " ");
	if (!len || (from ? word[len] != ']' : word[len]))
		return -EINVAL;
	snprintf(ret, size, "%.*s", (int)len, word);
	text_clean(ret);	/* a cut may have split a character */
	return 0;
}

int sysfs_open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int sysfs_entries(int dir, const char *path, int (*each)(int dir, const char *name, void *into),
		  void *into)
{
	int fd = sysfs_open_dir(dir, path);
	CLEANUP(cleanup_closedir) DIR *d = NULL;
	struct dirent *e;
	int err = 0;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (e = readdir(d)))
		if (e->d_name[0] != '.')
			err = each(fd, e->d_name, into);
	return err;
}
