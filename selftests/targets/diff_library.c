// SPDX-License-Identifier: GPL-2.0
// diff_library MODE: allocates inside the C library, in threads, and before and after main. Ends in different ways.

#include <dirent.h>
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile seen;
static const char *mode;

static void see(void *block)
{
	seen = block;
}

static void strings(void)
{
	char *text = NULL, *line = NULL;
	size_t size = 0;
	FILE *file;

	see(calloc(7, 13));
	see(strdup("one"));
	see(strndup("one and a half", 5));
	if (asprintf(&text, "%d of %s", 12,
		     "a length that is more than a hundred bytes, so that "
		     "the buffer which it is first printed to has to grow once or twice") < 0)
		abort();
	file = fmemopen(text, strlen(text), "r");
	if (!file || getline(&line, &size, file) < 0)
		abort();
	see(realpath("/", NULL));
	see(getcwd(NULL, 0));
}

/* The C library allocates the buffer of a stream when the stream is first used. */
static void files(void)
{
	FILE *file = fopen("/dev/null", "w"), *memory;
	char *text = NULL;
	size_t size;

	if (!file)
		abort();
	fprintf(file, "%d\n", 5);
	printf("%d\n", 5);
	memory = open_memstream(&text, &size);
	fprintf(memory, "%0200d", 7);
	fflush(memory);
}

static void *in_thread(void *argument)
{
	void *block = malloc((size_t)argument);

	see(block);
	see(malloc(48));
	return block;
}

static void threads(void)
{
	for (size_t i = 1; i <= 6; i++) {
		pthread_t thread;
		void *block;

		if (pthread_create(&thread, NULL, in_thread, (void *)(i * 1000)))
			abort();
		pthread_join(thread, &block);
		if (i % 2)
			free(block);
	}
}

static pthread_key_t key;

static void destroy(void *block)
{
	see(malloc(300));
	see(block);
}

static void *with_key(void *argument)
{
	pthread_setspecific(key, malloc(200));
	return argument;
}

/* The C library calls the destructors of thread-specific data after the thread's start function has returned. */
static void thread_keys(void)
{
	pthread_t thread;

	pthread_key_create(&key, destroy);
	if (pthread_create(&thread, NULL, with_key, NULL))
		abort();
	pthread_join(thread, NULL);
}

static void at_exit(void)
{
	/*
	 * These sizes ensure that when the C library's list of exit handlers is freed, the resulting hole in the heap
	 * is not exactly 16 bytes larger than the next block. Massif's allocator would use such a hole in full for that
	 * block.
	 */
	see(malloc(1100));
	see(strdup("late by some time"));
}

static void exit_handlers(void)
{
	for (int i = 0; i < 40; i++)
		atexit(at_exit);
	see(malloc(700));
}

/* Allocates before main if requested by the mode. */
__attribute__((constructor)) static void before_main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "constructors") == 0) {
		see(malloc(1300));
		see(strdup("early"));
	}
}

__attribute__((destructor)) static void after_main(void)
{
	if (mode && strcmp(mode, "constructors") == 0)
		see(malloc(1700));
}

static void constructors(void)
{
	see(malloc(1500));
}

static void end_exit(void)
{
	see(malloc(100));
	exit(3);
}

static void end_exit_now(void)
{
	see(malloc(100));
	printf("not flushed");
	_exit(4);
}

static void end_abort(void)
{
	see(malloc(100));
	abort();
}

static void end_fault(void)
{
	see(malloc(100));
	*(volatile int *)seen = *(volatile int *)16;
}

static void end_signal(void)
{
	see(malloc(100));
	raise(SIGTERM);
}

/* The child ends first, so the profile that remains in the output file is the parent's. */
static void fork_wait(void)
{
	pid_t pid;

	see(malloc(100));
	pid = fork();
	if (pid == 0) {
		see(malloc(5000));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	see(malloc(200));
}

static void directories(void)
{
	DIR *directory = opendir("/");

	see(malloc(100));
	if (directory)
		closedir(directory);
	see(setlocale(LC_ALL, "C"));
	see(setlocale(LC_ALL, NULL));
}

/* Code with a frame pointer but no symbols or unwind tables, like that of a JIT compiler. */
static void no_symbols(void)
{
	static const unsigned char code[] = {
		0x55,		  /* push %rbp */
		0x48, 0x89, 0xe5, /* mov  %rsp, %rbp */
		0xff, 0xd7,	  /* call *%rdi */
		0x5d,		  /* pop  %rbp */
		0xc3,		  /* ret */
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	memcpy(page, code, sizeof(code));
	((void (*)(void (*)(void)))page)(constructors);
}

/* Loads the plugin from the program's directory, allocates in it, and returns its handle. */
static void *open_plugin(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	void *plugin, *(*allocate)(size_t);

	path[length > 0 ? length : 0] = '\0';
	strcpy(strrchr(path, '/') + 1, "libdiff_plugin.so");
	plugin = dlopen(path, RTLD_NOW);
	if (!plugin)
		abort();
	allocate = (void *(*)(size_t))dlsym(plugin, "diff_plugin_allocate");
	see(allocate(1234));
	return plugin;
}

static void plugin(void)
{
	open_plugin();
	see(malloc(100));
}

static void plugin_closed(void)
{
	dlclose(open_plugin());
	see(malloc(100));
}

static void plugin_reopened(void)
{
	dlclose(open_plugin());
	open_plugin();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "strings", strings },
	{ "files", files },
	{ "threads", threads },
	{ "thread_keys", thread_keys },
	{ "exit_handlers", exit_handlers },
	{ "constructors", constructors },
	{ "end_exit", end_exit },
	{ "end_exit_now", end_exit_now },
	{ "end_abort", end_abort },
	{ "end_fault", end_fault },
	{ "end_signal", end_signal },
	{ "fork_wait", fork_wait },
	{ "plugin", plugin },
	{ "plugin_closed", plugin_closed },
	{ "plugin_reopened", plugin_reopened },
	{ "directories", directories },
	{ "no_symbols", no_symbols },
};

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "";
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(mode, modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}
