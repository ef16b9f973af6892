// SPDX-License-Identifier: GPL-2.0
// Checks that the guest is set up as the other tests expect: the right kernel for the module, and writable
// directories.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kselftest_harness.h"

// Writes a file in @dir and reads it back. Returns 0 or -errno.
static int try_file(const char *dir)
{
	static const char text[] = "written in the guest\n";
	char path[PATH_MAX], back[sizeof(text)] = "";
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/environment.%d", dir, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, sizeof(text)) != sizeof(text) ||
	    pread(fd, back, sizeof(back), 0) != sizeof(back))
		ret = -EIO;
	else if (memcmp(text, back, sizeof(text)))
		ret = -EBADMSG;
	close(fd);
	if (unlink(path) && !ret)
		ret = -errno;
	return ret;
}

// Returns whether @dir is a mount point of a file system of @type. statfs() is not sufficient, because 9p
// passes on the type of the host's file system.
static int is_mount(const char *dir, const char *type)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	int found = 0;

	while (mounts && (mount = getmntent(mounts)))
		found |= !strcmp(mount->mnt_dir, dir) && !strcmp(mount->mnt_type, type);
	if (mounts)
		endmntent(mounts);
	return found;
}

TEST(the_module_was_built_for_this_kernel)
{
	static const char key[] = "vermagic=";
	const char *build = getenv("MASSIF_BUILD");
	struct utsname name;
	char path[PATH_MAX], *image, *found;
	struct stat st;
	int fd;

	ASSERT_NE(NULL, build);
	ASSERT_EQ(0, uname(&name));
	snprintf(path, sizeof(path), "%s/kmod/%s/massif.ko", build, name.release);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd) TH_LOG("%s: %s", path, strerror(errno));
	ASSERT_EQ(0, fstat(fd, &st));
	image = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, image);

	found = memmem(image, st.st_size, key, sizeof(key) - 1);
	ASSERT_NE(NULL, found);
	found += sizeof(key) - 1;
	EXPECT_EQ(0, strncmp(found, name.release, strlen(name.release)));
	EXPECT_EQ(' ', found[strlen(name.release)]);
	close(fd);
}

TEST(the_module_is_loaded)
{
	EXPECT_EQ(0, access("/sys/module/massif", F_OK));
}

TEST(shared_memory_is_writable)
{
	EXPECT_TRUE(is_mount("/dev/shm", "tmpfs"));
	EXPECT_EQ(0, try_file("/dev/shm"));
}

TEST(the_results_share_is_the_hosts_and_writable)
{
	const char *results = getenv("MASSIF_RESULTS");

	ASSERT_NE(NULL, results);
	EXPECT_TRUE(is_mount(results, "9p")) TH_LOG("%s is no 9p share", results);
	EXPECT_EQ(0, try_file(results));
}

TEST(the_private_directory_is_the_tests_own)
{
	const char *tmp = getenv("TMPDIR");
	char cwd[PATH_MAX];

	ASSERT_NE(NULL, tmp);
	ASSERT_NE(NULL, getcwd(cwd, sizeof(cwd)));
	EXPECT_STREQ(tmp, cwd);
	EXPECT_EQ(0, try_file(tmp));
}

// The root is read-only, but the overlay makes it possible to write files below it.
TEST(the_root_is_writable)
{
	EXPECT_EQ(0, try_file("/"));
}

TEST(the_loopback_is_up)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, SIOCGIFFLAGS, &request));
	EXPECT_TRUE(request.ifr_flags & IFF_UP);
	close(fd);
}

TEST(we_are_root)
{
	EXPECT_EQ(0, geteuid());
}

TEST_HARNESS_MAIN
