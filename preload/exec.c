// SPDX-License-Identifier: GPL-2.0
// The functions that execute a program over this one: massif-ctl is told before, and when it failed.
//
// Without that it could not tell a process that executed a program which ended at once from one that
// ended itself. The program gets what it would have got.

#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "follow.h"
#include "join.h"
#include "session.h"
#include "start.h"

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

static int failed(int result)
{
	int saved = errno;

	mf_session_executing(false);
	mf_join_executing(false);
	errno = saved;
	return result;
}

static const struct mf_real *begin(void)
{
	const struct mf_real *real = mf_start();

	mf_session_executing(true);
	mf_join_executing(true);
	return real;
}

/* On the stack, since this may be a child that shares its parent's memory. */
#define FOLLOW(envp)                                                  \
	do {                                                          \
		size_t room = mf_follow_room(envp);                   \
                                                                      \
		if (room)                                             \
			(envp) = mf_follow_add((envp), alloca(room)); \
	} while (0)

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	FOLLOW(envp);
	return failed(begin()->execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	char *const *envp = environ;

	FOLLOW(envp);
	return failed(begin()->execve(path, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	char *const *envp = environ;

	FOLLOW(envp);
	return failed(begin()->execvpe(file, argv, envp));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	FOLLOW(envp);
	return failed(begin()->execvpe(file, argv, envp));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	FOLLOW(envp);
	return failed(begin()->fexecve(fd, argv, envp));
}

/* How many arguments there are before the NULL that ends them. */
static size_t count(const char *arg, va_list args)
{
	size_t n = 0;

	for (; arg; arg = va_arg(args, const char *))
		n++;
	return n;
}

/* Copies them, with the NULL. */
static void gather(char **argv, const char *arg, va_list args)
{
	for (; arg; arg = va_arg(args, const char *))
		*argv++ = (char *)arg;
	*argv = NULL;
}

/* As above. */
#define GATHER(argv, arg)                                                     \
	do {                                                                  \
		va_list words;                                                \
		size_t n;                                                     \
                                                                              \
		va_start(words, arg);                                         \
		n = count(arg, words);                                        \
		va_end(words);                                                \
		(argv) = alloca((n + 1) * sizeof(*(argv)));                   \
		va_start(words, arg);                                         \
		gather(argv, arg, words);                                     \
		va_end(words);                                                \
	} while (0)

EXPORT int execl(const char *path, const char *arg, ...)
{
	char **argv;

	GATHER(argv, arg);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char **argv;

	GATHER(argv, arg);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char **argv, *const *envp;
	va_list args;

	GATHER(argv, arg);
	va_start(args, arg);
	count(arg, args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}
