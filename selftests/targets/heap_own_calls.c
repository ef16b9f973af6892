// SPDX-License-Identifier: GPL-2.0
// Defines functions with the same names as the C library's system call functions, and prints every call to them. The
// test expects no such calls.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int armed;

static void tell(const char *name)
{
	if (!armed)
		return;
	syscall(SYS_write, 1, name, strlen(name));
	syscall(SYS_write, 1, "\n", 1);
}

#define OWN(name, number)                                                        \
	long own_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
	long own_##name(long a, long b, long c, long d, long e, long f)           \
	{                                                                         \
		tell(#name);                                                      \
		return syscall(number, a, b, c, d, e, f);                         \
	}

OWN(close, SYS_close)
OWN(fcntl, SYS_fcntl)
OWN(fstat, SYS_fstat)
OWN(ftruncate, SYS_ftruncate)
OWN(geteuid, SYS_geteuid)
OWN(getpid, SYS_getpid)
OWN(getrlimit, SYS_getrlimit)
OWN(getuid, SYS_getuid)
OWN(kill, SYS_kill)
OWN(madvise, SYS_madvise)
OWN(memfd_create, SYS_memfd_create)
OWN(mprotect, SYS_mprotect)
OWN(munmap, SYS_munmap)
OWN(pread, SYS_pread64)
OWN(readlink, SYS_readlink)
OWN(sched_yield, SYS_sched_yield)
OWN(write, SYS_write)
OWN(mmap, SYS_mmap)

static void *allocate(void *data)
{
	free(malloc(100));
	return data;
}

int main(int argc, char **argv)
{
	char *words[] = { "true", NULL }, *block;
	pthread_t thread;

	block = malloc(100);
	pthread_create(&thread, NULL, allocate, NULL);
	pthread_join(thread, NULL);
	armed = 1;
	block = realloc(block, 3000);
	if (!fork()) {
		free(malloc(50));
		execvp("true", words);
		_exit(1);
	}
	wait(NULL);
	free(malloc(70));
	if (!vfork()) {
		execvp("true", words);
		_exit(1);
	}
	wait(NULL);
	armed = 0;
	free(block);
	return 0;
}
