// SPDX-License-Identifier: GPL-2.0
// Output files: they are complete or absent, have the right modes, and may be links, pipes or descriptors.

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/files/outfile.h"
#include "selftests/lib/ctl_run.h"

static int write_whole(const char *path, const char *text, mode_t mode, struct mf_error *err)
{
	struct mf_outfile file;
	int ret = mf_outfile_open(&file, path, mode, err);

	if (ret) {
		mf_outfile_discard(&file);
		return ret;
	}
	fputs(text, file.stream);
	return mf_outfile_commit(&file, err);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static bool holds(const char *path, const char *text)
{
	char *found = ctl_read_file(path);
	bool equal = found && strcmp(found, text) == 0;

	free(found);
	return equal;
}

FIXTURE(outfile) {
	struct mf_error err;
};

FIXTURE_SETUP(outfile)
{
	umask(022);
	ctl_remove_files("f.");
	ctl_remove_files(".massif-");
}

/* None of this file's tests leaves a temporary file behind. */
FIXTURE_TEARDOWN(outfile)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_remove_files("f.");
}

TEST_F(outfile, is_new)
{
	ASSERT_EQ(0, write_whole("f.new", "text\n", 0644, &self->err));
	EXPECT_TRUE(holds("f.new", "text\n"));
	EXPECT_EQ(S_IFREG | 0644, mode_of("f.new"));
}

TEST_F(outfile, mode_less_umask)
{
	umask(027);
	ASSERT_EQ(0, write_whole("f.mode", "", 0644, &self->err));
	EXPECT_EQ(S_IFREG | 0640, mode_of("f.mode"));
	ASSERT_EQ(0, write_whole("f.private", "", 0600, &self->err));
	EXPECT_EQ(S_IFREG | 0600, mode_of("f.private"));
}

TEST_F(outfile, replaces)
{
	ctl_write_file("f.old", "much longer than what follows\n", 0666);
	ASSERT_EQ(0, write_whole("f.old", "new\n", 0600, &self->err));
	EXPECT_TRUE(holds("f.old", "new\n"));
	EXPECT_EQ(S_IFREG | 0600, mode_of("f.old"));
}

/* Until the new file is complete, the old one stays unchanged. */
TEST_F(outfile, appears_at_once)
{
	struct mf_outfile file;

	ctl_write_file("f.old", "old\n", 0644);
	ASSERT_EQ(0, mf_outfile_open(&file, "f.old", 0644, &self->err));
	fputs("half", file.stream);
	fflush(file.stream);
	EXPECT_TRUE(holds("f.old", "old\n"));
	mf_outfile_discard(&file);
	EXPECT_TRUE(holds("f.old", "old\n"));

	ASSERT_EQ(0, mf_outfile_open(&file, "f.none", 0644, &self->err));
	fputs("half", file.stream);
	mf_outfile_discard(&file);
	EXPECT_EQ(0, mode_of("f.none"));
}

/* The file size limit simulates a full disk. */
TEST_F(outfile, failed_write_leaves_nothing)
{
	const struct rlimit limit = { 4096, RLIM_INFINITY };
	struct mf_outfile file;
	char block[1024];

	signal(SIGXFSZ, SIG_IGN);
	ctl_write_file("f.old", "old\n", 0644);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	memset(block, 'x', sizeof(block));
	ASSERT_EQ(0, mf_outfile_open(&file, "f.old", 0644, &self->err));
	for (int i = 0; i < 64; i++)
		fwrite(block, 1, sizeof(block), file.stream);
	EXPECT_NE(0, mf_outfile_commit(&file, &self->err));
	EXPECT_NE(NULL, strstr(self->err.text, "cannot write 'f.old': "));
	EXPECT_TRUE(holds("f.old", "old\n"));
}

/*
 * These replacements for functions of the C library simulate a file server that reports a lack of space only when data
 * are synced.
 */
static int server_error;

int fstatfs(int fd, struct statfs *status)
{
	int code = (int)syscall(SYS_fstatfs, fd, status);

	if (!code && server_error)
		status->f_type = NFS_SUPER_MAGIC;
	return code;
}

int fsync(int fd)
{
	if (!server_error)
		return (int)syscall(SYS_fsync, fd);
	errno = server_error;
	return -1;
}

TEST_F(outfile, failed_sync_leaves_nothing)
{
	ctl_write_file("f.old", "old\n", 0644);
	server_error = EDQUOT;
	EXPECT_EQ(-EDQUOT, write_whole("f.old", "new\n", 0644, &self->err));
	EXPECT_STREQ("cannot write 'f.old': Disk quota exceeded", self->err.text);
	EXPECT_TRUE(holds("f.old", "old\n"));
	server_error = 0;
	EXPECT_EQ(0, write_whole("f.old", "new\n", 0644, &self->err));
	EXPECT_TRUE(holds("f.old", "new\n"));
}

TEST_F(outfile, link_is_replaced_not_followed)
{
	ctl_write_file("f.target", "precious\n", 0644);
	ASSERT_EQ(0, symlink("f.target", "f.link"));
	ASSERT_EQ(0, write_whole("f.link", "new\n", 0644, &self->err));
	EXPECT_TRUE(holds("f.target", "precious\n"));
	EXPECT_TRUE(holds("f.link", "new\n"));
	EXPECT_TRUE(S_ISREG(mode_of("f.link")));

	ASSERT_EQ(0, symlink("f.nowhere", "f.dangling"));
	ASSERT_EQ(0, write_whole("f.dangling", "new\n", 0644, &self->err));
	EXPECT_EQ(0, mode_of("f.nowhere"));
}

static void *read_pipe(void *path)
{
	return ctl_read_file(path);
}

TEST_F(outfile, pipe_is_written_into)
{
	pthread_t reader;
	void *text;

	ASSERT_EQ(0, mkfifo("f.pipe", 0600));
	ASSERT_EQ(0, pthread_create(&reader, NULL, read_pipe, (void *)"f.pipe"));
	EXPECT_EQ(0, write_whole("f.pipe", "through\n", 0644, &self->err));
	ASSERT_EQ(0, pthread_join(reader, &text));
	ASSERT_NE(NULL, text);
	EXPECT_STREQ("through\n", (char *)text);
	EXPECT_TRUE(S_ISFIFO(mode_of("f.pipe")));
	free(text);
}

/* Output to /dev/fd/N goes to the descriptor itself, at its current position; the file is not reopened. */
TEST_F(outfile, own_descriptor)
{
	char path[32];
	int fd = open("f.fd", O_RDWR | O_CREAT, 0644);

	ASSERT_LE(0, fd);
	ASSERT_EQ(6, write(fd, "first\n", 6));
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	EXPECT_TRUE(mf_outfile_needs_descriptors(path));
	EXPECT_EQ(0, mf_outfile_check(path, &self->err));
	ASSERT_EQ(0, write_whole(path, "second\n", 0644, &self->err));
	EXPECT_TRUE(holds("f.fd", "first\nsecond\n"));
	close(fd);
	EXPECT_EQ(-EBADF, mf_outfile_check(path, &self->err));
	EXPECT_NE(0, write_whole(path, "third\n", 0644, &self->err));
}

TEST_F(outfile, device)
{
	EXPECT_EQ(0, write_whole("/dev/null", "gone\n", 0644, &self->err));
	EXPECT_TRUE(S_ISCHR(mode_of("/dev/null")));
	EXPECT_EQ(-ENOSPC, write_whole("/dev/full", "nowhere to go\n", 0644, &self->err));
	EXPECT_STREQ("cannot write '/dev/full': No space left on device",
		     self->err.text);
}

TEST_F(outfile, names_that_cannot_be)
{
	static const struct {
		const char *path;
		int code;
	} cases[] = {
		{ "f.missing/x", -ENOENT },
		{ ".", -EISDIR },
		{ "/dev", -EISDIR },
		{ "/dev/null/x", -ENOTDIR },
		{ "f.dir/", -ENOENT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_EQ(cases[i].code, mf_outfile_check(cases[i].path, &self->err)) {
			TH_LOG("%s", cases[i].path);
		}
		EXPECT_EQ(cases[i].code, write_whole(cases[i].path, "x", 0644, &self->err));
	}
}

TEST_F(outfile, rights)
{
	struct mf_error *err = &self->err;

	if (geteuid() != 0)
		SKIP(return, "needs root, to become somebody with fewer rights");
	ctl_write_file("f.readonly", "old\n", 0644);
	ASSERT_EQ(0, mkdir("f.directory", 0755));
	ASSERT_EQ(0, chmod(".", 0777));
	ASSERT_EQ(0, setreuid(65534, 65534));
	EXPECT_EQ(-EACCES, mf_outfile_check("f.readonly", err));
	EXPECT_EQ(-EACCES, write_whole("f.readonly", "new\n", 0644, err));
	EXPECT_EQ(-EACCES, mf_outfile_check("f.directory/x", err));
	EXPECT_EQ(-EACCES, write_whole("f.directory/x", "new\n", 0644, err));
	EXPECT_STREQ("cannot write 'f.directory/x': Permission denied", err->text);
	EXPECT_TRUE(holds("f.readonly", "old\n"));
	rmdir("f.directory");
}

TEST_HARNESS_MAIN
