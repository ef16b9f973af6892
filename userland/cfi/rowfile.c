// SPDX-License-Identifier: GPL-2.0
// A row file: unwind rows of one object.

#include "rowfile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAGIC	0x73776f726673616dull /* "masfrows" */
/* version of the format; increase it also when the meaning of a number in struct mf_cfi_rule changes */
#define VERSION 3u

#define FACTOR 0x9e3779b97f4a7c15ull

_Static_assert(sizeof(struct mf_rowfile) == 56 && sizeof(struct mf_rowfile_row) == 16 &&
		       sizeof(struct mf_cfi_rule) == 8,
	       "the file's form has changed: so must its version");
_Static_assert(MF_CFA_FP_LINK == 7 && MF_FP_AT_FP == 2, "and what is in it");

void mf_rowfile_init(struct mf_rowfile *file, const uint8_t *build_id, uint8_t size)
{
	memset(file, 0, sizeof(*file));
	file->magic = MAGIC;
	file->version = VERSION;
	memcpy(file->build_id, build_id, size);
	file->build_id_size = size;
}

bool mf_rowfile_holds(const struct mf_cfi_rule *rule)
{
	return rule->cfa >= MF_CFA_END && rule->cfa <= MF_CFA_FP_LINK && rule->fp <= MF_FP_AT_FP;
}

/*
 * Adds @word to the checksum. Each step is bijective in the sum so far and in @word, so every changed bit changes the
 * result.
 */
static uint64_t add(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * FACTOR;
	return sum ^ sum >> 29;
}

static uint64_t sum_of(const struct mf_rowfile *file)
{
	struct mf_rowfile head;
	uint64_t starts = VERSION, rules = 0, word;

	memcpy(&head, file, sizeof(head));
	head.sum = 0;
	for (size_t i = 0; i < sizeof(head); i += sizeof(word)) {
		memcpy(&word, (const char *)&head + i, sizeof(word));
		starts = add(starts, word);
	}
	/*
	 * Add the rows' addresses to one checksum and their rules to another. The processor can compute the two in
	 * parallel, because neither has to wait for the other's multiplications.
	 */
	for (uint32_t i = 0; i < file->n_rows; i++) {
		memcpy(&word, &file->rows[i], sizeof(word));
		starts = add(starts, word);
		memcpy(&word, &file->rows[i].rule, sizeof(word));
		rules = add(rules, word);
	}
	return add(starts, rules);
}

void mf_rowfile_seal(struct mf_rowfile *file)
{
	file->sum = sum_of(file);
}

bool mf_rowfile_is_right(const struct mf_rowfile *file, size_t size, const uint8_t *build_id,
			 uint8_t build_id_size)
{
	uint64_t end = 0;

	if (size < sizeof(*file) || file->magic != MAGIC || file->version != VERSION ||
	    file->n_rows > MF_ROWFILE_ROWS_MAX || size != mf_rowfile_size(file->n_rows) ||
	    file->build_id_size != build_id_size || build_id_size > sizeof(file->build_id) ||
	    memcmp(file->build_id, build_id, build_id_size) || file->sum != sum_of(file))
		return false;
	for (uint32_t i = 0; i < file->n_rows; i++) {
		const struct mf_rowfile_row *row = &file->rows[i];

		if (row->start < end || row->end <= row->start || !mf_rowfile_holds(&row->rule))
			return false;
		end = row->end;
	}
	return true;
}

const struct mf_cfi_rule *mf_rowfile_find(const struct mf_rowfile *file, uint64_t address)
{
	uint32_t low = 0, high = file->n_rows;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (file->rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < file->rows[low - 1].end ? &file->rows[low - 1].rule : NULL;
}

void mf_rowfile_name(char name[MF_ROWFILE_NAME_SIZE], const uint8_t *build_id, uint8_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (uint8_t i = 0; i < size && i < MF_BUILD_ID_MAX; i++) {
		*name++ = digits[build_id[i] >> 4];
		*name++ = digits[build_id[i] & 15];
	}
	memcpy(name, ".rows", sizeof(".rows"));
}

/* Returns the size of the file, or 0 if the file must not be trusted. */
static size_t trusted_size(int fd)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mode & (S_IWGRP | S_IWOTH) ||
	    (uint64_t)status.st_size > mf_rowfile_size(MF_ROWFILE_ROWS_MAX))
		return 0;
	return (size_t)status.st_size;
}

static bool read_all(int fd, char *to, size_t size)
{
	for (size_t n = 0; n < size;) {
		long got = syscall(SYS_read, fd, to + n, size - n);

		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

struct mf_rowfile *mf_rowfile_read(int dirfd, const char *name, const uint8_t *build_id,
				   uint8_t build_id_size, size_t *size)
{
	/* System calls are made directly, because the C library functions are cancellation points. */
	int fd = (int)syscall(SYS_openat, dirfd, name,
			      O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct mf_rowfile *file = MAP_FAILED;

	if (fd < 0)
		return NULL;
	*size = trusted_size(fd);
	if (*size)
		file = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file != MAP_FAILED && !(read_all(fd, (char *)file, *size) &&
				    mf_rowfile_is_right(file, *size, build_id, build_id_size))) {
		munmap(file, *size);
		file = MAP_FAILED;
	}
	syscall(SYS_close, fd);
	return file == MAP_FAILED ? NULL : file;
}
