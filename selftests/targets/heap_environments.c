// SPDX-License-Identifier: GPL-2.0
// A thread with a small stack executes programs with large environments: heap_environments [memory]. With "memory", the
// process has no address space left. Prints "fine" if each program had its whole environment, and if nothing was left mapped.

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK	 16384
#define MANY	 20000u
#define ROOM	 2048u /* STACK_ROOM_MAX */
#define ROUNDS	 100
#define WORD	 32
#define SELF	 "/proc/self/exe"

static char **environment;
static unsigned int variables;
static const char *number_text, *preload;

/* Ways to execute a program: in a child of fork() or vfork(), or by a function that does both. */
static const struct way {
	int (*execute)(const char *path, char *const *args, char *const *environment);
	int (*spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attributes, char *const *args, char *const *environment);
	bool forks;
} ways[] = {
	{ .execute = execve, .forks = true },
	{ .execute = execve },
	{ .execute = execvpe },
	{ .spawn = posix_spawn },
	{ .spawn = posix_spawnp },
};

static int begin(const struct way *way, char *const *args)
{
	pid_t pid = -1;

	if (way->spawn)
		return way->spawn(&pid, SELF, NULL, NULL, args, environment) ? -1 : pid;
	pid = way->forks ? fork() : vfork();
	if (!pid) {
		way->execute(SELF, args, environment);
		_exit(100);
	}
	return pid;
}

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void fail(const char *text, unsigned long number)
{
	printf("%s %lu, %u variables\n", text, number, variables);
	fflush(stdout);
	_exit(1);
}

static void execute(size_t way)
{
	char *const args[] = { "heap_environments", "child", (char *)number_text, NULL };
	int pid = begin(&ways[way], args), status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("way", way);
}

static void *execute_all(void *data)
{
	for (size_t way = 0; way < WAYS; way++)
		execute(way);
	return data;
}

/* The shim learns of the end of a thread only if the thread has allocated. */
static void *execute_with_vfork(void *data)
{
	void *volatile block = malloc(1);

	free(block);
	execute(1);
	return data;
}

/* A file that does not exist. */
static void *execute_in_vain(void *data)
{
	for (int i = 0; i < ROUNDS; i++)
		execve("/no/such/program", (char *const[]){ "x", NULL }, environment);
	return data;
}

static void in_a_thread(void *(*run)(void *data))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	if (pthread_create(&thread, &attributes, run, NULL) || pthread_join(thread, NULL))
		fail("thread", 0);
}

static void make(unsigned int n)
{
	static char text[16];

	variables = n;
	environment = calloc(n + 1, sizeof(*environment));
	for (unsigned int i = 0; i < n; i++) {
		environment[i] = malloc(WORD);
		snprintf(environment[i], WORD, "V%u=%u", i, i);
	}
	snprintf(text, sizeof(text), "%u", n);
	number_text = text;
}

/* Address space of the process in pages. */
static unsigned long size(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu", &pages) != 1)
		fail("statm", 0);
	fclose(file);
	return pages;
}

static void leaves_nothing(void *(*run)(void *data), int rounds)
{
	unsigned long before;

	in_a_thread(run);
	before = size();
	for (int i = 0; i < rounds; i++)
		in_a_thread(run);
	if (size() > before)
		fail("pages are left:", size() - before);
}

/* The program with the large environment: counts its variables. */
static int count(unsigned int expected)
{
	unsigned int n = 0;

	for (char **at = environ; *at; at++) {
		char word[WORD];

		snprintf(word, sizeof(word), "V%u=%u", n, n);
		n += !strcmp(*at, word);
	}
	return n == expected ? 0 : 1;
}

static void fill_address_space(void)
{
	struct rlimit limit = { 1ul << 30, RLIM_INFINITY };

	if (setrlimit(RLIMIT_AS, &limit))
		fail("setrlimit", 0);
	for (size_t bytes = 1ul << 29; bytes >= 4096; bytes /= 2)
		while (mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			;
}

int main(int argc, char **argv)
{
	unsigned int limit;

	if (argc == 3)
		return count((unsigned int)atoi(argv[2]));
	/* How many variables fit into the room on the stack, beside those for the shim. */
	preload = getenv("LD_PRELOAD");
	limit = (ROOM - 2 - (preload ? (unsigned int)strlen(preload) + 11 : 0)) / 8 - 3;
	if (argc == 2) {
		make(MANY);
		fill_address_space();
		begin(&ways[0], (char *const[]){ "heap_environments", "child", (char *)number_text, NULL });
		wait(NULL);
		puts("fine");
		return 0;
	}
	for (unsigned int i = 0; i < 4; i++) {
		make((unsigned int[]){ limit, limit + 1, 10 * limit, MANY }[i]);
		in_a_thread(execute_all);
	}
	leaves_nothing(execute_in_vain, 1);
	leaves_nothing(execute_with_vfork, 3);
	puts("fine");
	return 0;
}
