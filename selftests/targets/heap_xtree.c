// SPDX-License-Identifier: GPL-2.0
// Allocates all kinds of blocks: blocks allocated in inlined and recursive functions and inside libc, empty blocks, and
// resized blocks. Leaves blocks live at the end. With "freed", also frees blocks; with "threads", threads free each
// other's blocks.

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[64];
static int n_kept;

static void keep(void *block)
{
	kept[n_kept++] = block;
}

static inline __attribute__((always_inline)) void *inlined(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) static void *leaf(size_t size)
{
	return inlined(size);
}

__attribute__((noinline)) static void *twice(size_t size)
{
	void *first = leaf(size);

	keep(leaf(size + 1));
	return first;
}

__attribute__((noinline)) static void descend(int depth, size_t size)
{
	if (depth)
		descend(depth - 1, size);
	keep(malloc(size));
}

__attribute__((noinline)) static void drop(void *block)
{
	free(block);
	/* Prevents a tail call, so that this function has a frame. */
	__asm__ volatile("");
}

static inline __attribute__((always_inline)) void drop_inlined(void *block)
{
	drop(block);
}

__attribute__((noinline)) static void drop_deep(int depth, void *block)
{
	if (depth)
		drop_deep(depth - 1, block);
	else
		drop(block);
	__asm__ volatile("");
}

__attribute__((noinline)) static void *resize(void *block, size_t size)
{
	block = realloc(block, size);
	__asm__ volatile("");
	return block;
}

static void live(void)
{
	for (int i = 0; i < 5; i++)
		keep(twice(100 * (size_t)i));
	descend(7, 33);
	descend(2, 0);
	free(kept[3]);
	kept[3] = NULL;
	keep(calloc(7, 11));
	keep(strdup("words"));
	keep(memalign(64, 1000));
	keep(realloc(malloc(10), 5000));
	kept[0] = realloc(kept[0], 3);
	keep(leaf(0));
}

/*
 * Calls live(), which leaves live blocks behind, and then frees blocks, both at call sites that only free and at call
 * sites that also allocate.
 */
static void freed(void)
{
	void *block;
	FILE *file;

	live();
	for (int i = 5; i < 10; i++)
		drop(kept[i]);
	for (int i = 0; i < 3; i++)
		drop_inlined(leaf(7 + (size_t)i));
	drop_deep(90, leaf(12));
	drop_deep(3, leaf(13));
	drop(leaf(0));
	drop(NULL);
	drop(resize(NULL, 40));
	block = leaf(1000);
	block = resize(block, 1000);
	block = resize(block, 10);
	block = resize(block, 100000);
	block = resize(resize(leaf(0), 20), 30);
	drop(block);
	drop(memalign(4096, 300));
	drop(leaf(5000000));
	/* libc frees a block that it has allocated. */
	file = fopen("/dev/null", "r");
	if (file)
		fclose(file);
}

#define THREADS 4
#define ROUNDS	20000

static void *shared[THREADS][256];

static void *work(void *data)
{
	unsigned int own = (unsigned int)(size_t)data;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned int other = (own + (unsigned int)i) % THREADS, slot = (unsigned int)i % 256;
		void *block = __atomic_exchange_n(&shared[other][slot],
						  leaf(16 + (size_t)i % 100), __ATOMIC_ACQ_REL);

		drop(block);
	}
	return NULL;
}

/* The threads pass blocks to each other. At the end, all blocks of the threads are freed. */
static void threads(void)
{
	pthread_t ids[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, work, (void *)i))
			exit(1);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	for (size_t i = 0; i < THREADS * 256; i++)
		drop(shared[i / 256][i % 256]);
}

static void emptied(void)
{
	kept[0] = resize(leaf(100), 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = { { "freed", freed }, { "threads", threads }, { "emptied", emptied } };

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			return 0;
		}
	}
	if (argc > 1)
		free(leaf(100)); /* with any other argument, no blocks are live at the end */
	else
		live();
	return 0;
}
