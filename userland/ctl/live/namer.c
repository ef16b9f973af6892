// SPDX-License-Identifier: GPL-2.0
// Looks up the names of the contexts of a running profile, in a thread of its own.

#include "namer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/printable.h"
#include "ctl/heap/mapped.h"
#include "ctl/heap/origin.h"
#include "ctl/heap/rowcache.h"
#include "ctl/options/options.h"
#include "model/trie.h"
#include "report/collect.h"
#include "report/moment.h"
#include "report/sites.h"
#include "report/standard.h"
#include "reader.h"

enum {
	CPU_SHARE = 100,     /* a batch may take this part of the time since the last one */
	REST_MS = 20000,     /* but what is new is looked up after this time */
};

/*
 * How many frames are read and how many of their names are looked up. The first pass is enough for most contexts: a label
 * says the innermost call outside of the standard libraries. The second one takes those for which it was not.
 */
static const struct pass {
	uint32_t frames, depth;
} passes[] = {
	{ .frames = 8, .depth = 2 },
	{ .frames = MF_PROFILE_FRAMES_MAX, .depth = 16 },
};

#define PASSES (sizeof(passes) / sizeof(passes[0]))

struct mf_live_namer {
	struct mf_store store; /* a copy of the caller's, with files of its own */
	pid_t pid;
	int pidfd; /* not owned */
	bool pages;
	struct mf_origin origin;
	struct mf_options options;
	struct mf_mapped mapped;
	int event;

	/* The thread, and what it works on. */
	pthread_t thread;
	bool runs; /* the thread was started and not joined */
	struct mf_live_batch batch;
	const struct pass *pass;
	int64_t rests_until; /* when the next batch may begin */

	/* The objects, and the symbolizer for them; they are kept as long as there are no more objects. */
	struct mf_collection objects;
	struct mf_symbolizer *symbolizer;
};

static const enum mf_sites_by sites_by[MF_LIVE_BYS] = {
	[MF_LIVE_BY_SITE] = MF_SITES_BY_SITE,
	[MF_LIVE_BY_FUNCTION] = MF_SITES_BY_FUNCTION,
};

/* Takes the options that concern names from the session, which the program can have changed. */
static int take_options(struct mf_live_namer *namer, struct mf_error *err)
{
	struct mf_options *options = &namer->options;
	int used, ret;

	/* In pages mode, the session does not have them. */
	if (mf_origin_read(&namer->store, &namer->origin) == -ENOMEM)
		return mf_error_set(err, -ENOMEM, "out of memory");
	ret = mf_options_init(options, (int)namer->origin.n_options, err);
	if (ret)
		return ret;
	options->without_budgets = true;
	if (namer->origin.n_options)
		ret = mf_options_parse(options, (int)namer->origin.n_options, namer->origin.options, &used, err);
	options->symbolizer.unreadable = NULL;
	options->symbolizer.loose = NULL;
	return ret;
}

int mf_live_namer_create(const struct mf_store *store, pid_t pid, int pidfd, bool pages,
			 struct mf_live_namer **namer, struct mf_error *err)
{
	struct mf_live_namer *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->store = *store;
	made->store.files = NULL;
	made->pid = pid;
	made->pidfd = pidfd;
	made->pages = pages;
	made->batch.first = made->batch.end = MF_CONTEXT_FIRST;
	made->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = made->event < 0 ? mf_error_set(err, -errno, "eventfd: %s", strerror(errno)) : take_options(made, err);
	if (ret) {
		mf_live_namer_destroy(made);
		return ret;
	}
	mf_mapped_init(&made->mapped, made->options.held);
	mf_rowcache_know_names(&made->options);
	*namer = made;
	return 0;
}

static void forget_labels(struct mf_live_batch *batch)
{
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		for (uint32_t i = 0; batch->labels[by] && i < batch->end - batch->first; i++)
			free(batch->labels[by][i]);
		free(mf_take(batch->labels[by], NULL));
	}
}

static void forget_objects(struct mf_live_namer *namer)
{
	if (namer->symbolizer)
		mf_symbolizer_destroy(mf_take(namer->symbolizer, NULL));
	mf_collection_release(&namer->objects);
	memset(&namer->objects, 0, sizeof(namer->objects));
}

void mf_live_namer_destroy(struct mf_live_namer *namer)
{
	if (!namer)
		return;
	mf_live_namer_wait(namer);
	forget_labels(&namer->batch);
	forget_objects(namer);
	if (namer->mapped.n)
		mf_mapped_deinit(&namer->mapped, &namer->store);
	mf_options_deinit(&namer->options);
	mf_origin_free(&namer->origin);
	if (namer->event >= 0)
		close(namer->event);
	free(namer);
}

int mf_live_namer_fd(const struct mf_live_namer *namer)
{
	return namer->event;
}

/* Reads the objects, and makes a symbolizer for them, unless there are none since the last time. */
static int read_objects(struct mf_live_namer *namer)
{
	uint32_t n = __atomic_load_n(&namer->store.header->n_objects, __ATOMIC_ACQUIRE);
	struct mf_error err;

	if (namer->symbolizer && n <= namer->objects.profile.n_objects)
		return 0;
	forget_objects(namer);
	mf_mapped_look(&namer->mapped, &namer->store, namer->pid, namer->pidfd);
	if (mf_collect_objects(&namer->store, &namer->objects, &err))
		return -ENOMEM;
	namer->objects.profile.pages = namer->pages;
	return mf_symbolizer_create(namer->objects.profile.objects, namer->objects.profile.n_objects,
				    &namer->options.symbolizer, &namer->symbolizer, &err);
}

/* A context of the batch, counted from its first. */
static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_live_namer *namer = source;
	uint32_t depth = mf_trie_frames(&namer->store, namer->batch.first + number, frames, namer->pass->frames);

	for (uint32_t i = 0; i < depth; i++)
		if (frames[i].object >= namer->objects.profile.n_objects)
			frames[i].object = MF_OBJECT_NONE;
	return depth;
}

/* The labels of the stacks that begin with @call. Many stacks of a program that allocates everywhere have the same. */
struct known_labels {
	struct mf_call call;
	const char *labels[MF_LIVE_BYS]; /* of a stack of the batch */
};

struct labelling {
	struct mf_live_namer *namer;
	const struct mf_moment *moment;
	struct mf_bytes text;
	struct known_labels known[256]; /* at the low bits of a hash; a later one takes the place of an earlier one */
};

char *mf_live_label_finish(struct mf_bytes *text)
{
	if (text->size > MF_LIVE_LABEL_MAX)
		text->size = MF_LIVE_LABEL_MAX;
	mf_bytes_add(text, "", 1);
	if (text->failed)
		return NULL;
	mf_printable_clean((char *)text->data);
	return (char *)text->data;
}

/*
 * Returns whether a label may name @call: not if it is in a standard library or, in pages mode, in the C library, which makes
 * the system calls.
 */
static bool is_shown(const struct mf_live_namer *namer, const struct mf_call *call)
{
	return !mf_standard_has(call->location) && !(namer->pages && mf_standard_is_c(call->location));
}

/* Returns how many calls at the start of @stack say less about the program than the next. @stack->n: all do. */
static size_t skip_calls(const struct mf_live_namer *namer, const struct mf_moment_stack *stack)
{
	size_t skipped = 0;

	while (skipped < stack->n && !is_shown(namer, &stack->calls[skipped]))
		skipped++;
	return skipped < stack->n && !namer->pages ? mf_standard_calls(stack->calls, stack->n) : skipped;
}

static bool is_same_call(const struct mf_call *one, const struct mf_call *other)
{
	return one->location == other->location && one->frame.pc == other->frame.pc && one->frame.object == other->frame.object;
}

static struct known_labels *known_for(struct labelling *labelling, const struct mf_call *call)
{
	size_t n = sizeof(labelling->known) / sizeof(labelling->known[0]);

	return &labelling->known[mf_hash(call->frame.pc, (uintptr_t)call->location) % n];
}

static int label_as_known(struct mf_live_batch *batch, uint32_t number, const struct known_labels *known)
{
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		batch->labels[by][number] = strdup(known->labels[by]);
		if (!batch->labels[by][number])
			return -ENOMEM;
	}
	return 0;
}

static int label_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct labelling *labelling = data;
	struct mf_live_batch *batch = &labelling->namer->batch;
	struct known_labels *known = known_for(labelling, &stack->calls[0]);
	struct mf_moment_stack part = *stack;
	size_t skipped;

	if (is_same_call(&known->call, &stack->calls[0]))
		return label_as_known(batch, stack->context, known);
	skipped = skip_calls(labelling->namer, stack);
	if (skipped == stack->n) {
		if (labelling->namer->pass < &passes[PASSES - 1])
			return 0;
		skipped = 0;
	}
	part.calls += skipped;
	part.n -= skipped;
	for (int by = 0; by < MF_LIVE_BYS; by++) {
		struct mf_bytes *text = &labelling->text;
		char *label;

		text->size = 0;
		mf_sites_label(text, labelling->moment, sites_by[by], &part);
		label = mf_live_label_finish(text);
		label = label ? strdup(label) : NULL;
		if (!label)
			return -ENOMEM;
		batch->labels[by][stack->context] = label;
	}
	/* If the first call is shown, it alone decides the label, so other stacks that begin with it have the same. */
	if (is_shown(labelling->namer, &stack->calls[0])) {
		known->call = stack->calls[0];
		for (int by = 0; by < MF_LIVE_BYS; by++)
			known->labels[by] = batch->labels[by][stack->context];
	}
	return 0;
}

/* Makes the labels of the @n contexts in @leaves, as far as the pass can. */
static void label_contexts(struct mf_live_namer *namer, struct mf_leaf *leaves, uint32_t n)
{
	struct mf_profile profile = namer->objects.profile;
	struct mf_profile_snapshot snapshot = { .tree = MF_TREE_DETAILED, .leaves = leaves, .n_leaves = n };
	/* Labels say innermost calls, so main() needs not be found. */
	struct mf_report_options options = namer->options.report;
	struct mf_moment moment = {
		.profile = &profile,
		.snapshot = &snapshot,
		.options = &options,
		.symbolizer = namer->symbolizer,
	}, naming = moment;
	struct labelling labelling = { .namer = namer, .moment = &naming };
	struct mf_error err;

	naming.options = &namer->options.report;
	options.show_below_main = true;
	options.depth = namer->pass->depth;

	profile.read_context = read_context;
	profile.source = namer;
	profile.n_contexts = namer->batch.end - namer->batch.first;
	mf_moment_each(&moment, label_stack, &labelling, &err);
	mf_bytes_deinit(&labelling.text);
}

/* Makes the labels of the batch's contexts. If that fails, some have none. */
static void label_batch(struct mf_live_namer *namer)
{
	const struct mf_live_batch *batch = &namer->batch;
	uint32_t n = batch->end - batch->first;
	mf_auto_free struct mf_leaf *leaves = calloc(n, sizeof(*leaves));

	/* --ignore-fn concerns the innermost function with a name, which can be any. */
	namer->pass = namer->options.report.ignore_fns.count ? &passes[PASSES - 1] : passes;
	for (; leaves && namer->pass < passes + PASSES; namer->pass++) {
		uint32_t n_left = 0;

		for (uint32_t i = 0; i < n; i++)
			if (!batch->labels[MF_LIVE_BYS - 1][i])
				leaves[n_left++] = (struct mf_leaf){ .context = i };
		if (n_left)
			label_contexts(namer, leaves, n_left);
	}
}

static int64_t used_ms(void)
{
	struct rusage children, own;
	int64_t us = 0;

	getrusage(RUSAGE_CHILDREN, &children);
	getrusage(RUSAGE_THREAD, &own);
	us += (children.ru_utime.tv_sec + children.ru_stime.tv_sec + own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000;
	us += children.ru_utime.tv_usec + children.ru_stime.tv_usec + own.ru_utime.tv_usec + own.ru_stime.tv_usec;
	return us / 1000;
}

static void *look_up(void *data)
{
	struct mf_live_namer *namer = data;
	int64_t before = used_ms(), rest;
	uint64_t one = 1;
	ssize_t size;

	if (!read_objects(namer))
		label_batch(namer);
	rest = (used_ms() - before) * CPU_SHARE;
	namer->rests_until = mf_live_now_ms() + (rest < REST_MS ? rest : REST_MS);
	size = write(namer->event, &one, sizeof(one));
	(void)size;
	return NULL;
}

void mf_live_namer_start(struct mf_live_namer *namer, uint32_t end)
{
	struct mf_live_batch *batch = &namer->batch;
	uint32_t n;

	if (namer->runs || end <= batch->end || mf_live_now_ms() < namer->rests_until)
		return;
	forget_labels(batch);
	batch->first = batch->end;
	batch->end = end;
	n = end - batch->first;
	for (int by = 0; by < MF_LIVE_BYS; by++)
		batch->labels[by] = calloc(n, sizeof(*batch->labels[by]));
	for (int by = 0; by < MF_LIVE_BYS; by++)
		if (!batch->labels[by])
			goto fail;
	/* Names are kept for the next batch. */
	mf_names_begin(namer->options.symbolizer.names);
	namer->runs = !pthread_create(&namer->thread, NULL, look_up, namer);
	if (namer->runs)
		return;
fail:
	forget_labels(batch);
	batch->end = batch->first;
}

void mf_live_namer_hurry(struct mf_live_namer *namer)
{
	namer->rests_until = 0;
}

void mf_live_namer_wait(struct mf_live_namer *namer)
{
	uint64_t count = 1;
	ssize_t size;

	if (!namer->runs)
		return;
	pthread_join(namer->thread, NULL);
	namer->runs = false;
	/* It is readable until the batch was taken. */
	size = write(namer->event, &count, sizeof(count));
	(void)size;
}

const struct mf_live_batch *mf_live_namer_take(struct mf_live_namer *namer)
{
	uint64_t count;

	if (read(namer->event, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return NULL;
	if (namer->runs)
		pthread_join(namer->thread, NULL);
	namer->runs = false;
	return &namer->batch;
}
