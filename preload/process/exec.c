// SPDX-License-Identifier: GPL-2.0
// Wrappers for the functions that execute a program, in this process or in a new child.
//
// massif-ctl is notified before the call, and again if the call failed. Otherwise, massif-ctl could not distinguish a
// process that exited from one that executed a program which then exited immediately. The results that the program
// sees do not change.

#include "exec.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "follow.h"
#include "core/exec_memory.h"
#include "core/join.h"
#include "limits.h"
#include "loader.h"
#include "core/readable.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * Largest environment, in bytes, that is built on the stack, which may be that of a coroutine. This is less than execvp()
 * uses there.
 */
#define STACK_ROOM_MAX 2048u

extern char **environ;

/* The environment of a program that is to be executed. */
struct new_environment {
	void *memory; /* where it was built; NULL: nowhere, or on the stack */
	size_t bytes;
	int code; /* 0; -ELIBBAD if the program cannot load the shim, -ENOMEM if the environment could not be built */
};

static void give_back(const struct new_environment *made)
{
	mf_exec_memory_give_back(made->memory, made->bytes);
}

static int failed(int result, const struct new_environment *made)
{
	int saved = errno;

	mf_seccomp_executing(false);
	mf_limits_executing(false);
	mf_session_executing(false);
	mf_join_executing(false);
	give_back(made);
	errno = saved;
	return result;
}

/* Returns whether the program cannot load the shim. For the arguments see mf_loader_is_foreign(). */
static bool is_foreign(int directory, const char *path, const char *directories)
{
	return path && mf_follow_is_on() && !mf_seccomp_is_on() && mf_readable_text(path) &&
	       mf_loader_is_foreign(directory, path, directories);
}

/*
 * Reports that @path is about to be executed. An unreadable path is not reported, since the call will fail anyway.
 * @directories: the PATH to search, or NULL.
 */
static void announce(const char *path, const char *directories, const struct new_environment *made)
{
	int code;

	if (!path || !mf_follow_is_on() || mf_seccomp_is_on() || !mf_readable_text(path))
		return;
	code = made->code ? made->code : mf_follow_find_shim();
	if (code)
		mf_join_leaves(path, code);
	else
		mf_join_starts(path, directories);
}

/* Returns the list of directories in which the C library will search for @file, or NULL if it will not search. */
static const char *directories_of(const char *file)
{
	const char *directories = getenv("PATH");

	if (strchr(file, '/'))
		return NULL;
	return directories ? directories : "/bin:/usr/bin";
}

static const struct mf_real *begin(void)
{
	const struct mf_real *real = mf_start();

	mf_session_executing(true);
	mf_join_executing(true);
	mf_limits_executing(true);
	mf_seccomp_executing(true);
	return real;
}

/*
 * Sets @envp to the environment that the program gets, as described by @made. It is on the stack or in memory of its own, since
 * this process may be a child that shares its parent's memory. If there is no memory, @envp does not change.
 */
#define FOLLOW(envp, made, foreign)                                                                      \
	do {                                                                                             \
		size_t room;                                                                             \
		void *at;                                                                                \
													 \
		(made) = (struct new_environment){ .code = (foreign) ? -ELIBBAD : 0 };                   \
		room = mf_follow_room((envp), (made).code != 0);                                         \
		at = room > STACK_ROOM_MAX ? take_memory(&(made), room) : room ? alloca(room) : NULL;    \
		if (at)                                                                                  \
			(envp) = mf_follow_add((envp), at, (made).code != 0);                            \
		else if (room)                                                                           \
			(made).code = -ENOMEM;                                                           \
	} while (0)

static void *take_memory(struct new_environment *made, size_t bytes)
{
	made->memory = mf_exec_memory_take(bytes);
	made->bytes = bytes;
	return made->memory;
}

int mf_exec_path(const char *path, char *const argv[], char *const envp[])
{
	struct new_environment made;

	FOLLOW(envp, made, is_foreign(AT_FDCWD, path, NULL));
	announce(path, NULL, &made);
	return failed(begin()->execve(path, argv, envp), &made);
}

/*
 * Makes the system call execveat(2) directly, because older C libraries lack the function execveat(). In newer C
 * libraries, the function only makes the system call.
 */
int mf_exec_at(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct new_environment made;

	FOLLOW(envp, made, is_foreign(fd, path, NULL));
	if (fd == AT_FDCWD || (path && mf_readable_text(path) && *path == '/'))
		announce(path, NULL, &made);
	return failed((int)begin()->syscall(SYS_execveat, fd, path, argv, envp, flags), &made);
}

static int execute_name(const char *file, char *const argv[], char *const envp[])
{
	const char *directories = directories_of(file);
	struct new_environment made;

	FOLLOW(envp, made, is_foreign(AT_FDCWD, file, directories));
	announce(file, directories, &made);
	return failed(begin()->execvpe(file, argv, envp), &made);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return mf_exec_path(path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return mf_exec_path(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execute_name(file, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return execute_name(file, argv, envp);
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return mf_exec_at(fd, path, argv, envp, flags);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct new_environment made = { 0 };

	/* Unlike the other functions, fexecve() fails if @envp is NULL. */
	if (envp)
		FOLLOW(envp, made, is_foreign(fd, "", NULL));
	return failed(begin()->fexecve(fd, argv, envp), &made);
}

/* The child of posix_spawn() shares this process's memory, including this stack, until it calls exec. */

static int spawned(int code, const pid_t *pid, const struct new_environment *made)
{
	if (!code)
		mf_limits_spawned(*pid);
	give_back(made);
	return code;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct new_environment made;
	pid_t own;

	FOLLOW(envp, made, is_foreign(AT_FDCWD, path, NULL));
	announce(path, NULL, &made);
	return spawned(mf_start()->posix_spawn(pid ? pid : &own, path, actions, attributes, argv, envp),
		       pid ? pid : &own, &made);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	const char *directories = directories_of(file);
	struct new_environment made;
	pid_t own;

	FOLLOW(envp, made, is_foreign(AT_FDCWD, file, directories));
	announce(file, directories, &made);
	return spawned(mf_start()->posix_spawnp(pid ? pid : &own, file, actions, attributes, argv, envp),
		       pid ? pid : &own, &made);
}

/* Counts the arguments before the terminating NULL, and advances @args past that NULL. */
static size_t count(const char *arg, va_list *args)
{
	size_t n = 0;

	for (; arg; arg = va_arg(*args, const char *))
		n++;
	return n;
}

/* Copies the arguments, with the terminating NULL. */
static void gather(char **argv, const char *arg, va_list *args)
{
	for (; arg; arg = va_arg(*args, const char *))
		*argv++ = (char *)arg;
	*argv = NULL;
}

/*
 * Builds an argv from a variable argument list. It is built on the stack, since this process may be a child that shares
 * its parent's memory.
 */
#define GATHER(argv, arg)                                                     \
	do {                                                                  \
		va_list words;                                                \
		size_t n;                                                     \
									\
		va_start(words, arg);                                         \
		n = count(arg, &words);                                       \
		va_end(words);                                                \
		(argv) = alloca((n + 1) * sizeof(*(argv)));                   \
		va_start(words, arg);                                         \
		gather(argv, arg, &words);                                    \
		va_end(words);                                                \
	} while (0)

EXPORT int execl(const char *path, const char *arg, ...)
{
	char **argv;

	GATHER(argv, arg);
	return mf_exec_path(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char **argv;

	GATHER(argv, arg);
	return execute_name(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char **argv, *const *envp;
	va_list args;

	GATHER(argv, arg);
	va_start(args, arg);
	count(arg, &args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return mf_exec_path(path, argv, envp);
}
