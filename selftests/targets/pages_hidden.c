// SPDX-License-Identifier: GPL-2.0
// pages_hidden HOW: maps a page through a library whose file cannot be found at its path. HOW says why: the file has
// been "deleted", has been "replaced" with another file, or is in a mount "namespace" that only this program can see.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static __attribute__((noinline)) int map(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
	struct stat status;

	if (in < 0 || out < 0 || fstat(in, &status) ||
	    sendfile(out, in, NULL, (size_t)status.st_size) != status.st_size) {
		perror(to);
		exit(1);
	}
	close(in);
	close(out);
}

/* Returns whether the process with the directory @fds in /proc has the file @status open. */
static int has_open(const char *fds, const struct stat *status)
{
	DIR *directory = opendir(fds);
	struct dirent *entry;
	struct stat other;
	int found = 0;

	while (directory && !found && (entry = readdir(directory)) != NULL)
		found = !fstatat(dirfd(directory), entry->d_name, &other, 0) && other.st_dev == status->st_dev &&
			other.st_ino == status->st_ino;
	if (directory)
		closedir(directory);
	return found;
}

/*
 * massif-ctl can open the library's file only through this process, so the process stays until its parent, which is
 * massif-ctl, has the file open.
 */
static int wait_for_reader(const struct stat *status)
{
	char fds[32];

	snprintf(fds, sizeof(fds), "/proc/%d/fd", (int)getppid());
	for (int ms = 0; ms < 30000; ms += 10) {
		if (has_open(fds, status))
			return 0;
		usleep(10000);
	}
	fprintf(stderr, "massif-ctl has not opened the library in 30 s\n");
	return 1;
}

static int map_through(const char *path, const char *how)
{
	int (*call)(int (*)(void));
	struct stat status;
	void *library;

	if (stat(path, &status)) {
		perror(path);
		return 1;
	}
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (strcmp(how, "namespace"))
		unlink(path);
	if (!strcmp(how, "replaced"))
		copy("/bin/true", path);
	call = (int (*)(int (*)(void)))dlsym(library, "library_call");
	if (call(map) != 2)
		return 1;
	return wait_for_reader(&status);
}

int main(int argc, char **argv)
{
	char path[] = "/mnt/pages_hidden.so", from[4096];

	if (argc < 2)
		return 1;
	unlink(path);
	if (!strcmp(argv[1], "namespace") &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("none", "/mnt", "tmpfs", 0, NULL))) {
		perror("namespace");
		return 1;
	}
	*strrchr(argv[0], '/') = '\0';
	snprintf(from, sizeof(from), "%s/libpages_code_a.so", argv[0]);
	copy(from, path);
	return map_through(path, argv[1]);
}
