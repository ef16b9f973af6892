// SPDX-License-Identifier: GPL-2.0
// The shim's own versions of C library functions that depend on nothing else in the C library.
//
// The program may define functions of these names, or preload a library that does (thread and memory sanitizers define
// most of them). The shim must not run that code, and that code must not see the shim's calls. All functions here are
// hidden, so the linker binds the shim's calls to them. That includes the calls that the compiler generates for loops
// and copies, and calls from libgcc's unwinder where that is linked in.

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bare.h"

#ifdef __x86_64__

/* The initial stack: argc, arguments, NULL, environment, NULL, auxiliary vector. Set by the dynamic linker. */
extern void *__libc_stack_end;

/*
 * For loading and storing eight bytes at any address. __builtin_memcpy() cannot be used for this, because without
 * optimisation it would call this file's own memcpy().
 */
typedef uint64_t word __attribute__((may_alias, aligned(1)));

/*
 * Copies words rather than using "rep movsb", because most copies are short and the ranges may overlap with only a
 * small offset between them.
 */
static void copy_upwards(unsigned char *to, const unsigned char *from, size_t size)
{
	for (; size >= sizeof(word); size -= sizeof(word)) {
		*(word *)to = *(const word *)from;
		to += sizeof(word);
		from += sizeof(word);
	}
	while (size--)
		*to++ = *from++;
}

static void copy_downwards(unsigned char *to, const unsigned char *from, size_t size)
{
	for (; size >= sizeof(word); size -= sizeof(word))
		*(word *)(to + size - sizeof(word)) = *(const word *)(from + size - sizeof(word));
	while (size--)
		to[size] = from[size];
}

void *memcpy(void *to, const void *from, size_t size)
{
	copy_upwards(to, from, size);
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	if ((uintptr_t)to - (uintptr_t)from >= size)
		copy_upwards(to, from, size);
	else
		copy_downwards(to, from, size);
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
	return start;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *left = a, *right = b;

	for (size_t i = 0; i < size; i++)
		if (left[i] != right[i])
			return left[i] - right[i];
	return 0;
}

void *memchr(const void *bytes, int byte, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		if (at[i] == (unsigned char)byte)
			return (void *)(uintptr_t)(at + i);
	return NULL;
}

size_t strnlen(const char *text, size_t most)
{
	size_t length = 0;

	while (length < most && text[length])
		length++;
	return length;
}

size_t strlen(const char *text)
{
	return strnlen(text, PTRDIFF_MAX);
}

int strncmp(const char *a, const char *b, size_t most)
{
	for (size_t i = 0; i < most; i++) {
		if (a[i] != b[i])
			return (unsigned char)a[i] - (unsigned char)b[i];
		if (!a[i])
			break;
	}
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int character)
{
	for (;; text++) {
		if (*text == (char)character)
			return (char *)(uintptr_t)text;
		if (!*text)
			return NULL;
	}
}

size_t strcspn(const char *text, const char *rejected)
{
	size_t length = 0;

	while (text[length] && !strchr(rejected, text[length]))
		length++;
	return length;
}

char *strstr(const char *text, const char *wanted)
{
	size_t length = strlen(wanted);

	for (;; text++) {
		if (!strncmp(text, wanted, length))
			return (char *)(uintptr_t)text;
		if (!*text)
			return NULL;
	}
}

char *stpcpy(char *to, const char *from)
{
	size_t length = strlen(from);

	memcpy(to, from, length + 1);
	return to + length;
}

char *strcpy(char *to, const char *from)
{
	stpcpy(to, from);
	return to;
}

char *strncpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	memcpy(to, from, length);
	memset(to + length, 0, size - length);
	return to;
}

/* strerror() need not return a message here: the shim reports only error codes, and massif-ctl writes the messages. */
char *strerror(int number)
{
	static char none[] = "";

	return none;
}

char *getenv(const char *name)
{
	size_t length = strlen(name);

	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, length) && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

/*
 * The auxiliary vector follows the initial environment. It cannot be found through environ, because the program may
 * have moved or shortened the environment.
 */
static const ElfW(auxv_t) *find_vector(void)
{
	long argc = *(long *)__libc_stack_end;
	char **environment = (char **)__libc_stack_end + 1 + argc + 1;

	while (*environment)
		environment++;
	return (const void *)(environment + 1);
}

unsigned long getauxval(unsigned long type)
{
	static const ElfW(auxv_t) *vector; /* the auxiliary vector; found once, while the process has one thread */

	if (!vector)
		vector = find_vector();
	for (const ElfW(auxv_t) *entry = vector; entry->a_type != AT_NULL; entry++)
		if (entry->a_type == type)
			return entry->a_un.a_val;
	return 0;
}

int getpagesize(void)
{
	return 4096;
}

/* In glibc a pthread_t is the address of the thread's descriptor, to which the thread pointer points. */
pthread_t pthread_self(void)
{
	return (pthread_t)__builtin_thread_pointer();
}

void _exit(int status)
{
	for (;;)
		__wrap_syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

#endif
