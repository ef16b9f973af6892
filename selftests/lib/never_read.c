// SPDX-License-Identifier: GPL-2.0
// A FUSE file system, implemented without libfuse, whose files never deliver data.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "selftests/lib/never_read.h"

#define BYTES 65536
#define FILE_NODE 2

bool never_read_available(void)
{
	struct utsname uts;
	char command[1024];

	uname(&uts);
	snprintf(command, sizeof(command), "modprobe -q -d '%s/guest/%s' fuse", getenv("MASSIF_BUILD") ?: "build", uts.release);
	if (access("/dev/fuse", F_OK) && system(command))
		return false;
	return !chmod("/dev/fuse", 0666);
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? BYTES : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0777,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void answer(int fuse, const struct fuse_in_header *request, int error, const void *body, size_t bytes)
{
	char message[512];
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes), .error = error, .unique = request->unique,
	};

	memcpy(message, &head, sizeof(head));
	if (bytes)
		memcpy(message + sizeof(head), body, bytes);
	if (write(fuse, message, head.len) < 0)
		return;
}

static void serve(int fuse)
{
	static char buffer[1 << 17];
	const struct fuse_in_header *request = (const void *)buffer;
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
	const struct fuse_open_out opened = { .fh = 1 };

	while (read(fuse, buffer, sizeof(buffer)) > 0) {
		const struct fuse_attr_out told = { .attr = attributes(request->nodeid) };
		const struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };

		switch (request->opcode) {
		case FUSE_INIT:
			answer(fuse, request, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			answer(fuse, request, 0, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			answer(fuse, request, 0, &told, sizeof(told));
			break;
		case FUSE_OPEN:
			answer(fuse, request, 0, &opened, sizeof(opened));
			break;
		case FUSE_READ:
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
			break;
		default:
			answer(fuse, request, -ENOSYS, NULL, 0);
		}
	}
}

static bool write_words(const char *path, const char *words)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, words, strlen(words)) == (ssize_t)strlen(words);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Enters a new user namespace, in which the caller is root, and a new mount namespace. */
static bool enter_namespaces(void)
{
	unsigned int uid = getuid(), gid = getgid();
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", uid);
	snprintf(groups, sizeof(groups), "0 %u 1", gid);
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && !prctl(PR_SET_DUMPABLE, 1) &&
	       write_words("/proc/self/uid_map", users) && write_words("/proc/self/setgroups", "deny") &&
	       write_words("/proc/self/gid_map", groups);
}

int never_read_open(pid_t *server)
{
	char directory[] = "/tmp/never.XXXXXX", options[64], path[64];
	int fuse, fd;

	if (!mkdtemp(directory) || !enter_namespaces())
		return -errno;
	/* /dev/fuse must be opened in the same user namespace in which the file system is mounted. */
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mount("never", directory, "fuse", MS_NOSUID | MS_NODEV, options))
		return -errno;
	*server = fork();
	if (!*server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fuse);
		_exit(0);
	}
	/*
	 * Only the server may have the descriptor open; otherwise the file system would not be shut down when the
	 * server exits.
	 */
	close(fuse);
	snprintf(path, sizeof(path), "%s/file", directory);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
