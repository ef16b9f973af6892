// SPDX-License-Identifier: GPL-2.0
// Reports that the address space of a process is gone.

#include "space_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int mf_space_watch_open(void)
{
	int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	return inotify < 0 ? -errno : inotify;
}

/*
 * Creates a one-page file in memory, which the process to be watched maps: when that mapping is gone, so is the
 * process's address space. Returns the file's descriptor or -errno.
 */
static int make_file(void)
{
	mf_auto_close int file = memfd_create("massif-space", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* Allocate the file's only page here, and seal the size, so that no access can fail in either process. */
	if (file < 0 || fallocate(file, 0, 0, MF_JOIN_PAGE_BYTES) ||
	    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	return mf_take(file, -1);
}

int mf_space_watch_add(int inotify, struct mf_space *space)
{
	mf_auto_close int file = make_file();
	struct mf_join_page *page;
	int number, fd = -1;
	char path[32];

	if (file < 0)
		return file;
	page = mmap(NULL, MF_JOIN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	/*
	 * The page that massif-ctl shares with the watched process is a mapping of @file. The watched process gets an
	 * open file description of its own for this file; when the kernel closes that description, inotify reports this
	 * and ends the watch. massif-ctl's own mapping keeps @file open for writing, so there is no event when
	 * massif-ctl closes its descriptor. The watch also ends if massif-ctl unmaps the page.
	 */
	number = inotify_add_watch(inotify, path, IN_CLOSE_WRITE | IN_ONESHOT);
	if (number >= 0)
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		int code = -errno;

		munmap(page, MF_JOIN_PAGE_BYTES);
		return code;
	}
	*space = (struct mf_space){ .page = page, .number = number };
	return fd;
}

int mf_space_watch_next(int inotify)
{
	struct inotify_event event;

	/* The watches are on files, not on directories, so their events carry no names. */
	while (read(inotify, &event, sizeof(event)) == (ssize_t)sizeof(event)) {
		if (event.mask & IN_Q_OVERFLOW)
			return -1;
		if (event.mask & IN_CLOSE_WRITE)
			return event.wd;
	}
	return 0;
}

void mf_space_forget(struct mf_space *space)
{
	if (space->page)
		munmap(space->page, MF_JOIN_PAGE_BYTES);
	*space = (struct mf_space){ 0 };
}

bool mf_space_executes(const struct mf_space *space)
{
	return space->page && __atomic_load_n(&space->page->executes, __ATOMIC_RELAXED);
}

bool mf_space_is_without(const struct mf_space *space)
{
	return space->page && __atomic_load_n(&space->page->without, __ATOMIC_RELAXED);
}
