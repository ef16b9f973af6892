// SPDX-License-Identifier: GPL-2.0
// A path that another user has chosen is opened only if it leads to a regular file inside that user's root.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/regular.h"
#include "kselftest_harness.h"
#include "base/held.h"

FIXTURE(regular)
{
	char directory[PATH_MAX];
	char path[PATH_MAX + 32];
	int watch; /* inotify descriptor that reports files opened below the directory */
};

static void write_file(struct __test_metadata *_metadata, const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	ASSERT_NE(NULL, file);
	fputs(text, file);
	ASSERT_EQ(0, fclose(file));
}

FIXTURE_SETUP(regular)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(self->directory, sizeof(self->directory), "%s/regular.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	ASSERT_EQ(0, chdir(self->directory));
	ASSERT_EQ(0, mkfifo("pipe", 0600));
	ASSERT_EQ(0, bind(s, (void *)&address, sizeof(address)));
	close(s);
	ASSERT_EQ(0, mkdir("inside", 0700));
	write_file(_metadata, "file", "outside");
	write_file(_metadata, "inside/file", "inside");
	/* Only root can create a device node, so other users link to an existing one. */
	if (mknod("device", S_IFCHR | 0600, makedev(1, 3)))
		ASSERT_EQ(0, symlink("/dev/null", "device"));
	ASSERT_EQ(0, symlink("pipe", "link_to_pipe"));
	ASSERT_EQ(0, symlink("file", "link_to_file"));
	snprintf(self->path, sizeof(self->path), "%s/file", self->directory);
	ASSERT_EQ(0, symlink(self->path, "inside/absolute"));
	ASSERT_EQ(0, symlink("../file", "inside/upwards"));
	ASSERT_EQ(0, symlink("/file", "inside/from_the_root"));
	ASSERT_EQ(0, symlink("/proc/self/fd/0", "inside/magic"));
	self->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ASSERT_LE(0, inotify_add_watch(self->watch, self->directory, IN_OPEN));
}

FIXTURE_TEARDOWN(regular)
{
	char command[PATH_MAX + 32];

	close(self->watch);
	snprintf(command, sizeof(command), "rm -rf '%s'", self->directory);
	EXPECT_EQ(0, chdir("/"));
	EXPECT_EQ(0, system(command));
}

/* Returns whether the file @name has been opened since the last call. Events for directories are ignored. */
static bool was_opened(int watch, const char *name)
{
	char events[8192] __attribute__((aligned(8)));
	bool opened = false;
	ssize_t length;

	while ((length = read(watch, events, sizeof(events))) > 0) {
		for (char *at = events; at < events + length;) {
			struct inotify_event *event = (void *)at;

			opened |= event->len && !strcmp(event->name, name);
			at += sizeof(*event) + event->len;
		}
	}
	return opened;
}

static bool holds(int fd, const char *text)
{
	char read_back[16] = "";
	bool same = fd >= 0 && read(fd, read_back, sizeof(read_back) - 1) == (ssize_t)strlen(text) &&
		    !strcmp(read_back, text);

	if (fd >= 0)
		close(fd);
	return same;
}

TEST_F(regular, all_else_is_not_opened)
{
	static const char *const names[] = { "pipe", "socket", "device", "inside", "link_to_pipe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		EXPECT_EQ(-EINVAL, mf_regular_open(names[i])) {
			TH_LOG("%s", names[i]);
		}
		EXPECT_FALSE(was_opened(self->watch, i < 4 ? names[i] : "pipe"));
	}
	EXPECT_EQ(-ENOENT, mf_regular_open("nothing"));
	EXPECT_EQ(-ENOTDIR, mf_regular_open("file/in"));
	EXPECT_TRUE(holds(mf_regular_open("file"), "outside"));
	EXPECT_TRUE(was_opened(self->watch, "file"));
	EXPECT_TRUE(holds(mf_regular_open("link_to_file"), "outside"));
}

TEST_F(regular, nothing_leads_out_of_the_root)
{
	static const struct {
		const char *path;
		const char *text;
		int error;
	} rows[] = {
		{ "/file", "inside", 0 },
		{ "/../file", "inside", 0 },
		{ "/upwards", "inside", 0 },
		{ "/from_the_root", "inside", 0 },
		{ "/absolute", NULL, -ENOENT },
		{ "/magic", NULL, -ENOENT },
		{ "/", NULL, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = mf_regular_open_in_root("inside", rows[i].path);

		if (rows[i].text) {
			EXPECT_TRUE(holds(fd, rows[i].text)) {
				TH_LOG("%s", rows[i].path);
			}
		} else {
			EXPECT_EQ(rows[i].error, fd) {
				TH_LOG("%s", rows[i].path);
			}
		}
	}
	EXPECT_EQ(-ENOENT, mf_regular_open_in_root("nothing", "/file"));
}

/* The name of a mapped file may lead to a pipe or a device, which must not be opened. */
TEST_F(regular, what_a_mapping_is_called)
{
	static const char *const names[] = { "pipe", "device" };
	struct mf_held *held = mf_held_create(8);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct mf_held_mapping mapping = { .path = self->path, .pid = getpid(), .start = 0x1000,
						   .end = 0x2000, .file = { .device = 1, .inode = 1 } };
		struct mf_held_file *file;

		snprintf(self->path, sizeof(self->path), "%s/%s", self->directory, names[i]);
		file = mf_held_take(held, &mapping);
		ASSERT_NE(NULL, file);
		EXPECT_EQ(-EINVAL, file->error);
		EXPECT_EQ(-1, file->fd);
		EXPECT_FALSE(was_opened(self->watch, names[i]));
		mf_held_release(held, file);
	}
	mf_held_destroy(held);
}

TEST_HARNESS_MAIN
