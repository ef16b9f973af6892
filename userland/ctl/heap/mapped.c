// SPDX-License-Identifier: GPL-2.0
// Keeps open the files of the objects in a process's store.

#include "mapped.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_mapping.h"
#include "model/objects.h"

void mf_mapped_init(struct mf_mapped *mapped, struct mf_held *held)
{
	*mapped = (struct mf_mapped){ .held = held, .root = -1, .n = 1 };
}

static uint32_t room_of(const struct mf_store *store)
{
	return (uint32_t)(store->sizes[MF_REGION_OBJECTS] / sizeof(struct mf_object_record));
}

/*
 * Allocates entries for the maximum number of objects, because other threads read the array while it is being
 * filled.
 */
static bool make_files(struct mf_store *store)
{
	if (!store->files)
		store->files = calloc(room_of(store), sizeof(struct mf_held_file *));
	return store->files;
}

void mf_mapped_deinit(struct mf_mapped *mapped, struct mf_store *store)
{
	for (uint32_t i = 1; store->files && i < mapped->n; i++)
		mf_held_release(mapped->held, store->files[i]);
	free(mf_take(store->files, NULL));
	mf_held_release(mapped->held, mf_take(mapped->program, NULL));
	if (mapped->root >= 0)
		close(mf_take(mapped->root, -1));
	mapped->n = 1;
}

void mf_mapped_program(struct mf_mapped *mapped, const char *path)
{
	mf_held_release(mapped->held, mapped->program);
	mapped->program = mf_held_take_path(mapped->held, path);
}

/* Returns whether process @pid and massif-ctl share what the link @name in /proc/PID leads to, or whether it is unknown. */
static bool shares(pid_t pid, const char *name)
{
	struct stat theirs, ours;
	char link[48];

	snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, name);
	if (stat(link, &theirs))
		return true;
	snprintf(link, sizeof(link), "/proc/self/%s", name);
	return stat(link, &ours) || (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

void mf_mapped_executed(struct mf_mapped *mapped, pid_t pid)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	mf_mapped_program(mapped, link);
	if (mapped->root >= 0)
		close(mf_take(mapped->root, -1));
	if (shares(pid, "root") && shares(pid, "ns/mnt"))
		return;
	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	mapped->root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Opens the file of @mapping and stores it in @files for each object in [@first, @end) that starts inside @mapping. */
static void take(struct mf_mapped *mapped, const struct mf_store *store, uint32_t first, uint32_t end,
		 struct mf_held_mapping *mapping, struct mf_held_file **files)
{
	for (uint32_t i = first; i < end; i++) {
		const struct mf_object_record *record = mf_objects_record(store, i);
		struct mf_held_file *file;
		struct mf_object object;

		if (store->files[i] || files[i - first] || record->start < mapping->start || record->start >= mapping->end ||
		    !mf_objects_read(store, i, &object) || object.kind != MF_OBJECT_FILE)
			continue;
		mapping->alias = object.path;
		file = mf_held_take(mapped->held, mapping);
		/*
		 * If the object had already been unmapped when @mapping was read from /proc/PID/maps, @mapping may
		 * belong to another object, which is now mapped at the same address.
		 */
		if (__atomic_load_n(&record->retired, __ATOMIC_ACQUIRE))
			mf_held_release(mapped->held, file);
		else
			files[i - first] = file;
	}
}

/*
 * Returns whether the process of @pidfd still has the id @pid: a process keeps it after its end, until its parent has asked
 * for its status; then the kernel shows -1. @pidfd is -1 if the pid cannot be reused, because massif-ctl is that parent.
 */
static bool has_pid(int pidfd, pid_t pid)
{
	mf_auto_fclose FILE *info = NULL;
	char line[256];
	int shown = -1;

	if (pidfd < 0)
		return true;
	snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", pidfd);
	info = fopen(line, "re");
	while (info && fgets(line, sizeof(line), info) && sscanf(line, "Pid: %d", &shown) != 1)
		;
	return shown == pid;
}

static void look_at_maps(struct mf_mapped *mapped, struct mf_store *store, uint32_t end, pid_t pid, int pidfd)
{
	__attribute__((cleanup(mf_proc_mappings_close))) struct mf_proc_mappings maps;
	mf_auto_free struct mf_held_file **files = calloc(end - mapped->n, sizeof(struct mf_held_file *));
	struct mf_proc_mapping found;
	bool is_same;

	if (!files || mf_proc_mappings_open(&maps, pid))
		return;
	while (mf_proc_mappings_next(&maps, &found)) {
		struct mf_held_mapping mapping = {
			.pid = pid,
			.start = found.start,
			.end = found.end,
			.path = found.path,
			.file = { .device = found.device, .inode = found.inode },
		};

		if (*found.path == '/')
			take(mapped, store, mapped->n, end, &mapping, files);
	}
	/* If another process has got the pid meanwhile, these files can be its own. */
	is_same = has_pid(pidfd, pid);
	for (uint32_t i = mapped->n; i < end; i++) {
		struct mf_held_file *file = files[i - mapped->n];

		if (!is_same)
			mf_held_release(mapped->held, file);
		else if (file)
			__atomic_store_n(&store->files[i], file, __ATOMIC_RELEASE);
	}
}

/* Assigns the executable's file to its object. Used if the process ended before its mappings could be read. */
static void take_program(struct mf_mapped *mapped, struct mf_store *store, uint32_t end)
{
	for (uint32_t i = mapped->n; i < end; i++) {
		struct mf_object object;

		if (store->files[i] || !mapped->program || !mf_objects_read(store, i, &object) ||
		    object.kind != MF_OBJECT_FILE || strcmp(object.path, mapped->program->path))
			continue;
		__atomic_store_n(&store->files[i], mf_held_use(mapped->held, mapped->program),
				 __ATOMIC_RELEASE);
	}
}

/*
 * Assigns files in the process's own root directory to the objects that have none, because the process ended before its
 * mappings could be read. massif-ctl's own root directory can have other files at these paths.
 */
static void take_from_root(struct mf_mapped *mapped, struct mf_store *store, uint32_t end)
{
	char root[32];

	if (mapped->root < 0)
		return;
	snprintf(root, sizeof(root), "/proc/self/fd/%d", mapped->root);
	for (uint32_t i = mapped->n; i < end; i++) {
		struct mf_object object;

		if (!store->files[i] && mf_objects_read(store, i, &object) && object.kind == MF_OBJECT_FILE &&
		    *object.path == '/')
			__atomic_store_n(&store->files[i], mf_held_take_in_root(mapped->held, root, object.path),
					 __ATOMIC_RELEASE);
	}
}

bool mf_mapped_look(struct mf_mapped *mapped, struct mf_store *store, pid_t pid, int pidfd)
{
	uint32_t n = __atomic_load_n(&store->header->n_objects, __ATOMIC_ACQUIRE);

	if (n > room_of(store))
		n = room_of(store);
	if (n <= mapped->n || !mapped->held || !make_files(store))
		return false;
	if (pid)
		look_at_maps(mapped, store, n, pid, pidfd);
	take_program(mapped, store, n);
	take_from_root(mapped, store, n);
	mapped->n = n;
	return true;
}

void mf_mapped_copy(struct mf_mapped *mapped, struct mf_store *store, const struct mf_mapped *from,
		    const struct mf_store *from_store)
{
	mapped->program = mf_held_use(mapped->held, from->program);
	mapped->root = from->root < 0 ? -1 : fcntl(from->root, F_DUPFD_CLOEXEC, 0);
	if (!from_store->files || !make_files(store))
		return;
	for (uint32_t i = 1; i < from->n; i++)
		store->files[i] = mf_held_use(mapped->held, from_store->files[i]);
	mapped->n = from->n;
}
