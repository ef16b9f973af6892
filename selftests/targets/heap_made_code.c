// SPDX-License-Identifier: GPL-2.0
// heap_made_code LIBRARY: unloads the library, maps a copy of its code at the same address, and allocates in this copy,
// which belongs to no object. Then loads the library itself at that address again and allocates in it. Both times the
// stack contains the same words, but the call stacks differ.

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TIMES 8

typedef void *allocation(size_t size);

struct place {
	uintptr_t function, start, end;
};

static int find_place(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t start = UINTPTR_MAX, end = 0;
	struct place *place = data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + info->dlpi_phdr[i].p_memsz > end ? at + info->dlpi_phdr[i].p_memsz : end;
	}
	if (place->function < start || place->function >= end)
		return 0;
	place->start = start & ~(uintptr_t)4095;
	place->end = (end + 4095) & ~(uintptr_t)4095;
	return 1;
}

static void *take(const char *path, struct place *place)
{
	void *library = dlopen(path, RTLD_NOW);

	if (library)
		place->function = (uintptr_t)dlsym(library, "plugin_allocate");
	if (!library || !place->function || !dl_iterate_phdr(find_place, place)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void *copy_of(const struct place *place)
{
	size_t size = place->end - place->start;
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memcpy(copy, (const void *)place->start, size);
}

static void put(const struct place *place, const void *copy)
{
	size_t size = place->end - place->start;
	void *at = mmap((void *)place->start, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == (void *)place->start)
		memcpy(at, copy, size);
	else
		puts("the place is taken");
}

int main(int argc, char **argv)
{
	struct place place, again;
	void *library, *copy, *kept = NULL;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc < 2)
		return 2;
	library = take(argv[1], &place);
	copy = copy_of(&place);
	dlclose(library);
	put(&place, copy);
	/* Call the function from a single site, so that the return address is always the same. */
	for (int i = 0; i <= TIMES; i++) {
		if (i == TIMES) {
			munmap((void *)place.start, place.end - place.start);
			take(argv[1], &again);
			printf("%s\n", again.function == place.function ? "fine" : "another address");
		}
		free(kept);
		kept = ((allocation *)place.function)(i == TIMES ? 600000 : 500000);
	}
	/* Free a block, because massif checks whether there is a new peak before a free decreases the total. */
	free(malloc(1000));
	return kept ? 0 : 3;
}
