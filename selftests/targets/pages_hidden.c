// SPDX-License-Identifier: GPL-2.0
// pages_hidden HOW: maps a page through a library whose file cannot be found at its path. HOW says why: the file has
// been "deleted", has been "replaced" with another file, or is in a mount "namespace" that only this program can see.

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

static int map_through(const char *path, const char *how)
{
	int (*call)(int (*)(void));
	void *library;

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
	/*
	 * massif-ctl can open the library's file only through this process, so keep the process alive until massif-ctl
	 * has read the file.
	 */
	usleep(500000);
	return 0;
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
