/* SPDX-License-Identifier: GPL-2.0 */
/* The real functions: those that the program would have called without the shim. */
#ifndef MASSIF_PRELOAD_REAL_H
#define MASSIF_PRELOAD_REAL_H

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "session.h"

/* The real functions. Columns: member of struct mf_real, symbol, type of the result, types of the arguments. */
#define MF_REAL_FUNCTIONS(X)                                                \
	X(malloc, "malloc", void *, (size_t))                               \
	X(free, "free", void, (void *))                                     \
	X(calloc, "calloc", void *, (size_t, size_t))                       \
	X(realloc, "realloc", void *, (void *, size_t))                     \
	X(memalign, "memalign", void *, (size_t, size_t))                   \
	X(aligned_alloc, "aligned_alloc", void *, (size_t, size_t))         \
	X(posix_memalign, "posix_memalign", int, (void **, size_t, size_t)) \
	X(valloc, "valloc", void *, (size_t))                               \
	X(pvalloc, "pvalloc", void *, (size_t))                             \
	X(malloc_usable_size, "malloc_usable_size", size_t, (void *))       \
	X(dlopen, "dlopen", void *, (const char *, int))                    \
	X(dlclose, "dlclose", int, (void *))                                \
	X(execve, "execve", int, (const char *, char *const *, char *const *)) \
	X(execvpe, "execvpe", int, (const char *, char *const *, char *const *)) \
	X(fexecve, "fexecve", int, (int, char *const *, char *const *))       \
	X(posix_spawn, "posix_spawn", int,                                   \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *,        \
	   const posix_spawnattr_t *, char *const *, char *const *))         \
	X(posix_spawnp, "posix_spawnp", int,                                 \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *,        \
	   const posix_spawnattr_t *, char *const *, char *const *))         \
	X(syscall, "syscall", long, (long, ...))                            \
	X(prctl, "prctl", int, (int, ...))                                  \
	X(mlockall, "mlockall", int, (int))                                 \
	X(getrlimit, "getrlimit", int, (__rlimit_resource_t, struct rlimit *)) \
	X(setrlimit, "setrlimit", int, (__rlimit_resource_t, const struct rlimit *)) \
	X(prlimit, "prlimit", int,                                           \
	  (pid_t, enum __rlimit_resource, const struct rlimit *, struct rlimit *)) \
	X(pthread_setname_np, "pthread_setname_np", int, (pthread_t, const char *))

/*
 * The functions that the C++ library's operators new and delete would call if the shim were not loaded: the program's
 * own definitions, if it has any.
 */
#define MF_REAL_PROGRAM(X)                                                  \
	X(program_malloc, "malloc", void *, (size_t))                       \
	X(program_free, "free", void, (void *))                             \
	X(program_posix_memalign, "posix_memalign", int, (void **, size_t, size_t)) \
	X(program_malloc_usable_size, "malloc_usable_size", size_t, (void *))

#define MF_REAL_MEMBER(member, symbol, type, arguments) type(*member) arguments;

struct mf_real {
	MF_REAL_FUNCTIONS(MF_REAL_MEMBER)
	MF_REAL_PROGRAM(MF_REAL_MEMBER)
};

#define MF_REAL_EARLY_SIZE 16384u

extern unsigned char mf_real_early[MF_REAL_EARLY_SIZE];
extern struct mf_real mf_real_functions MF_HIDDEN;
extern int mf_real_state MF_HIDDEN; /* 1 if all real functions have been found */

/*
 * Looks up the real functions. Allocations made during the lookup are served from a small arena; if this function is
 * called for such an allocation, it returns false. Returns true once the functions are available.
 */
bool mf_real_resolve(void);

/*
 * The same for a shim that was loaded later than the program's libraries. Returns the name of a function that the
 * program lacks, or NULL.
 */
const char *mf_real_resolve_late(void);

/*
 * Returns the definition of @symbol that the program would call if the shim were not loaded, apart from its own; NULL if
 * there is none. Takes the dynamic linker's lock.
 */
void *mf_real_look_up(const char *symbol);

/*
 * Look up functions that no library defined when the real functions were looked up: before glibc 2.34, they are in
 * libdl.so.2 and libpthread.so.0, which the program may load later. Return NULL if there are none.
 */
void *(*mf_real_dlopen(void))(const char *name, int mode);
int (*mf_real_dlclose(void))(void *handle);
int (*mf_real_pthread_setname_np(void))(pthread_t thread, const char *name);

/* Replaces @from with @to in the table of real functions. Call this only while the process has one thread. */
void mf_real_redirect(void *from, void *to);

/*
 * Returns how many bytes the allocator uses for the block at @pointer: its usable size and, with glibc's allocator, the
 * header.
 */
size_t mf_real_extent(const void *pointer);

/* Returns the minimum distance between two of the allocator's blocks, in bytes. */
uint32_t mf_real_distance(void);

/* Returns whether @pointer came from the early arena. If so, it must not be passed to the real free(). */
static inline bool mf_real_is_early(const void *pointer)
{
	return (uintptr_t)pointer - (uintptr_t)mf_real_early < MF_REAL_EARLY_SIZE;
}

/*
 * Returns the size, in bytes, of a block from the early arena, which serves allocations made before the real functions
 * are known.
 */
size_t mf_real_early_size(const void *pointer);

#endif
