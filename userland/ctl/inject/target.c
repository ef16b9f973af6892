// SPDX-License-Identifier: GPL-2.0
// Finds out what a process consists of, and refuses those into which the shim cannot be loaded without harm. Nothing in
// the process changes.

#include "target.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_mapping.h"
#include "ctl/heap/origin.h"
#include "model/store.h"
#include "remote_symbol.h"
#include "restore_stub.h"
#include "tracee.h"

enum {
	CHUNK = 65536,
	LINKER_MAX = 65536, /* bytes of the dynamic linker's variables */
	BASES_MAX = 16,	    /* mappings that may be the beginning of one library */
	SEARCHED_MAX = 64 << 20, /* bytes of code that are searched */
};

struct status {
	char state;
	pid_t tracer, parent;
	unsigned int seccomp;
	bool has_shadow_stack;
};

static void take_line(struct status *status, const char *line)
{
	if (!strncmp(line, "State:", 6))
		sscanf(line + 6, " %c", &status->state);
	else if (!strncmp(line, "TracerPid:", 10))
		status->tracer = (pid_t)strtol(line + 10, NULL, 10);
	else if (!strncmp(line, "PPid:", 5))
		status->parent = (pid_t)strtol(line + 5, NULL, 10);
	else if (!strncmp(line, "Seccomp:", 8))
		status->seccomp = (unsigned int)strtoul(line + 8, NULL, 10);
	else if (!strncmp(line, "x86_Thread_features:", 20))
		status->has_shadow_stack = strstr(line, "shstk");
}

static int read_status(pid_t pid, struct status *status, struct mf_error *err)
{
	mf_auto_fclose FILE *file = NULL;
	char path[32], line[512];

	*status = (struct status){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return mf_error_set(err, -ESRCH, "there is no process %d", (int)pid);
	while (fgets(line, sizeof(line), file))
		take_line(status, line);
	return 0;
}

/* Does the process share its memory with its parent, as a child of vfork() does until it executes a program? */
static bool shares_memory(pid_t pid, pid_t parent)
{
	enum { KCMP_VM_ = 1 };

	return parent > 0 && syscall(SYS_kcmp, pid, parent, KCMP_VM_, 0, 0) == 0;
}

static int check_status(struct mf_target *target, struct mf_error *err)
{
	pid_t pid = target->pid;
	struct rlimit limit;
	struct status status;
	int ret = read_status(pid, &status, err);

	if (ret)
		return ret;
	if (status.state == 'Z' || status.state == 'X')
		return mf_error_set(err, -ESRCH, "process %d has ended", (int)pid);
	if (status.tracer)
		return mf_error_set(err, -EBUSY, "process %d is traced by process %d, a debugger or strace", (int)pid,
				    (int)status.tracer);
	if (status.state == 'T' || status.state == 't')
		return mf_error_set(err, -EBUSY, "process %d is stopped; continue it first: kill -CONT %d", (int)pid,
				    (int)pid);
	if (status.has_shadow_stack)
		return mf_error_set(err, -EOPNOTSUPP, "process %d has shadow stacks, which attaching does not support",
				    (int)pid);
	if (shares_memory(pid, status.parent))
		return mf_error_set(err, -EBUSY, "process %d shares its memory with its parent (vfork)", (int)pid);
	if (!prlimit(pid, RLIMIT_AS, NULL, &limit) && limit.rlim_cur != RLIM_INFINITY)
		return mf_error_set(err, -EOPNOTSUPP,
				    "process %d has a limit on its address space (ulimit -v), which the profile would use up; "
				    "start it with massif-ctl",
				    (int)pid);
	target->restricted = status.seccomp;
	return 0;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Addresses at which the library may begin: of several, because a program may also have mapped its file to read it. */
struct bases {
	uint64_t at[BASES_MAX];
	size_t n;
};

struct found {
	struct bases libc, libdl, linker;
	bool too_many; /* mappings of one kind */
	bool musl, has_shim, has_session, any;
};

/* Notes the session memory that is mapped at @start: an earlier attach has left it, or massif-ctl profiles the process. */
static void note_session(struct mf_target *target, struct found *found, uint64_t start)
{
	struct mf_store_header header = { 0 };

	mf_tracee_read(target->pid, start, &header, sizeof(header));
	/* The header of a profile that has ended has no process any more. */
	if (!header.pid)
		return;
	if (mf_origin_aggregator(&(struct mf_store){ .header = &header }) || target->n_orphans == MF_ORPHANS_MAX)
		found->has_session = true;
	else
		target->orphans[target->n_orphans++] = start;
}

static void add_base(struct found *found, struct bases *bases, const struct mf_proc_mapping *mapping)
{
	if (mapping->offset)
		return;
	if (bases->n < BASES_MAX)
		bases->at[bases->n++] = mapping->start;
	else
		found->too_many = true;
}

static void add_range(struct mf_target *target, struct found *found, const struct mf_proc_mapping *mapping,
		      enum mf_code_owner owner)
{
	if (mapping->rights[2] != 'x')
		return;
	found->too_many |= target->n_ranges == MF_CODE_RANGES_MAX;
	if (target->n_ranges < MF_CODE_RANGES_MAX)
		target->ranges[target->n_ranges++] =
			(struct mf_code_range){ mapping->start, mapping->end, owner };
}

static void note(struct mf_target *target, struct found *found, const struct mf_proc_mapping *mapping)
{
	const char *name = name_of(mapping->path);

	found->any = true;
	if (begins(name, "libc.so.6") || begins(name, "libc-2.")) {
		add_base(found, &found->libc, mapping);
		add_range(target, found, mapping, MF_CODE_LIBC);
	} else if (begins(name, "libpthread") || begins(name, "libdl.so.2") || begins(name, "libdl-2.")) {
		if (begins(name, "libdl"))
			add_base(found, &found->libdl, mapping);
		add_range(target, found, mapping, MF_CODE_LIBC);
	} else if (begins(name, "ld-linux") || begins(name, "ld-2.")) {
		add_base(found, &found->linker, mapping);
		add_range(target, found, mapping, MF_CODE_LINKER);
	} else if (begins(name, "libjemalloc") || begins(name, "libtcmalloc") || begins(name, "libmimalloc")) {
		add_range(target, found, mapping, MF_CODE_ALLOCATOR);
	} else if (begins(name, "ld-musl")) {
		found->musl = true;
	} else if (!strcmp(name, "[vdso]")) {
		add_range(target, found, mapping, MF_CODE_VDSO);
	} else if (begins(name, "libmassif-preload.so")) {
		found->has_shim = true;
	} else if (begins(name, "memfd:massif-shim") && !mapping->offset) {
		found->too_many |= target->n_shims == MF_SHIMS_MAX;
		if (target->n_shims < MF_SHIMS_MAX)
			target->shims[target->n_shims++] = mapping->start;
	} else if (begins(name, "memfd:massif-session") && !mapping->offset) {
		note_session(target, found, mapping->start);
	}
}

bool mf_target_ranges(struct mf_target *target, pid_t pid)
{
	__attribute__((cleanup(mf_proc_mappings_close))) struct mf_proc_mappings maps = { 0 };
	struct mf_proc_mapping mapping;
	struct found found = { 0 };

	*target = (struct mf_target){ .pid = pid };
	if (mf_proc_mappings_open(&maps, pid))
		return false;
	while (mf_proc_mappings_next(&maps, &mapping))
		note(target, &found, &mapping);
	return !found.too_many;
}

static int look_at_mappings(struct mf_target *target, struct found *found, struct mf_error *err)
{
	__attribute__((cleanup(mf_proc_mappings_close))) struct mf_proc_mappings maps = { 0 };
	struct mf_proc_mapping mapping;
	pid_t pid = target->pid;
	int code = mf_proc_mappings_open(&maps, pid);

	if (code)
		return mf_error_set(err, code, "the mappings of process %d cannot be read: %s%s", (int)pid, strerror(-code),
				    code == -EACCES || code == -EPERM ? "; ptrace(2) says who may" : "");
	while (mf_proc_mappings_next(&maps, &mapping))
		note(target, found, &mapping);
	if (mf_proc_mappings_failed(&maps))
		return mf_error_set(err, -EACCES, "the mappings of process %d cannot be read", (int)pid);
	if (!found->any)
		return mf_error_set(err, -EINVAL, "process %d has no memory: it is ending, or a thread of the kernel",
				    (int)pid);
	if (found->has_shim || found->has_session)
		return mf_error_set(err, -EBUSY, "process %d is already profiled by massif-ctl in heap mode", (int)pid);
	if (found->too_many)
		return mf_error_set(err, -E2BIG,
				    "process %d has mapped more copies of libraries than massif-ctl looks at; start it with "
				    "massif-ctl",
				    (int)pid);
	if (!found->libc.n && found->linker.n)
		return mf_error_set(err, -EAGAIN, "process %d has not loaded its C library yet, or uses another than glibc",
				    (int)pid);
	if (!found->libc.n)
		return mf_error_set(err, -EOPNOTSUPP,
				    found->musl ? "process %d uses another C library than glibc, so its heap cannot be "
						  "profiled" :
						  "process %d is statically linked, so its heap cannot be profiled; "
						  "attach without --heap",
				    (int)pid);
	return 0;
}

/* Returns where @pattern is in code of @owner, or 0. */
static uint64_t find_code(const struct mf_target *target, enum mf_code_owner owner, const void *pattern, size_t size)
{
	uint8_t bytes[CHUNK];
	uint64_t searched = 0;

	for (size_t i = 0; i < target->n_ranges; i++) {
		const struct mf_code_range *range = &target->ranges[i];

		if (range->owner != owner)
			continue;
		for (uint64_t at = range->start; at < range->end && searched < SEARCHED_MAX;
		     at += CHUNK - 64, searched += CHUNK) {
			size_t n = range->end - at < CHUNK ? (size_t)(range->end - at) : CHUNK;
			const uint8_t *found;

			if (!mf_tracee_read(target->pid, at, bytes, n))
				break;
			found = memmem(bytes, n, pattern, size);
			if (found)
				return at + (uint64_t)(found - bytes);
		}
	}
	return 0;
}

const struct mf_code_range *mf_target_range(const struct mf_target *target, uint64_t address)
{
	for (size_t i = 0; i < target->n_ranges; i++)
		if (address - target->ranges[i].start < target->ranges[i].end - target->ranges[i].start)
			return &target->ranges[i];
	return NULL;
}

/* Adds what is between the end of the code of @object and the end of its last page. */
static void add_room(struct mf_target *target, const struct mf_remote_object *object)
{
	uint64_t start = (object->code_end + 15) & ~(uint64_t)15, end = (start + 4095) & ~(uint64_t)4095;
	const struct mf_code_range *range = mf_target_range(target, start);

	if (range && end <= range->end && end - start >= MF_RESTORE_STUB_MAX && target->n_rooms < MF_ROOMS_MAX)
		target->rooms[target->n_rooms++] = end - MF_RESTORE_STUB_MAX;
}

/* Opens the object at one of @bases whose code is mapped where it belongs. Returns how many such objects there are. */
static size_t find_loaded(const struct mf_target *target, const struct bases *bases, enum mf_code_owner owner,
			  struct mf_remote_object *object)
{
	size_t n = 0;

	for (size_t i = 0; i < bases->n; i++) {
		struct mf_remote_object candidate;
		const struct mf_code_range *range;

		if (!mf_remote_object_open(&candidate, target->pid, bases->at[i]))
			continue;
		range = mf_target_range(target, candidate.code_end - 1);
		if (!range || range->owner != owner)
			continue;
		*object = candidate;
		n++;
	}
	return n;
}

static int find_functions(struct mf_target *target, const struct found *found, struct mf_error *err)
{
	static const uint8_t ret[] = { 0xc3 };
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	struct mf_remote_object libc, libdl, linker;
	pid_t pid = target->pid;
	uint8_t class[EI_NIDENT];
	size_t n;

	n = find_loaded(target, &found->libc, MF_CODE_LIBC, &libc);
	if (n > 1)
		return mf_error_set(err, -EOPNOTSUPP,
				    "process %d has loaded the C library twice (dlmopen or LD_AUDIT), so its heap cannot be "
				    "profiled by attaching; start it with massif-ctl",
				    (int)pid);
	if (!n && mf_tracee_read(pid, found->libc.at[0], class, sizeof(class)) && class[EI_CLASS] == ELFCLASS32)
		return mf_error_set(err, -EOPNOTSUPP, "process %d is a 32-bit program, so its heap cannot be profiled",
				    (int)pid);
	if (!n)
		return mf_error_set(err, -EACCES, "the C library of process %d cannot be read; ptrace(2) says who may",
				    (int)pid);
	target->dlopen_mode = RTLD_NOW | RTLD_LOCAL;
	target->dlopen = mf_remote_symbol(&libc, "dlopen");
	target->dlsym = mf_remote_symbol(&libc, "dlsym");
	target->dlerror = mf_remote_symbol(&libc, "dlerror");
	if (!target->dlopen && find_loaded(target, &found->libdl, MF_CODE_LIBC, &libdl)) {
		target->dlopen = mf_remote_symbol(&libdl, "dlopen");
		target->dlsym = mf_remote_symbol(&libdl, "dlsym");
		target->dlerror = mf_remote_symbol(&libdl, "dlerror");
	}
	target->errno_location = mf_remote_symbol(&libc, "__errno_location");
	add_room(target, &libc);
	if (find_loaded(target, &found->linker, MF_CODE_LINKER, &linker) == 1) {
		target->linker_state = mf_remote_variable(&linker, "_rtld_global", &target->linker_bytes);
		add_room(target, &linker);
	}
	target->ret = find_code(target, MF_CODE_LIBC, ret, sizeof(ret));
	target->restorer = find_code(target, MF_CODE_LIBC, restorer, sizeof(restorer));
	/* The shim needs this function, so that loading it into a process with an older C library would end the process. */
	if (!target->dlopen || !target->dlsym || !target->dlerror || !target->errno_location || !target->ret ||
	    !target->linker_state || target->linker_bytes > LINKER_MAX || !mf_remote_symbol(&libc, "_dl_find_object"))
		return mf_error_set(err, -EOPNOTSUPP,
				    "process %d has a C library that is too old (glibc 2.35 is needed), so its heap cannot be "
				    "profiled",
				    (int)pid);
	return 0;
}

int mf_target_check(struct mf_target *target, pid_t pid, struct mf_error *err)
{
	*target = (struct mf_target){ .pid = pid };
	return check_status(target, err);
}

int mf_target_inspect(struct mf_target *target, struct mf_error *err)
{
	struct found found = { 0 };
	int ret = look_at_mappings(target, &found, err);

	return ret ? ret : find_functions(target, &found, err);
}
