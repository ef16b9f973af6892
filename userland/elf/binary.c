// SPDX-License-Identifier: GPL-2.0
// An ELF file that a profiled process has mapped. It is read in unprivileged child processes.

#include "binary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/errand.h"
#include "elf/file.h"

#define BLOCK_BYTES 4096ull

/*
 * The first child process reads FETCH_FIRST bytes of the file. Each further child reads GROWTH times as many bytes as
 * the previous one, but at most FETCH_LAST.
 */
#define FETCH_FIRST (256ull << 10)
#define FETCH_LAST  (16ull << 20)
#define GROWTH	    4u

struct mf_binary {
	const struct mf_held_file *held; /* the mapped file that is kept open, or NULL for the vdso */
	struct mf_binary_options options;
	struct mf_elf_summary *summary;
	struct mf_cfi cfi; /* the unwind rules; points into the summary */
	struct mf_elf_file *own; /* the file, if this process reads it itself; NULL otherwise */

	/* The blocks of the file that have been fetched, which means that a child process has read them. */
	/* buffer as large as the file, with each fetched block at its offset; NULL if no block has been needed yet */
	uint8_t *bytes;
	uint8_t *blocks; /* bitmap of the blocks fetched so far */
	uint64_t fetch_bytes; /* number of bytes of the file that the next child process is to read */
	bool unreadable; /* an attempt to fetch part of the file has failed; do not try again */
};

/* Runs in an unprivileged child: builds the summary of @file. */
static void *summarize(void *data, int file, size_t *size)
{
	const struct mf_held_file *held = data;
	const struct mf_held_file seen = { .fd = file, .size = held->size };

	return mf_elf_summary_make(mf_elf_file_open(&seen), size);
}

/* A range of bytes of a file. */
struct part {
	uint64_t offset;
	size_t size;
};

/* Runs in an unprivileged child: reads part of @file, or less than requested if the file ends earlier. */
static void *fetch(void *data, int file, size_t *size)
{
	const struct part *part = data;
	uint8_t *bytes = malloc(part->size);
	ssize_t n;

	for (*size = 0; bytes && *size < part->size; *size += (size_t)n) {
		n = pread(file, bytes + *size, part->size - *size, (off_t)(part->offset + *size));
		if (n <= 0)
			break;
	}
	return bytes;
}

/* Runs @run in a child. Returns the result of mf_errand_run(), or -ESTALE if the file can no longer be opened. */
static int64_t send_child(const struct mf_binary *binary, void *(*run)(void *data, int file, size_t *size), void *data,
			  size_t most, uint8_t **result)
{
	mf_auto_close int own = -1;
	int fd = binary->held->fd;

	if (fd < 0)
		fd = own = mf_held_open(binary->held);
	if (fd < 0)
		return -ESTALE;
	return mf_errand_run(&(struct mf_errand){
		.run = run,
		.data = data,
		.file = fd,
		.bytes_max = most,
		.patience_ms = binary->options.patience_ms ?: MF_BINARY_PATIENCE_MS,
	}, result);
}

/* Explains the error @code returned by send_child(). Returns NULL if it is not worth reporting. */
static const char *why_not(int64_t code)
{
	switch (code) {
	case -ESTALE: return NULL; /* the file was deleted or replaced */
	case -ETIME: return "reading its unwind rules took too long";
	case -EFBIG: return "it has too many unwind rules";
	case -ENODATA: return "it is damaged: reading its unwind rules failed";
	case -EBADMSG: return "it is damaged: its unwind rules are invalid";
	default: return "cannot start a process to read its unwind rules";
	}
}

/*
 * Returns whether the error @code of send_child() means that no child could be started, rather than that the file is
 * bad.
 */
static bool is_no_fault_of_file(int64_t code)
{
	return code < 0 && code != -ESTALE && code != -ETIME && code != -EFBIG && code != -ENODATA;
}

/*
 * Stores in @binary the summary of its ELF file (elf/summary.h). @summary was allocated with malloc(), and @binary
 * takes ownership of it.
 */
static void take_summary(struct mf_binary *binary, struct mf_elf_summary *summary)
{
	binary->summary = summary;
	binary->cfi = mf_elf_summary_cfi(summary);
}

/* Builds the summary in this process. Takes ownership of @file. */
static void summarize_ourselves(struct mf_binary *binary, struct mf_elf_file *file)
{
	struct mf_elf_summary *summary;
	size_t size;

	binary->own = file;
	summary = mf_elf_summary_make(file, &size);
	if (summary)
		take_summary(binary, summary);
}

static const char *summarize_in_child(struct mf_binary *binary)
{
	mf_auto_free uint8_t *bytes = NULL;
	int64_t size = send_child(binary, summarize, (void *)binary->held, MF_ELF_SUMMARY_MAX, &bytes);

	if (is_no_fault_of_file(size) && !mf_confine_has_rights()) {
		summarize_ourselves(binary, mf_elf_file_open(binary->held));
		return NULL;
	}
	if (size >= 0 && !mf_elf_summary_is_sound((const struct mf_elf_summary *)(const void *)bytes, (size_t)size))
		size = -EBADMSG;
	if (size < 0)
		return why_not(size);
	take_summary(binary, (struct mf_elf_summary *)(void *)mf_take(bytes, NULL));
	return NULL;
}

struct mf_binary *mf_binary_open(const struct mf_held_file *held, const struct mf_binary_options *options,
				 const char **why)
{
	struct mf_binary *binary;

	*why = NULL;
	if (held->error || !held->size)
		return NULL;
	binary = calloc(1, sizeof(*binary));
	if (!binary)
		return NULL;
	binary->held = held;
	binary->options = *options;
	binary->fetch_bytes = FETCH_FIRST;
	if (options->unconfined)
		summarize_ourselves(binary, mf_elf_file_open(held));
	else
		*why = summarize_in_child(binary);
	if (binary->summary && binary->summary->is_elf)
		return binary;
	mf_binary_close(binary);
	return NULL;
}

struct mf_binary *mf_binary_open_vdso(void)
{
	struct mf_binary *binary = calloc(1, sizeof(*binary));

	if (!binary)
		return NULL;
	summarize_ourselves(binary, mf_elf_file_open_vdso());
	if (binary->summary && binary->summary->is_elf)
		return binary;
	mf_binary_close(binary);
	return NULL;
}

void mf_binary_close(struct mf_binary *binary)
{
	if (!binary)
		return;
	mf_elf_file_close(binary->own);
	if (binary->bytes)
		munmap(binary->bytes, binary->held->size);
	free(binary->blocks);
	free(binary->summary);
	free(binary);
}

const struct mf_elf_summary *mf_binary_summary(const struct mf_binary *binary)
{
	return binary->summary;
}

const struct mf_cfi *mf_binary_cfi(const struct mf_binary *binary)
{
	return &binary->cfi;
}

static bool is_fetched(const struct mf_binary *binary, uint64_t block)
{
	return binary->blocks[block / 8] & 1u << block % 8;
}

static bool make_room(struct mf_binary *binary)
{
	uint64_t size = binary->held->size;

	if (binary->bytes)
		return true;
	binary->blocks = calloc(size / BLOCK_BYTES / 8 + 1, 1);
	if (!binary->blocks)
		return false;
	binary->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (binary->bytes != MAP_FAILED)
		return true;
	binary->bytes = NULL;
	free(mf_take(binary->blocks, NULL));
	return false;
}

/* Copies @block of the file, and the blocks around it, to binary->bytes. */
static bool fetch_block(struct mf_binary *binary, uint64_t block)
{
	uint64_t offset = block * BLOCK_BYTES & ~(binary->fetch_bytes - 1);
	uint64_t left = binary->held->size - offset;
	struct part part = { .offset = offset, .size = left < binary->fetch_bytes ? left : binary->fetch_bytes };
	mf_auto_free uint8_t *bytes = NULL;
	int64_t size = send_child(binary, fetch, &part, part.size, &bytes);

	if (size > 0)
		memcpy(binary->bytes + offset, bytes, (size_t)size);
	/*
	 * If the file was truncated after it was opened, @size is smaller than requested. Mark as fetched only those
	 * blocks that were read completely.
	 */
	for (uint64_t at = offset; size > 0 && at < offset + part.size; at += BLOCK_BYTES)
		if ((uint64_t)size == part.size || at + BLOCK_BYTES <= offset + (uint64_t)size)
			binary->blocks[at / BLOCK_BYTES / 8] |= (uint8_t)(1u << at / BLOCK_BYTES % 8);
	binary->unreadable = !is_fetched(binary, block);
	if (binary->fetch_bytes < FETCH_LAST)
		binary->fetch_bytes *= GROWTH;
	return !binary->unreadable;
}

bool mf_binary_has(const struct mf_binary *binary, uint64_t offset, size_t size)
{
	uint64_t all = binary->own ? mf_elf_file_size(binary->own) : binary->held->size;

	return offset <= all && size <= all - offset;
}

bool mf_binary_read(struct mf_binary *binary, uint64_t offset, void *bytes, size_t size)
{
	if (binary->own)
		return mf_elf_file_read(binary->own, offset, bytes, size);
	if (!size)
		return true;
	if (!mf_binary_has(binary, offset, size) || binary->unreadable || !make_room(binary))
		return false;
	for (uint64_t block = offset / BLOCK_BYTES; block <= (offset + size - 1) / BLOCK_BYTES; block++)
		if (!is_fetched(binary, block) && !fetch_block(binary, block))
			return false;
	memcpy(bytes, binary->bytes + offset, size);
	return true;
}
