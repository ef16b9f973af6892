// SPDX-License-Identifier: GPL-2.0
// Which ELF objects are loaded in the program.
//
// Lock order: dl_iterate_phdr holds the dynamic linker's lock while it calls back, and the program
// may allocate in callbacks of its own. So nothing here waits for a lock that a thread may hold
// while it waits for the dynamic linker: the scan's own lock is only ever tried.

#include "objects.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "model/objects.h"
#include "gate.h"
#include "lock.h"
#include "sandbox.h"
#include "session.h"
#include "start.h"
#include "thread.h"
#include "unwind.h"

#define EXPORT __attribute__((visibility("default")))

static uint32_t scanning;
uint32_t mf_objects_retired = 1;
static unsigned long long last_adds, last_subs;

struct scan {
	uint8_t seen[16384 / 8]; /* a bit for each record that is still mapped */
	bool first;
	bool gone;
};

static bool is_seen(const struct scan *scan, uint32_t i)
{
	return i / 8 < sizeof(scan->seen) && (scan->seen[i / 8] >> i % 8 & 1);
}

static void set_seen(struct scan *scan, uint32_t i)
{
	if (i / 8 < sizeof(scan->seen))
		scan->seen[i / 8] |= (uint8_t)(1u << i % 8);
}

/* The object's path, made absolute: the program may change its directory. In a static buffer. */
static const char *path_of(const struct dl_phdr_info *info)
{
	static char executable[PATH_MAX], buffer[2 * PATH_MAX];
	size_t length;

	if (!info->dlpi_name[0]) {
		/* At the start: later a sandbox may not allow it. */
		if (!executable[0] && readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0)
			executable[0] = '\0';
		return executable;
	}
	if (info->dlpi_name[0] == '/' || !strchr(info->dlpi_name, '/') ||
	    mf_sandbox_is_on() || !getcwd(buffer, PATH_MAX))
		return info->dlpi_name;
	length = strlen(buffer);
	buffer[length++] = '/';
	if (strlen(info->dlpi_name) >= sizeof(buffer) - length)
		return info->dlpi_name;
	strcpy(buffer + length, info->dlpi_name);
	return buffer;
}

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) *header,
			  struct mf_object *object)
{
	const char *note = (const char *)(info->dlpi_addr + header->p_vaddr);
	const char *end = note + header->p_filesz;

	while (note + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *head = (const void *)note;
		const char *name = note + sizeof(*head);
		const char *description = name + ((head->n_namesz + 3) & ~3u);

		if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && head->n_descsz <= sizeof(object->build_id) &&
		    description + head->n_descsz <= end) {
			memcpy(object->build_id, description, head->n_descsz);
			object->build_id_size = (uint8_t)head->n_descsz;
		}
		note = description + ((head->n_descsz + 3) & ~3u);
	}
}

/* The object's extent: from its first loadable byte to its last. */
static struct mf_object describe(const struct dl_phdr_info *info)
{
	struct mf_object object = {
		.kind = MF_OBJECT_FILE,
		.start = UINT64_MAX,
		.bias = info->dlpi_addr,
		.path = path_of(info),
	};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD) {
			if (start < object.start)
				object.start = start;
			if (start + header->p_memsz > object.end)
				object.end = start + header->p_memsz;
		} else if (header->p_type == PT_NOTE) {
			read_build_id(info, header, &object);
		}
	}
	if (!strncmp(object.path, "linux-vdso", 10) || !strncmp(object.path, "linux-gate", 10)) {
		object.kind = MF_OBJECT_VDSO;
		object.path = "[vdso]";
	}
	return object;
}

/* Whether record @i is that of @object: the same file at the same place. */
static bool is_record_of(uint32_t i, const struct mf_object *object)
{
	const struct mf_object_record *record = mf_objects_record(&mf_session_store, i);
	struct mf_object known;

	return !record->retired && record->start == object->start && record->bias == object->bias &&
	       mf_objects_read(&mf_session_store, i, &known) && known.path &&
	       known.build_id_size == object->build_id_size &&
	       !memcmp(known.build_id, object->build_id, sizeof(known.build_id)) &&
	       !strcmp(known.path, object->path);
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
	uint32_t n = mf_session_store.header->n_objects;
	struct scan *scan = data;
	struct mf_object object;

	/* Nothing came or went since the last scan: one call of this function is all it costs. */
	if (scan->first && size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(last_subs)) {
		if (info->dlpi_adds == last_adds && info->dlpi_subs == last_subs)
			return 1;
		last_adds = info->dlpi_adds;
		last_subs = info->dlpi_subs;
	}
	scan->first = false;
	object = describe(info);
	if (object.end <= object.start)
		return 0;
	for (uint32_t i = 1; i < n; i++) {
		if (is_record_of(i, &object)) {
			set_seen(scan, i);
			return 0;
		}
	}
	set_seen(scan, mf_objects_add(&mf_session_store, &object));
	return 0;
}

static void retire_the_gone(const struct scan *scan)
{
	uint32_t n = mf_session_store.header->n_objects;
	bool any = false;

	for (uint32_t i = 1; i < n; i++) {
		struct mf_object_record *record = mf_objects_record(&mf_session_store, i);

		if (record->retired || record->kind == MF_OBJECT_NOTE || is_seen(scan, i))
			continue;
		record->retired = 1;
		any = true;
	}
	if (!any)
		return;
	mf_unwind_forget();
	__atomic_add_fetch(&mf_objects_retired, 1, __ATOMIC_RELEASE);
}

void mf_objects_scan(void)
{
	struct scan scan = { .first = true };

	/* Another thread's scan will find what we look for; but do not wait for it for ever. */
	for (int tries = 0; __atomic_exchange_n(&scanning, 1, __ATOMIC_ACQUIRE); tries++) {
		if (tries == 1000)
			return;
		mf_lock_pause(&scanning, 1);
	}
	mf_gate_thaw();
	if (!dl_iterate_phdr(visit, &scan))
		retire_the_gone(&scan);
	__atomic_store_n(&scanning, 0, __ATOMIC_RELEASE);
}

void mf_objects_come(void)
{
	if (!mf_unwind_has_guessed())
		return;
	mf_unwind_forget();
	__atomic_add_fetch(&mf_objects_retired, 1, __ATOMIC_RELEASE);
}

void mf_objects_reset(void)
{
	if (scanning)
		last_adds = last_subs = 0;
	scanning = 0;
}

uint32_t mf_objects_of(uint64_t address)
{
	uint32_t object = mf_objects_find(&mf_session_store, address);

	if (object == MF_OBJECT_NONE) {
		mf_objects_scan();
		object = mf_objects_find(&mf_session_store, address);
	}
	return object;
}

/*
 * After it, another object may be mapped where one was. (dlopen needs no such care; it may not be
 * called by us, since it looks at who calls it: see deepbind.c.)
 */
EXPORT int dlclose(void *handle)
{
	int result = mf_start()->dlclose(handle);
	int saved = errno;

	if (mf_session_is_active() && !mf_thread_local.inside) {
		mf_thread_local.inside = true;
		if (mf_thread_get())
			mf_objects_scan();
		mf_thread_local.inside = false;
	}
	errno = saved;
	return result;
}
