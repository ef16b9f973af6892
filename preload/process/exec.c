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
#include "core/join.h"
#include "limits.h"
#include "loader.h"
#include "core/readable.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

static int failed(int result)
{
	int saved = errno;

	mf_limits_executing(false);
	mf_session_executing(false);
	mf_join_executing(false);
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
 * @directories: the PATH to search, or NULL. @foreign: the program cannot load the shim.
 */
static void announce(const char *path, const char *directories, bool foreign)
{
	int code;

	if (!path || !mf_follow_is_on() || mf_seccomp_is_on() || !mf_readable_text(path))
		return;
	code = foreign ? -ELIBBAD : mf_follow_find_shim();
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
	return real;
}

/* Builds the new environment on the stack, since this process may be a child that shares its parent's memory. */
#define FOLLOW(envp, foreign)                                                   \
	do {                                                                    \
		bool without = (foreign);                                       \
		size_t room = mf_follow_room((envp), without);                  \
										\
		if (room)                                                       \
			(envp) = mf_follow_add((envp), alloca(room), without); \
	} while (0)

int mf_exec_path(const char *path, char *const argv[], char *const envp[])
{
	bool foreign = is_foreign(AT_FDCWD, path, NULL);

	FOLLOW(envp, foreign);
	announce(path, NULL, foreign);
	return failed(begin()->execve(path, argv, envp));
}

/*
 * Makes the system call execveat(2) directly, because older C libraries lack the function execveat(). In newer C
 * libraries, the function only makes the system call.
 */
int mf_exec_at(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	bool foreign = is_foreign(fd, path, NULL);

	FOLLOW(envp, foreign);
	if (fd == AT_FDCWD || (path && mf_readable_text(path) && *path == '/'))
		announce(path, NULL, foreign);
	return failed((int)begin()->syscall(SYS_execveat, fd, path, argv, envp, flags));
}

static int execute_name(const char *file, char *const argv[], char *const envp[])
{
	const char *directories = directories_of(file);
	bool foreign = is_foreign(AT_FDCWD, file, directories);

	FOLLOW(envp, foreign);
	announce(file, directories, foreign);
	return failed(begin()->execvpe(file, argv, envp));
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
	/* Unlike the other functions, fexecve() fails if @envp is NULL. */
	if (envp)
		FOLLOW(envp, is_foreign(fd, "", NULL));
	return failed(begin()->fexecve(fd, argv, envp));
}

/* The child of posix_spawn() shares this process's memory, including this stack, until it calls exec. */

static int spawned(int code, const pid_t *pid)
{
	if (!code)
		mf_limits_spawned(*pid);
	return code;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	bool foreign = is_foreign(AT_FDCWD, path, NULL);
	pid_t own;

	FOLLOW(envp, foreign);
	announce(path, NULL, foreign);
	return spawned(mf_start()->posix_spawn(pid ? pid : &own, path, actions, attributes, argv, envp),
		       pid ? pid : &own);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	const char *directories = directories_of(file);
	bool foreign = is_foreign(AT_FDCWD, file, directories);
	pid_t own;

	FOLLOW(envp, foreign);
	announce(file, directories, foreign);
	return spawned(mf_start()->posix_spawnp(pid ? pid : &own, file, actions, attributes, argv, envp),
		       pid ? pid : &own);
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
