// SPDX-License-Identifier: GPL-2.0
// The name, device, inode and offset of a mapped file in NAME and VMA records equal those in /proc/PID/maps.
//
// The files that matter are those of overlayfs, as containers use it: newer kernels map the file of the layer below, and
// /proc/PID/maps shows the file that was opened.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"

#define PAGE	4096UL
#define RING	(1 << 20)
#define PATH_SPACE	4200

/* Where the mounts are made, in a mount namespace of the test's own. */
#define HERE	"/tmp/massif-names"

static const struct file {
	const char *what;
	const char *path;	/* NULL: a memfd */
	bool deleted;
} files[] = {
	{ "a file of tmpfs",				HERE "/plain" },
	{ "a file of the lower layer",			HERE "/merged/lower" },
	{ "a file of the upper layer",			HERE "/merged/upper" },
	{ "a file of the lower layer, bind-mounted",	HERE "/bound" },
	{ "a name with a space",			HERE "/merged/a b" },
	{ "a deleted file",				HERE "/deleted", true },
	{ "a memfd" },
};

#define FILES	(sizeof(files) / sizeof(files[0]))

static bool create(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && !ftruncate(fd, 4 * PAGE);

	close(fd);
	return ok;
}

/* Returns NULL, or the step that has failed. */
static const char *make_files(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return "a mount namespace";
	if ((mkdir(HERE, 0755) && errno != EEXIST) || mount("tmpfs", HERE, "tmpfs", 0, NULL) ||
	    mkdir(HERE "/l", 0755) || mkdir(HERE "/u", 0755) || mkdir(HERE "/w", 0755) || mkdir(HERE "/merged", 0755))
		return "tmpfs";
	if (!create(HERE "/plain") || !create(HERE "/deleted") || !create(HERE "/bound") || !create(HERE "/l/lower") ||
	    !create(HERE "/u/upper") || !create(HERE "/l/a b"))
		return "files";
	if (mount("overlay", HERE "/merged", "overlay", 0,
		  "lowerdir=" HERE "/l,upperdir=" HERE "/u,workdir=" HERE "/w"))
		return "overlayfs";
	if (mount(HERE "/merged/lower", HERE "/bound", NULL, MS_BIND, NULL))
		return "a bind mount";
	return NULL;
}

/* Addresses at which the member has mapped the files; sent to the test. */
struct addresses {
	uint64_t at[FILES];
};

static int member(void *arg)
{
	const int *pipes = arg;
	struct addresses addresses;
	unsigned int i;

	for (i = 0; i < FILES; i++) {
		int fd = files[i].path ? open(files[i].path, O_RDONLY | O_CLOEXEC) : memfd_create("name", 0);
		void *at;

		if (fd < 0 || (!files[i].path && ftruncate(fd, 4 * PAGE)))
			return 1;
		if (files[i].deleted && unlink(files[i].path))
			return 2;
		at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);
		if (at == MAP_FAILED)
			return 3;
		addresses.at[i] = (uintptr_t)at;
		close(fd);
	}
	if (write(pipes[1], &addresses, sizeof(addresses)) != sizeof(addresses))
		return 4;
	pause();
	return 0;
}

/* What a record, or a line of /proc/PID/maps, says about a mapping. */
struct saying {
	bool said;
	unsigned int major;
	unsigned int minor;
	uint64_t ino;
	uint64_t pgoff;
	char name[PATH_SPACE];
};

static bool look_up(pid_t pid, uint64_t addr, struct saying *saying)
{
	char path[64], line[PATH_SPACE + 128];
	unsigned long long from, offset, ino;
	FILE *maps;
	int name;

	memset(saying, 0, sizeof(*saying));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && !saying->said && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%*x %*s %llx %x:%x %llu %n", &from, &offset, &saying->major, &saying->minor,
			   &ino, &name) < 5 || from != addr)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(saying->name, sizeof(saying->name), "%s", line + name);
		saying->ino = ino;
		saying->pgoff = offset / PAGE;
		saying->said = true;
	}
	if (maps)
		fclose(maps);
	return saying->said;
}

FIXTURE(names)
{
	const char *missing;
	struct kmod_session session;
	int pipes[2];
	pid_t pid;
	struct addresses addresses;
	struct saying told[FILES];
};

FIXTURE_SETUP(names)
{
	self->missing = make_files();
	ASSERT_EQ(NULL, self->missing) TH_LOG("%s: %s", self->missing, strerror(errno));
	ASSERT_EQ(0, pipe(self->pipes));
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	self->pid = kmod_session_call(&self->session, member, self->pipes);
	ASSERT_LT(0, self->pid);
	close(self->pipes[1]);
	ASSERT_EQ((ssize_t)sizeof(self->addresses), read(self->pipes[0], &self->addresses, sizeof(self->addresses)));
}

FIXTURE_TEARDOWN(names)
{
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	kmod_session_close(&self->session);
}

/* Reads all records; keeps what those of type @type say about the member's files. */
static void read_records(FIXTURE_DATA(names) *self, uint32_t type)
{
	const struct massif_record *h;
	unsigned int i;

	memset(self->told, 0, sizeof(self->told));
	while ((h = kmod_session_next(&self->session))) {
		const struct massif_rec_vma *rec = (const void *)h;

		if (h->type != type)
			continue;
		for (i = 0; i < FILES; i++) {
			struct saying *told = &self->told[i];

			if (rec->addr != self->addresses.at[i])
				continue;
			told->said = true;
			told->major = rec->dev_major;
			told->minor = rec->dev_minor;
			told->ino = rec->ino;
			told->pgoff = rec->pgoff;
			snprintf(told->name, sizeof(told->name), "%.*s", (int)rec->name_len, rec->name);
		}
	}
	kmod_session_release(&self->session);
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(names) *self)
{
	struct saying maps;
	unsigned int i;

	for (i = 0; i < FILES; i++) {
		const struct saying *told = &self->told[i];

		ASSERT_TRUE(look_up(self->pid, self->addresses.at[i], &maps));
		EXPECT_TRUE(told->said && told->major == maps.major && told->minor == maps.minor &&
			    told->ino == maps.ino && told->pgoff == maps.pgoff && !strcmp(told->name, maps.name)) {
			TH_LOG("%s: record %u:%u %lu +%lu '%s', maps %u:%u %lu +%lu '%s'", files[i].what, told->major,
			       told->minor, (unsigned long)told->ino, (unsigned long)told->pgoff, told->name,
			       maps.major, maps.minor, (unsigned long)maps.ino, (unsigned long)maps.pgoff, maps.name);
		}
	}
}

TEST_F(names, of_new_mappings)
{
	read_records(self, MASSIF_REC_NAME);
	compare(_metadata, self);
}

TEST_F(names, of_a_resync)
{
	struct massif_resync resync = { .size = sizeof(resync), .flags = MASSIF_RESYNC_ALL };

	read_records(self, MASSIF_REC_NAME);
	ASSERT_EQ(0, ioctl(self->session.fd, MASSIF_IOC_RESYNC, &resync));
	read_records(self, MASSIF_REC_VMA);
	compare(_metadata, self);
}

TEST_HARNESS_MAIN
