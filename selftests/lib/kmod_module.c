// SPDX-License-Identifier: GPL-2.0
// Loads and unloads massif.ko and the test modules.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "selftests/lib/kmod_module.h"

static int load(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return err;
}

static const char *built(const char *name)
{
	static char path[PATH_MAX];
	struct utsname uts;

	uname(&uts);
	snprintf(path, sizeof(path), "%s/kmod/%s/%s.ko", getenv("MASSIF_BUILD") ?: "build",
		 uts.release, name);
	return path;
}

static const char *massif_path(void)
{
	return getenv("MASSIF_KO") ?: built("massif");
}

int kmod_module_load(const char *parameters)
{
	return load(massif_path(), parameters);
}

void *kmod_module_read(size_t *bytes)
{
	FILE *file = fopen(massif_path(), "r");
	struct stat about;
	void *image = NULL;

	if (!file)
		return NULL;
	if (!fstat(fileno(file), &about))
		image = malloc((size_t)about.st_size);
	if (image && fread(image, 1, (size_t)about.st_size, file) != (size_t)about.st_size) {
		free(image);
		image = NULL;
	}
	fclose(file);
	*bytes = image ? (size_t)about.st_size : 0;
	return image;
}

int kmod_module_load_image(const void *image, size_t bytes, const char *parameters)
{
	return syscall(SYS_init_module, image, bytes, parameters) ? -errno : 0;
}

int kmod_module_load_own(const char *name)
{
	char path[NAME_MAX];
	int err;

	snprintf(path, sizeof(path), "selftests/%s", name);
	err = load(built(path), "");
	return err == -EEXIST ? 0 : err;
}

int kmod_module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

int kmod_module_unload_soon(const char *name)
{
	int tries, err = 0;

	for (tries = 0; tries < 600; tries++) {
		err = kmod_module_unload(name);
		if (err != -EWOULDBLOCK)
			break;
		usleep(50 * 1000);
	}
	return err;
}

int kmod_module_users(void)
{
	FILE *file = fopen("/sys/module/massif/refcnt", "r");
	int users = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &users) != 1)
		users = -1;
	fclose(file);
	return users;
}
