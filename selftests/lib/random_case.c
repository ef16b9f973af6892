// SPDX-License-Identifier: GPL-2.0
// Generates random programs and options for both profilers.

#include "selftests/lib/random_case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * A tree can have a line for each frame of each context. This is the approximate maximum number of lines per context.
 */
#define LINES_MAX 2000

/* Functions of the target programs, except those that contain inlined calls; see add_functions(). */
static const char *const c_functions[] = { "wrap_a", "wrap_b", "wrap_c", "step_d", "jump_on",
					   "enter", "Wrap_a", "wrap_*", NULL };
static const char *const cc_functions[] = {
	"go_on(walk*)",
	"_ZL5go_onP4walk",
	"go_on",
	"shop::fetch(walk*, ...)",
	"shop::fetch_again(walk*)",
	"_ZN4shop11fetch_againEP4walk",
	"shop::(anonymous namespace)::Hidden::get(walk*)",
	"shop::Order::operator()(walk*) const",
	"fetch_any(walk*)",
	NULL,
};

static const struct target {
	const char *name;
	const char *const *functions;
	/*
	 * A recursive function of the target program: its number, and the names of all functions in its cycle of calls.
	 */
	char recursing;
	const char *const cycle[2];
} targets[] = {
	{ "random_calls", c_functions, '6', { "wrap_b", NULL } },
	{ "random_calls", c_functions, '3', { "step_d", NULL } },
	{ "random_inlined", c_functions, '7', { "wrap_c", NULL } },
	{ "random_inlined", c_functions, '5', { "wrap_a", NULL } },
	{ "random_classes", cc_functions, '4', { "go_on(walk*)", "shop::fetch_again(walk*)" } },
};

static uint32_t pick(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 32) * below >> 32);
}

static bool percent(uint64_t *state, uint32_t n)
{
	return pick(state, 100) < n;
}

/* Formats one command-line word, such as an option, into the buffer @the->text. */
__attribute__((format(printf, 2, 3))) static const char *word(struct random_case *the,
							       const char *format, ...)
{
	char *start = the->text + the->used;
	size_t room = sizeof(the->text) - the->used;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(start, room, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= room)
		abort();
	the->used += (size_t)length + 1;
	return start;
}

/* Adds an option if there is room; the list ends in NULL. */
static void add_option(struct random_case *the, const char *option)
{
	for (size_t i = 0; i < DIFF_WORDS_MAX - 1; i++) {
		if (!the->scenario.options[i]) {
			the->scenario.options[i] = option;
			return;
		}
	}
}

static bool has_option(const struct random_case *the, const char *option)
{
	for (size_t i = 0; the->scenario.options[i]; i++) {
		if (strcmp(the->scenario.options[i], option) == 0)
			return true;
	}
	return false;
}

static unsigned int pick_depth(uint64_t *state)
{
	static const uint8_t usual[] = { 1, 2, 3, 4, 5, 7, 30, 31, 50, 199, 200 };

	return percent(state, 70) ? usual[pick(state, sizeof(usual))] : 1 + pick(state, 200);
}

static unsigned int pick_slots(uint64_t *state)
{
	static const uint16_t usual[] = { 10, 11, 12, 13, 20, 33, 99, 100, 101, 250, 1000 };

	return percent(state, 70) ? usual[pick(state, sizeof(usual) / sizeof(*usual))] :
				    10 + pick(state, 991);
}

static unsigned int pick_frequency(uint64_t *state)
{
	static const uint32_t usual[] = { 1, 1, 1, 2, 3, 5, 9, 11, 100, 1000000 };

	return usual[pick(state, sizeof(usual) / sizeof(*usual))];
}

/*
 * The number of tree lines in a massif.out file grows with --depth and --max-snapshots and shrinks with
 * --detailed-freq. Choose the values so that some cases have every line but no case has too many.
 */
static void add_sizes(struct random_case *the, uint64_t *state)
{
	unsigned int depth = 30, slots = 100, frequency = 10;

	if (percent(state, 50))
		add_option(the, word(the, "--depth=%u", depth = pick_depth(state)));
	if (percent(state, 60))
		add_option(the, word(the, "--max-snapshots=%u", slots = pick_slots(state)));
	if (percent(state, 70))
		frequency = pick_frequency(state);
	while (depth * slots / frequency > LINES_MAX)
		frequency *= 2;
	if (frequency != 10)
		add_option(the, word(the, "--detailed-freq=%u", frequency));
}

static void add_numbers(struct random_case *the, uint64_t *state)
{
	static const char *const thresholds[] = { "0", "0.1", "0.5", "1.0", "2", "5.0", "10",
						  "33.335", "0.995", "50", "100", "" };
	static const char *const inaccuracies[] = { "0", "0", "0.5", "2", "5", "10", "50", "100" };
	static const uint16_t admins[] = { 0, 1, 7, 16, 24, 100, 1024 };

	if (percent(state, 50))
		add_option(the, word(the, "--threshold=%s", thresholds[pick(state, 12)]));
	else if (percent(state, 50))
		add_option(the, word(the, "--threshold=%u.%03u", pick(state, 20), pick(state, 1000)));
	if (percent(state, 50))
		add_option(the, word(the, "--peak-inaccuracy=%s", inaccuracies[pick(state, 8)]));
	if (percent(state, 40))
		add_option(the, word(the, "--heap-admin=%u", admins[pick(state, 7)]));
}

/*
 * Adds names for --alloc-fn and --ignore-fn. Avoids combinations for which the two profilers differ on purpose
 * (Documentation/differences.rst):
 * - functions with inlined calls at a call site: Valgrind 3.19 compares only the outer name, while newer versions and
 *   massif-ctl compare all of them;
 * - reallocs when some blocks are ignored. Even without --ignore-fn, a block is ignored if its chain of allocation
 *   functions is longer than the captured part of the stack. So no case has both reallocs and such chains;
 * - the captured length of a chain that ends in posix_memalign or realloc(NULL, n), because Valgrind's versions of
 *   these call its own memalign and malloc.
 */
static void add_functions(struct random_case *the, uint64_t *state, const struct target *target,
			  char *rules)
{
	uint32_t n_functions = 0, n;

	/*
	 * Let --alloc-fn name a recursive function. This removes enough frames from a stack to make the tree depend on
	 * the number of captured frames.
	 */
	if (percent(state, 8)) {
		for (int i = 0; i < 2 && target->cycle[i]; i++)
			add_option(the, word(the, "--alloc-fn=%s", target->cycle[i]));
		sprintf(rules, "rp%c", target->recursing);
		return;
	}
	while (target->functions[n_functions])
		n_functions++;
	if (percent(state, 40)) {
		n = 1 + pick(state, 3);
		while (n--)
			add_option(the, word(the, "--alloc-fn=%s",
					     target->functions[pick(state, n_functions)]));
		strcat(rules, percent(state, 60) ? "s" : "r");
	}
	if (percent(state, 20)) {
		n = 1 + pick(state, 2);
		while (n--)
			add_option(the, word(the, "--ignore-fn=%s",
					     target->functions[pick(state, n_functions)]));
		if (!strchr(rules, 'r'))
			strcat(rules, "r");
	}
}

static void add_words(struct random_case *the, uint64_t *state)
{
	static const struct {
		uint8_t chance;
		const char *option;
	} words[] = {
		{ 10, "--demangle=no" },
		{ 10, "--show-below-main=yes" },
		{ 10, "--sym-offsets=yes" },
		{ 10, "--read-inline-info=no" },
		{ 5, "--fullpath-after=" },
		{ 5, "--fullpath-after=selftests/" },
		{ 4, "--merge-recursive-frames=1" },
		{ 4, "--merge-recursive-frames=2" },
		{ 4, "--merge-recursive-frames=5" },
		{ 3, "--keep-debuginfo=yes" },
		{ 3, "--num-callers=4" },
		{ 2, "--trace-malloc=yes" },
		{ 3, "--heap=yes" },
		{ 1, "--heap=no" },
		{ 3, "--alignment=16" },
		{ 3, "--time-unit=B" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (percent(state, words[i].chance))
			add_option(the, words[i].option);
	}
}

/*
 * In some cases, adds options that print logs about snapshots, events, removed frames, and counters, unless there is
 * --trace-malloc. If it adds them, it also keeps the program from calling posix_memalign and realloc(NULL, n), because
 * Valgrind implements them by calling another allocation function.
 */
static void add_account(struct random_case *the, uint64_t *state, char *rules)
{
	uint32_t level = 2 + pick(state, 3);

	if (!percent(state, 10) || has_option(the, "--trace-malloc=yes"))
		return;
	/* Logging starts at the third -v, because the options begin with -q, which cancels one -v. */
	add_option(the, "-v");
	while (level--)
		add_option(the, "-v");
	add_option(the, "--stats=yes");
	the->scenario.log = true;
	if (!strchr(rules, 'p'))
		strcat(rules, "p");
}

/* Returns the number of events of a random program, at least 10. Small programs are as common as large ones. */
static unsigned int pick_events(uint64_t *state)
{
	unsigned int most = 20u << pick(state, 8);

	return 10 + pick(state, most);
}

void random_case_make(struct random_case *the, uint64_t seed, unsigned int number)
{
	uint64_t state = (seed + number) * 0x9e3779b97f4a7c15u + number;
	const struct target *target;
	char rules[8] = "";

	memset(the, 0, sizeof(*the));
	state ^= state >> 31;
	pick(&state, 1);
	target = &targets[pick(&state, sizeof(targets) / sizeof(*targets))];
	add_sizes(the, &state);
	add_numbers(the, &state);
	add_functions(the, &state, target, rules);
	add_words(the, &state);
	if (percent(&state, 40))
		strcat(rules, "f");
	add_account(the, &state, rules);
	the->scenario.target = target->name;
	the->scenario.args[0] = word(the, "%" PRIu32, pick(&state, UINT32_MAX));
	the->scenario.args[1] = word(the, "%u", pick_events(&state));
	the->scenario.args[2] = word(the, "%s", rules[0] ? rules : "-");
}

static void print_words(const char *const *words, FILE *file)
{
	for (; *words; words++)
		fprintf(file, " '%s'", *words);
}

void random_case_print(const struct random_case *the, FILE *file)
{
	static const char *const commands[] = {
		"valgrind --tool=massif --run-libc-freeres=no --run-cxx-freeres=no",
		"$MASSIF_BUILD/massif-ctl",
	};

	for (int i = 0; i < 2; i++) {
		fprintf(file, "# %s --time-unit=B", commands[i]);
		print_words(the->scenario.options, file);
		fprintf(file, " $MASSIF_BUILD/selftests/targets/%s", the->scenario.target);
		print_words(the->scenario.args, file);
		fputc('\n', file);
	}
}
