// SPDX-License-Identifier: GPL-2.0
// Whether memory can be read, by asking the kernel to.
//
// A call that sandboxes leave to everybody, with an argument that makes it fail: but before that, it
// reads what it is given.

#include "readable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define NO_SUCH_WAY (-1) /* to change the set of signals */

bool mf_readable_word(uint64_t address)
{
	int saved = errno;
	bool readable;

	/* For the kernel, that is no set. */
	if (!address)
		return false;
	syscall(SYS_rt_sigprocmask, NO_SUCH_WAY, address, NULL, sizeof(uint64_t));
	readable = errno != EFAULT;
	errno = saved;
	return readable;
}

/* The page that was asked about last. Page 0 is nobody's. */
struct asked {
	uint64_t page;
};

static bool is_readable(struct asked *asked, const void *at)
{
	uint64_t page = (uint64_t)at & ~(uint64_t)(PAGE_BYTES - 1);

	if (page == asked->page)
		return page;
	if (!mf_readable_word(page))
		return false;
	asked->page = page;
	return page;
}

static bool is_readable_text(struct asked *asked, const char *text)
{
	do
		if (!is_readable(asked, text))
			return false;
	while (*text++);
	return true;
}

bool mf_readable_text(const char *text)
{
	struct asked asked = { 0 };

	return is_readable_text(&asked, text);
}

bool mf_readable_texts(char *const *texts)
{
	struct asked array = { 0 }, words = { 0 };

	for (;; texts++) {
		if (!is_readable(&array, texts) ||
		    !is_readable(&array, (const char *)(texts + 1) - 1))
			return false;
		if (!*texts)
			return true;
		if (!is_readable_text(&words, *texts))
			return false;
	}
}
