// SPDX-License-Identifier: GPL-2.0
// Changes its address space in every possible way, at random, and saves /proc/self/maps at many points.
//
// torture SEED STEPS [WORD...]: threads=N, fork, vfork, storm, share, killed, traced, vdso, uprobe, only=OPERATION,
// exec (executes itself twice at the end), exec-by-thread. Without any WORD, performs random operations.
// torture_counts.h describes the files in $TORTURE_MAPS.
#include "torture_engine.h"
#include "torture_lives.h"
#include "torture_maps.h"
#include "torture_odd.h"

#define COUNT(ops)	(sizeof(ops) / sizeof((ops)[0]))

static struct op ops[TORTURE_OPS];
static unsigned int n_ops;
static int only = -1;		/* index of the operation that is executed in half of all iterations; -1: none */

static void add_ops(const struct op *more, unsigned int n)
{
	while (n--) {
		snprintf(counts->ops[n_ops].name, sizeof(counts->ops[0].name), "%s", more->name);
		ops[n_ops++] = *more++;
	}
}

static void run(unsigned int i)
{
	int error = ops[i].run();

	count(&counts->ops[i].ran);
	if (error) {
		count(&counts->ops[i].refused);
		counts->ops[i].error = error;
	}
}

static void work(int steps, bool alone)
{
	while (steps > 0) {
		unsigned int i = rnd(n_ops);

		if (only >= 0 && rnd(2))
			i = only;
		else if (ops[i].rare && rnd(ops[i].rare))
			continue;
		if (ops[i].alone && !alone)
			continue;
		steps--;
		run(i);
	}
}

/* Executes random operations, and saves the maps at four points: after each quarter of the operations. */
static void work_alone(int steps)
{
	int i;

	for (i = 0; i < 4; i++) {
		work(steps / 4, true);
		moment();
	}
}

static const char *word_value(char **words, const char *name)
{
	size_t len = strlen(name);

	for (; *words; words++)
		if (!strncmp(*words, name, len) && (!(*words)[len] || (*words)[len] == '='))
			return *words + len + ((*words)[len] == '=');
	return NULL;
}

static bool has(char **words, const char *word)
{
	return word_value(words, word);
}

/* Tries the operation @what once. If it fails, the operation is counted as refused by the kernel. */
static void try_once(const char *name, int (*what)(void))
{
	unsigned int i = n_ops;

	add_ops(&(struct op){ name, what, true, 1U << 30 }, 1);
	run(i);
}

static void *exec_again(void *arg)
{
	while (!__atomic_load_n(&execs, __ATOMIC_ACQUIRE))
		sched_yield();
	execv("/proc/self/exe", arg);
	_exit(7);
}

static void end(char **argv)
{
	int n = execs;
	bool again = n < 3 && (has(argv, "exec") || has(argv, "exec-by-thread"));
	char next[16];
	pthread_t by;

	if (again && has(argv, "exec-by-thread")) {
		/*
		 * Create the thread that calls exec before saving the maps. This thread waits until the maps have been
		 * saved.
		 */
		execs = 0;
		if (pthread_create(&by, NULL, exec_again, argv))
			exit(7);
		usleep(50000);
	}
	snprintf(next, sizeof(next), "%d", n + 1);
	/*
	 * Change the environment variable in place: setenv() would allocate, which must not happen once the maps have
	 * been saved.
	 */
	if (again)
		memcpy(getenv("TORTURE_EXECS"), next, 2);
	if (again)
		count(&counts->spaces);
	if (!execs) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%d.%d", maps_dir, getpid(), n);
		copy_maps(path);
		count(&counts->saved);
		__atomic_store_n(&execs, n, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	save_maps();
	if (again)
		execv("/proc/self/exe", argv);
	_exit(again ? 7 : 0);
}

int main(int argc, char **argv)
{
	const char *count_text = getenv("TORTURE_EXECS"), *value;
	uint64_t seed;
	int steps;

	maps_dir = getenv("TORTURE_MAPS");
	if (argc < 3 || !maps_dir)
		return 2;
	execs = count_text ? atoi(count_text) : 1;
	seed = atoi(argv[1]);
	state = seed + 1000 * execs;
	steps = atoi(argv[2]);
	counts_open();
	add_ops(map_ops, COUNT(map_ops));
	add_ops(odd_ops, COUNT(odd_ops));
	value = word_value(argv, "only");
	for (unsigned int i = 0; value && i < n_ops; i++)
		if (!strcmp(ops[i].name, value))
			only = i;
	if (value && only < 0)
		return 2;
	/*
	 * The arena, the memory that the operations work on, has a guard page on either side: no other mapping can
	 * merge with the arena, or be overwritten by mistake.
	 */
	arena = mmap(NULL, ARENA + 2 * PAGE, PROT_NONE, ANON, -1, 0);
	if (arena == MAP_FAILED)
		return 2;
	arena += PAGE;

	if (has(argv, "vdso"))
		try_once("vdso", move_vdso);
	if (has(argv, "uprobe"))
		try_once("uprobe", be_probed);
	work_alone(steps);
	if (has(argv, "fork"))
		with_fork(steps);
	if (has(argv, "vfork"))
		with_vfork();
	if (has(argv, "storm"))
		storm(24, 2);
	if (has(argv, "share"))
		with_sharers(seed), with_survivor(seed);
	if (has(argv, "traced"))
		with_tracer();
	value = word_value(argv, "threads");
	threads_fork = value && has(argv, "storm");
	if (value)
		with_threads(seed, steps, *value ? atoi(value) : 4);
	if (has(argv, "killed"))
		with_killed(seed, 5);
	work_alone(steps / 2);
	end(argv);
}
