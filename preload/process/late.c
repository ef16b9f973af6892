// SPDX-License-Identifier: GPL-2.0
// Starts the shim in a process that already runs (massif-ctl attach --heap).
//
// The shim is then the last object in the dynamic linker's list, and nothing refers to its functions. So the words
// through which the objects call the allocation functions are collected here (patch/slots.c); massif-ctl writes them
// while all threads are stopped, together with the word that makes the shim count. The constructor runs in a thread
// that massif-ctl has borrowed, on a stack of massif-ctl's, and changes nothing that the program can see.

#include "late.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/blocks.h"
#include "model/model.h"
#include "protocol/late.h"
#include "core/clock.h"
#include "core/cxx_library.h"
#include "core/definitions.h"
#include "core/objects.h"
#include "core/own_memory.h"
#include "core/real.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/stack_bounds.h"
#include "core/thread.h"
#include "core/xstate.h"
#include "stack/context.h"
#include "stack/depth.h"
#include "stack/rowcache.h"
#include "patch/object_loaded.h"
#include "patch/slots.h"
#include "syscall.h"

/* Volatile: massif-ctl has changed its initial value in the file. */
static volatile struct mf_late late __attribute__((used, aligned(64))) = { .magic = MF_LATE_MAGIC, .code = 1 };

bool mf_late_is_wanted(void)
{
	return late.wanted;
}

static void explain(const char *reason)
{
	for (uint32_t i = 0; i < MF_LATE_REASON_MAX - 1 && reason[i]; i++)
		late.reason[i] = reason[i];
}

static int fail(int code, const char *reason)
{
	explain(reason);
	return code;
}

static uint64_t count_objects(void)
{
	uint64_t n = 0;

	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		n++;
	return n;
}

/* Maps the session memory and prepares everything but the words. Returns 0 or -errno. */
static int prepare_session(void)
{
	bool has_word = mf_session_make_word();
	int code = has_word ? mf_store_attach(&mf_session_store, late.memory, NULL) : -ENOMEM;

	close(late.memory);
	if (code)
		return fail(code, "its session memory cannot be mapped");
	mf_own_memory_note_image();
	mf_clock_start();
	mf_depth_start();
	mf_stack_start();
	mf_objects_scan();
	mf_rowcache_open(&mf_session_store);
	return 0;
}

/* The shim's variables: the part of its segment that stays writable. */
struct variables {
	char *start, *zero, *end; /* from @zero on, they are zero at first */
	void *copy;		  /* of the bytes before @zero, as they were before the first session */
};

static struct variables kept;

/*
 * Finds the variables that each thread has: all that are declared with __thread. If there are others, so that these do not
 * fill the @bytes of their segment, this copy of the shim cannot start again.
 */
static void find_thread_variables(uint64_t bytes)
{
	const struct {
		uintptr_t start, size;
	} known[] = {
		{ (uintptr_t)&mf_thread_local, sizeof(mf_thread_local) },
#ifdef __x86_64__
		{ (uintptr_t)&mf_xstate_own_stack, sizeof(mf_xstate_own_stack) },
#endif
		{ (uintptr_t)mf_stack_bounds(), sizeof(struct mf_stack_bounds) },
	};
	uintptr_t first = UINTPTR_MAX, sum = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		first = known[i].start < first ? known[i].start : first;
		sum += known[i].size;
	}
	late.thread_offset = (int64_t)(first - (uintptr_t)pthread_self());
	late.thread_bytes = sum == bytes ? bytes : 0;
}

static int find_variables(struct dl_phdr_info *object, size_t size, void *data)
{
	struct variables *variables = data;
	uint64_t thread_bytes = 0;
	char *readonly = NULL;

	if (!mf_definitions_is_mapped(object, PF_R | PF_X, (uintptr_t)find_variables, 1))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		char *start = (char *)(uintptr_t)(object->dlpi_addr + header->p_vaddr);

		if (header->p_type == PT_GNU_RELRO)
			readonly = start + header->p_memsz;
		else if (header->p_type == PT_TLS)
			thread_bytes = header->p_memsz;
		else if (header->p_type == PT_LOAD && header->p_flags & PF_W)
			*variables = (struct variables){ start, start + header->p_filesz, start + header->p_memsz, NULL };
	}
	if (readonly > variables->start)
		variables->start = readonly;
	find_thread_variables(thread_bytes);
	return 1;
}

/* Copies the variables, so that again() can start over. */
static void keep_variables(void)
{
	size_t size;

	dl_iterate_phdr(find_variables, &kept);
	size = (size_t)(kept.zero - kept.start);
	kept.copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept.copy == MAP_FAILED)
		kept.copy = NULL;
	else
		memcpy(kept.copy, kept.start, size);
}

/* The section of the variables that last. */
extern char lasting_start[] __asm__("__start_massif_lasting") __attribute__((visibility("hidden")));
extern char lasting_end[] __asm__("__stop_massif_lasting") __attribute__((visibility("hidden")));

/*
 * Context: other threads may run, and may call functions of the shim, if massif-ctl has been killed meanwhile.
 */
static void restore_variables(const struct variables *variables)
{
	char *copy = variables->copy;
	size_t before = (size_t)(lasting_start - variables->start), after = (size_t)(lasting_end - variables->start);
	uint64_t page = getauxval(AT_PAGESZ);
	char *whole = (char *)(((uintptr_t)variables->zero + page - 1) & ~(page - 1));

	memcpy(variables->start, copy, before);
	memcpy(lasting_end, copy + after, (size_t)(variables->zero - lasting_end));
	/* Pages that no byte of the file is in are anonymous: the kernel makes new ones. */
	if (whole > variables->end || madvise(whole, (size_t)(variables->end - whole), MADV_DONTNEED))
		whole = variables->end;
	memset(variables->zero, 0, (size_t)(whole - variables->zero));
}

static int prepare(void)
{
	const struct mf_late_word *words;
	const char *reason = NULL;
	uint64_t active;
	int code = prepare_session();

	if (code)
		return code;
	mf_slots_begin();
	mf_session_store.header->late_objects_error = mf_object_loaded_prepare(mf_slots_add);
	code = mf_slots_end(&words, (uint32_t *)&late.n_words, &reason);
	if (code)
		return fail(code, reason);
	late.words = (uintptr_t)words;
	mf_blocks_set_distance(&mf_session_store, mf_real_distance());
	mf_model_attempt(&mf_session_store, 0);
	__atomic_store_n(&mf_session_store.header->pid, getpid(), __ATOMIC_RELEASE);
	late.counts = (uint64_t)mf_session_prepare(&active);
	late.active = active;
	late.objects = (uintptr_t)&_r_debug;
	late.n_objects = count_objects();
	return 0;
}

static void again(void);

void mf_late_start(void)
{
	const char *missing;
	int saved, code;

	mf_thread_local.inside = true;
	missing = mf_real_resolve_late();
	if (missing) {
		explain("its C library is too old for this shim");
		late.code = -ENOSYS;
		return;
	}
	saved = errno;
	mf_stack_bounds_set_first(late.first_thread);
	if (!kept.copy)
		keep_variables();
	mf_syscall_start();
	mf_cxx_library_start_late();
	mf_xstate_start();
	mf_seccomp_on = late.restricted;
	code = prepare();
	/* A session that will not be used is in the way of the program's limits, and of the next attach. */
	if (code && mf_session_store.header)
		mf_store_detach(&mf_session_store);
	late.again = kept.copy && late.thread_bytes ? (uintptr_t)again : 0;
	late.code = code;
	mf_thread_local.inside = false;
	errno = saved;
}

/*
 * Starts over. Context: no thread was in the shim when the call began, and none has variables of the shim that are not
 * zero. All other threads are stopped, unless massif-ctl is killed.
 */
static void again(void)
{
	const struct variables variables = kept;
	const struct mf_late request = late;

	mf_thread_forget();
	if (mf_session_store.header)
		mf_store_detach(&mf_session_store);
	restore_variables(&variables);
	memcpy((void *)(uintptr_t)&late, &request, sizeof(request));
	kept = variables;
	mf_late_start();
}
