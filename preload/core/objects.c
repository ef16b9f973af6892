// SPDX-License-Identifier: GPL-2.0
// Keeps the session's list of loaded ELF objects up to date.
//
// Lock order: dl_iterate_phdr() holds the dynamic linker's lock during its callbacks, and the program's own callbacks
// may allocate. So no function here may wait indefinitely for a lock whose holder may be waiting for the dynamic
// linker. The scan lock is therefore only acquired with trylock, in a limited number of attempts.
//
// Allocations do not take the dynamic linker's lock, for two reasons. A callback of the program may wait for a lock
// whose holder is allocating. And if another thread holds the dynamic linker's lock at the time of a fork, the lock is
// never released in the child. So the list is scanned after each change, from within the dynamic linker
// (object_loaded.c), rather than during an allocation.

#include "objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/build_id.h"
#include "model/objects.h"
#include "gate.h"
#include "libc.h"
#include "lock.h"
#include "seccomp.h"
#include "session.h"
#include "start.h"
#include "thread.h"

#define EXPORT __attribute__((visibility("default")))

static uint32_t scanning;
static bool are_announced;
static bool is_overdue; /* true if objects may have been loaded or unloaded since the last scan; accessed atomically */
uint32_t mf_objects_retired = 1;
struct mf_objects_watcher mf_objects_watcher;
static unsigned long long last_adds, last_subs;

/*
 * All records, including retired ones, hashed by path and address. If an object is loaded again at its old address, it
 * gets its old record. So its frames keep their nodes in the trie, and the table does not grow.
 */
#define ALIKE_BITS 13u

static uint32_t alike[1u << ALIKE_BITS];

struct scan {
	uint32_t round;
	/*
	 * The record to compare first with the next object of the dynamic linker's list, because the order of that list
	 * rarely changes.
	 */
	uint32_t at;
	bool any_gone;	/* true if an object has been unloaded; a new object at its address may match its record */
	bool any_new;
	bool first;
};

#define HASH_FIRST 0xcbf29ce484222325ull
#define HASH_PRIME 0x100000001b3ull

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * HASH_PRIME;
	return hash;
}

/*
 * Returns the object's path, made absolute because the program may change its working directory. The buffer is static.
 */
static const char *path_of(const struct dl_phdr_info *info)
{
	static char executable[PATH_MAX], buffer[2 * PATH_MAX];
	size_t length;

	if (!info->dlpi_name[0]) {
		/* The executable's path is cached at startup, because a sandbox may forbid readlink() later. */
		if (!executable[0] && readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0)
			executable[0] = '\0';
		return executable;
	}
	if (info->dlpi_name[0] == '/' || !strchr(info->dlpi_name, '/') ||
	    mf_seccomp_is_on() || !getcwd(buffer, PATH_MAX))
		return info->dlpi_name;
	length = strlen(buffer);
	buffer[length++] = '/';
	if (strlen(info->dlpi_name) >= sizeof(buffer) - length)
		return info->dlpi_name;
	strcpy(buffer + length, info->dlpi_name);
	return buffer;
}

struct build_id {
	uint8_t bytes[MF_BUILD_ID_MAX];
	uint8_t size;
};

static struct build_id read_build_id(const struct dl_phdr_info *info)
{
	struct build_id id = { .size = 0 };

	for (int i = 0; i < info->dlpi_phnum && !id.size; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const void *bytes;
		size_t size;

		if (header->p_type != PT_NOTE)
			continue;
		size = mf_build_id_find((const void *)(info->dlpi_addr + header->p_vaddr), header->p_filesz, &bytes);
		/* Skip a build-id that is too long. */
		if (!size || size > sizeof(id.bytes))
			continue;
		memcpy(id.bytes, bytes, size);
		id.size = (uint8_t)size;
	}
	return id;
}

/* Identifies the file of an object without a build-id by device, inode and modification time. */
static void read_identity(struct mf_object *object)
{
	struct stat status;

	if (object->kind != MF_OBJECT_FILE || mf_seccomp_is_on() ||
	    syscall(SYS_newfstatat, AT_FDCWD, object->path, &status, 0))
		return;
	object->device = status.st_dev;
	object->inode = status.st_ino;
	object->modified_ns = status.st_mtim.tv_sec * 1000000000ll + status.st_mtim.tv_nsec;
}

/*
 * Makes a record of the loaded object @info. The record's address range extends from the object's first loadable byte
 * to the last.
 */
static struct mf_object describe(const struct dl_phdr_info *info)
{
	struct mf_object object = {
		.kind = MF_OBJECT_FILE,
		.start = UINT64_MAX,
		.bias = info->dlpi_addr,
		.path = path_of(info),
	};
	struct build_id id = read_build_id(info);

	memcpy(object.build_id, id.bytes, sizeof(object.build_id));
	object.build_id_size = id.size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		if (start < object.start)
			object.start = start;
		if (start + header->p_memsz > object.end)
			object.end = start + header->p_memsz;
	}
	if (!strncmp(object.path, "linux-vdso", 10) || !strncmp(object.path, "linux-gate", 10)) {
		object.kind = MF_OBJECT_VDSO;
		object.path = "[vdso]";
	}
	read_identity(&object);
	return object;
}

static struct mf_object_record *record_of(uint32_t number)
{
	return mf_objects_record(&mf_session_store, number);
}

/*
 * Returns whether @record, for an object that was loaded at the last scan, describes the object @info. @thoroughly:
 * also compare the name and the build-id.
 */
static bool is_record_of(const struct mf_object_record *record, const struct dl_phdr_info *info,
			 bool thoroughly)
{
	struct build_id id;

	if (record->bias != info->dlpi_addr || record->headers != (uintptr_t)info->dlpi_phdr)
		return false;
	if (!thoroughly)
		return true;
	id = read_build_id(info);
	return record->name_hash == (uint32_t)hash_text(HASH_FIRST, info->dlpi_name) &&
	       record->build_id_size == id.size &&
	       !memcmp(record->build_id, id.bytes, sizeof(id.bytes));
}

/*
 * Returns the number of the record that describes the loaded object @info, or MF_OBJECT_NONE if the object is new.
 * Tries the record with number scan->at first, because it is likely to be that record.
 */
static uint32_t find_mapped(struct scan *scan, const struct dl_phdr_info *info)
{
	uint32_t from = scan->at, i = from;

	do {
		if (i == MF_OBJECT_NONE)
			i = mf_objects_first(&mf_session_store);
		if (i == MF_OBJECT_NONE)
			break;
		if (is_record_of(record_of(i), info, scan->any_gone)) {
			scan->at = mf_objects_next(&mf_session_store, i);
			return i;
		}
		i = mf_objects_next(&mf_session_store, i);
	} while (i != from);
	return MF_OBJECT_NONE;
}

static int mark_mapped(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *scan = data;
	uint32_t number;

	/*
	 * On the first callback of dl_iterate_phdr(), stop if nothing was loaded or unloaded since the previous scan.
	 */
	if (scan->first && size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(last_subs)) {
		if (info->dlpi_adds == last_adds && info->dlpi_subs == last_subs)
			return 1;
		scan->any_gone = info->dlpi_subs != last_subs;
		last_adds = info->dlpi_adds;
		last_subs = info->dlpi_subs;
	}
	scan->first = false;
	number = find_mapped(scan, info);
	if (number == MF_OBJECT_NONE)
		scan->any_new = true;
	else
		record_of(number)->round = scan->round;
	return 0;
}

/* Returns whether @record is retired and describes @object, that is, the same file at the same address. */
static bool is_same_object(const struct mf_object_record *record, uint32_t number,
			   const struct mf_object *object)
{
	struct mf_object known;

	return record->retired && record->start == object->start && record->bias == object->bias &&
	       record->end == object->end && mf_objects_read(&mf_session_store, number, &known) &&
	       known.path && known.build_id_size == object->build_id_size &&
	       !memcmp(known.build_id, object->build_id, sizeof(known.build_id)) &&
	       (known.build_id_size ||
		(known.inode && known.inode == object->inode && known.device == object->device &&
		 known.modified_ns == object->modified_ns)) &&
	       !strcmp(known.path, object->path);
}

static uint32_t *alike_head(const struct mf_object *object)
{
	uint64_t hash = hash_text(HASH_FIRST ^ object->start, object->path);

	return &alike[hash * HASH_PRIME >> (64 - ALIKE_BITS)];
}

/*
 * Revives the record of an earlier load of @object, or makes a new record if there is none. Returns the record's
 * number.
 */
static uint32_t enter_object(const struct mf_object *object)
{
	uint32_t *head = alike_head(object), number;

	for (number = *head; number != MF_OBJECT_NONE; number = record_of(number)->next_alike) {
		if (is_same_object(record_of(number), number, object)) {
			mf_objects_revive(&mf_session_store, number);
			return number;
		}
	}
	number = mf_objects_add(&mf_session_store, object);
	if (number != MF_OBJECT_NONE) {
		record_of(number)->next_alike = *head;
		*head = number;
	}
	return number;
}

static int enter_new(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scan *scan = data;
	struct mf_object_record *record;
	struct mf_object object;
	uint32_t number;

	if (find_mapped(scan, info) != MF_OBJECT_NONE)
		return 0;
	object = describe(info);
	if (object.end <= object.start)
		return 0;
	if (mf_objects_watcher.arrived)
		mf_objects_watcher.arrived(info, object.start, object.end, !mf_seccomp_is_on());
	number = enter_object(&object);
	if (number == MF_OBJECT_NONE)
		return 0;
	record = record_of(number);
	record->headers = (uintptr_t)info->dlpi_phdr;
	record->name_hash = (uint32_t)hash_text(HASH_FIRST, info->dlpi_name);
	return 0;
}

static void retire_the_gone(const struct scan *scan)
{
	uint32_t number = mf_objects_first(&mf_session_store);
	bool any = false;

	while (number != MF_OBJECT_NONE) {
		uint32_t next = mf_objects_next(&mf_session_store, number);

		if (record_of(number)->round != scan->round) {
			mf_objects_retire(&mf_session_store, number);
			if (mf_objects_watcher.gone)
				mf_objects_watcher.gone(record_of(number)->start, record_of(number)->end);
			any = true;
		}
		number = next;
	}
	if (any)
		__atomic_add_fetch(&mf_objects_retired, 1, __ATOMIC_RELEASE);
}

/* Retires the records of unloaded objects before adding new objects, which may have the same addresses. */
static void scan_list(void)
{
	static uint32_t round;
	struct scan scan = { .round = ++round, .first = true };

	if (dl_iterate_phdr(mark_mapped, &scan))
		return;
	retire_the_gone(&scan);
	scan.at = MF_OBJECT_NONE;
	if (scan.any_new)
		dl_iterate_phdr(enter_new, &scan);
}

void mf_objects_scan(void)
{
	int saved = errno;

	/*
	 * Another thread is already scanning. Wait for it to finish, but give up after a while, because it may be
	 * waiting for a lock that this thread holds.
	 */
	for (int tries = 0; __atomic_exchange_n(&scanning, 1, __ATOMIC_ACQUIRE); tries++) {
		if (tries == 1000) {
			__atomic_store_n(&is_overdue, true, __ATOMIC_RELAXED);
			return;
		}
		mf_lock_pause(&scanning, 1);
	}
	mf_gate_thaw();
	__atomic_store_n(&is_overdue, false, __ATOMIC_RELAXED);
	scan_list();
	__atomic_store_n(&scanning, 0, __ATOMIC_RELEASE);
	errno = saved;
}

void mf_objects_come(void)
{
	if (!mf_objects_watcher.forget_guesses || !mf_objects_watcher.forget_guesses())
		return;
	__atomic_add_fetch(&mf_objects_retired, 1, __ATOMIC_RELEASE);
}

void mf_objects_are_announced(void)
{
	are_announced = true;
}

void mf_objects_change(void)
{
	__atomic_store_n(&is_overdue, true, __ATOMIC_RELAXED);
}

static bool needs_scan(void)
{
	return !are_announced || __atomic_load_n(&is_overdue, __ATOMIC_RELAXED);
}

void mf_objects_reset(void)
{
	if (scanning) {
		last_adds = last_subs = 0;
		is_overdue = true;
	}
	scanning = 0;
}

/*
 * Does an object contain @address? _dl_find_object() takes no lock. If the C library lacks it, the answer is no, and the
 * frame belongs to no object, which is better than to risk a deadlock. This matters only if a debugger has a breakpoint in
 * the function that announces objects.
 */
static bool is_in_object(uint64_t address)
{
	struct dl_find_object object;

	if (!mf_libc_has_find_object)
		return false;
	return !_dl_find_object((void *)(uintptr_t)address, &object);
}

uint32_t mf_objects_of(uint64_t address)
{
	uint32_t object = mf_objects_find(&mf_session_store, address);

	if (object == MF_OBJECT_NONE && needs_scan() && is_in_object(address)) {
		mf_objects_scan();
		object = mf_objects_find(&mf_session_store, address);
	}
	return object;
}

/*
 * Wraps dlclose(), because an object that is loaded later may be mapped at the addresses of the unloaded one. (dlopen()
 * cannot be wrapped by a function that calls the real one, because its effect depends on its caller; see deepbind.c.)
 */
EXPORT int dlclose(void *handle)
{
	uint8_t inside;
	int result, saved;

	mf_start();
	if (!mf_real_dlclose())
		return -1;
	result = mf_real_dlclose()(handle);
	inside = mf_thread_local.inside;
	saved = errno;
	if (mf_session_is_active() && !(inside & MF_INSIDE_SHIM)) {
		mf_thread_local.inside = inside | MF_INSIDE_SHIM;
		if (needs_scan() && mf_thread_get())
			mf_objects_scan();
		mf_thread_local.inside = inside;
	}
	errno = saved;
	return result;
}
