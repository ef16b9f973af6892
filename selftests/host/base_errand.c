// SPDX-License-Identifier: GPL-2.0
// Work done in an unprivileged child, whose result is returned to the caller. If the child crashes, loops or returns
// too much data, the caller gets an error but is otherwise unaffected.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/errand.h"
#include "kselftest_harness.h"

#define BYTES_MAX 100000u

static void *read_file(void *data, int file, size_t *size)
{
	char *text = malloc(4);
	ssize_t n = pread(file, text, 4, 0);

	*size = n > 0 ? (size_t)n : 0;
	return text;
}

static void *say_many(void *data, int file, size_t *size)
{
	*size = *(size_t *)data;
	return calloc(1, *size);
}

static void *crash(void *data, int file, size_t *size)
{
	raise(SIGSEGV);
	return NULL;
}

static void *say_and_crash(void *data, int file, size_t *size)
{
	if (write(MF_CONFINE_SOCKET, "half", 4) == 4)
		raise(SIGSEGV);
	return NULL;
}

static void *loop(void *data, int file, size_t *size)
{
	while (!*(volatile bool *)data)
		;
	return NULL;
}

static void *have_none(void *data, int file, size_t *size)
{
	return NULL;
}

/* base_confine tests the confinement itself; this test only checks that it is applied. */
static void *open_files(void *data, int file, size_t *size)
{
	*size = 1;
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY) < 0 && socketpair(1, 1, 0, (int[2]){ 0 }) < 0 &&
	       getppid() < 0 ? strdup("x") : NULL;
}

FIXTURE(errand) {
	struct mf_errand errand;
	uint8_t *result;
};

FIXTURE_SETUP(errand)
{
	self->errand = (struct mf_errand){
		.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.bytes_max = BYTES_MAX,
		.patience_ms = 10000,
	};
	ASSERT_LE(0, self->errand.file);
	self->result = NULL;
}

FIXTURE_TEARDOWN(errand)
{
	free(self->result);
	close(self->errand.file);
	/* The child that did the work has been reaped, so the test has no child left. */
	EXPECT_EQ(-1, waitpid(-1, NULL, 0));
}

TEST_F(errand, result_arrives)
{
	self->errand.run = read_file;
	ASSERT_EQ(4, mf_errand_run(&self->errand, &self->result));
	EXPECT_EQ(0, memcmp(self->result, "\177ELF", 4));
	/* The caller's file position has not changed. */
	EXPECT_EQ(0, lseek(self->errand.file, 0, SEEK_CUR));
}

TEST_F(errand, result_has_a_bound)
{
	static const size_t sizes[] = { 1, BYTES_MAX, BYTES_MAX + 1, 10 * BYTES_MAX };

	self->errand.run = say_many;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		self->errand.data = (void *)&sizes[i];
		EXPECT_EQ(sizes[i] > BYTES_MAX ? -EFBIG : (int64_t)sizes[i], mf_errand_run(&self->errand, &self->result));
		free(mf_take(self->result, NULL));
	}
}

TEST_F(errand, ends_badly)
{
	static void *(*const ends[])(void *data, int file, size_t *size) = { crash, say_and_crash, have_none };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		self->errand.run = ends[i];
		EXPECT_EQ(-ENODATA, mf_errand_run(&self->errand, &self->result));
		EXPECT_EQ(NULL, self->result);
	}
	self->errand.run = loop;
	self->errand.data = &(bool){ false };
	self->errand.patience_ms = 300;
	EXPECT_EQ(-ETIME, mf_errand_run(&self->errand, &self->result));
}

TEST_F(errand, has_no_rights)
{
	self->errand.run = open_files;
	EXPECT_EQ(1, mf_errand_run(&self->errand, &self->result));
}

TEST_HARNESS_MAIN
