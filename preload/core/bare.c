// SPDX-License-Identifier: GPL-2.0
// System calls that the shim makes directly, bypassing the C library.
//
// The program, or another preloaded library, may define functions with the same names as the C library's, for example
// to count the program's calls. The shim's calls must not reach these functions. In addition, some of the C library's
// functions are cancellation points. So the linker redirects all system call functions that the shim uses to the ones
// in this file (--wrap, build.mk).

#include "bare.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "libc.h"

#ifdef __x86_64__

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	if ((unsigned long)result < -4095ul)
		return result;
	/*
	 * errno belongs to the C library, so mf_libc_bind() must find it first. That has usually happened by the first
	 * event, but this code may run earlier.
	 */
	mf_libc_bind();
	errno = (int)-result;
	return -1;
}

#else

long __real_syscall(long number, ...);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return __real_syscall(number, a, b, c, d, e, f);
}

#endif

/* Widens an argument to the size of a register. */
#define W(value) ((long)(value))

#define PAD(number, a, b, c, d, e, f, ...) __wrap_syscall(number, a, b, c, d, e, f)

/*
 * Defines __wrap_@name(), which makes the system call @number with the arguments that follow @parameters, and returns
 * the result as @type.
 */
#define BARE(type, name, number, parameters, ...)                         \
	type __wrap_##name parameters MF_HIDDEN;                          \
	type __wrap_##name parameters                                     \
	{                                                                 \
		return (type)PAD(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0); \
	}

BARE(int, close, SYS_close, (int fd), W(fd))
BARE(int, fcntl, SYS_fcntl, (int fd, int command, long more), W(fd), W(command), more)
/* Use the same system call as glibc's fstat(), because some sandboxes allow only that one. */
BARE(int, fstat, SYS_newfstatat, (int fd, struct stat *status), W(fd), W(""), W(status), W(AT_EMPTY_PATH))
BARE(int, ftruncate, SYS_ftruncate, (int fd, off_t size), W(fd), W(size))
/* Use the same system call as glibc's getrlimit(). */
BARE(int, getrlimit, SYS_prlimit64, (int resource, struct rlimit *limit), 0, W(resource), 0, W(limit))
BARE(int, madvise, SYS_madvise, (void *at, size_t size, int advice), W(at), W(size), W(advice))
BARE(int, memfd_create, SYS_memfd_create, (const char *name, unsigned int flags), W(name), W(flags))
BARE(int, mprotect, SYS_mprotect, (void *at, size_t size, int rights), W(at), W(size), W(rights))
BARE(int, munmap, SYS_munmap, (void *at, size_t size), W(at), W(size))
BARE(pid_t, getpid, SYS_getpid, (void))
BARE(uid_t, getuid, SYS_getuid, (void))
BARE(uid_t, geteuid, SYS_geteuid, (void))
BARE(ssize_t, pread, SYS_pread64, (int fd, void *to, size_t size, off_t from), W(fd), W(to), W(size), W(from))
BARE(ssize_t, readlink, SYS_readlink, (const char *path, char *to, size_t size), W(path), W(to), W(size))
BARE(ssize_t, write, SYS_write, (int fd, const void *from, size_t size), W(fd), W(from), W(size))
BARE(void *, mmap, SYS_mmap, (void *at, size_t size, int rights, int flags, int fd, off_t from),
     W(at), W(size), W(rights), W(flags), W(fd), W(from))

char *__wrap_getcwd(char *to, size_t size) MF_HIDDEN;

char *__wrap_getcwd(char *to, size_t size)
{
	return __wrap_syscall(SYS_getcwd, W(to), W(size), 0, 0, 0, 0) < 0 ? NULL : to;
}
