// SPDX-License-Identifier: GPL-2.0
/*
 * make SEED NUMBER DIRECTORY: writes a hostile program, main.c, and a shell script named build that compiles it
 *
 * A program is a sequence of pieces of code, selected at random from the array pieces[] and given random parameters.
 * The changes that a piece makes (to floating-point modes, limits, handlers, sandboxes) stay in effect for the pieces
 * after it. Some pieces run in a thread, a coroutine, a signal handler or a forked child. Between the pieces, the
 * program calls randomly generated functions that allocate. The compiler, its flags, the linker and the program's own
 * allocator are random, too.
 *
 * The environment variable HOSTILE_EXCEPT lists pieces to leave out, separated by spaces; "misaligned" stands for
 * misaligned stacks. Use it to look for other errors until a known error is fixed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum when {
	EARLY,	/* a piece of code that must come first in the program, because it inspects the initial state */
	ANY,
	/*
	 * a piece of code that may come anywhere between the EARLY and the LAST ones, like an ANY piece, but that rules
	 * out many other pieces after it. So a program has at most one such piece, or none if it has its own allocator.
	 */
	SELDOM,
	LAST,	/* a piece of code that must come last in the program */
};

enum needs {
	LIBC_MALLOC = 1,  /* pieces that are useless or impossible if the generated program has its own allocator */
	/*
	 * the piece of code starts processes or threads, or opens files; in the generated program it must not come
	 * after a SELDOM piece, because such a piece may have made this impossible
	 */
	CHILDREN = 2,
	/*
	 * the piece of code does floating-point arithmetic; it must not come after the piece fp_mode, which changes the
	 * floating-point modes
	 */
	DEFAULT_FP = 4,
	MAIN_STACK = 8,	  /* the piece of code needs a larger stack than a coroutine has */
	/*
	 * the piece of code needs a lot of memory, so it must not come after a SELDOM piece, which may have limited the
	 * available memory
	 */
	MEMORY = 16,
};

static const struct piece {
	const char *name;
	enum when when;
	unsigned int needs;
} pieces[] = {
	{ "environment", EARLY, 0 },
	{ "dispositions", EARLY, 0 },
	{ "limits", EARLY, 0 },
	{ "churn", ANY, 0 },
	{ "odd_sizes", ANY, 0 },
	{ "usable", ANY, LIBC_MALLOC },
	{ "across", ANY, DEFAULT_FP },
	{ "fp_mode", ANY, 0 },
	{ "fp_values", ANY, DEFAULT_FP },
	{ "deep", ANY, MAIN_STACK },
	{ "longjmp", ANY, 0 },
	{ "made_code", ANY, 0 },
	{ "stdio", ANY, DEFAULT_FP },
	{ "threads", ANY, CHILDREN | MEMORY },
	{ "small_stacks", ANY, CHILDREN | LIBC_MALLOC },
	{ "own_stacks", ANY, CHILDREN },
	{ "thread_ends", ANY, CHILDREN },
	{ "coroutines", ANY, MAIN_STACK },
	{ "timer", ANY, 0 },
	{ "raise", ANY, 0 },
	{ "faults", ANY, 0 },
	{ "jump", ANY, 0 },
	{ "timer_threads", ANY, CHILDREN },
	{ "mask", ANY, 0 },
	{ "forks", ANY, CHILDREN },
	{ "vforks", ANY, CHILDREN },
	{ "clones", ANY, CHILDREN },
	{ "spawns", ANY, CHILDREN },
	{ "set_environment", ANY, CHILDREN },
	{ "title", ANY, CHILDREN },
	{ "close_all", ANY, CHILDREN },
	{ "user", ANY, CHILDREN },
	{ "loads", ANY, CHILDREN },
	{ "name_space", ANY, CHILDREN },
	{ "symbols", ANY, 0 },
	{ "own_jumps", ANY, 0 },
	{ "operators", ANY, MEMORY },
	{ "exceptions", ANY, 0 },
	{ "objects", ANY, CHILDREN },
	{ "address_space", SELDOM, MAIN_STACK },
	{ "data", SELDOM, MAIN_STACK },
	{ "no_memory", SELDOM, LIBC_MALLOC | MAIN_STACK },
	{ "stack", SELDOM, 0 },
	{ "descriptors", SELDOM, 0 },
	{ "locked", SELDOM, 0 },
	{ "file_size", SELDOM, 0 },
	{ "no_tsc", ANY, 0 },
	{ "no_new_code", SELDOM, 0 },
	{ "namespaces", SELDOM, CHILDREN },
	{ "chroot", SELDOM, CHILDREN },
	{ "filter_kills", LAST, 0 },
	{ "filter_refuses", LAST, 0 },
	{ "strict", LAST, LIBC_MALLOC },
};

static const struct choice {
	const char *text;
	bool cxx;
} compilers[] = {
	{ "gcc -std=gnu11", false },	     { "gcc -std=gnu11", false },
	{ "clang -std=gnu11", false },	     { "g++ -x c++ -std=gnu++17", true },
	{ "clang++ -x c++ -std=gnu++17", true },
};

static const char *const levels[] = { "-O0", "-O1", "-O2", "-O3", "-Os" };

/* The compiler's command line contains one flag from each row, selected at random; "" means no flag. */
static const char *const flags[][4] = {
	{ "", "-fomit-frame-pointer", "-fno-omit-frame-pointer", "" },
	{ "", "-fcf-protection=full", "-fcf-protection=none", "" },
	{ "", "-fstack-protector-all", "-fno-stack-protector", "" },
	{ "", "-fno-plt", "-fno-asynchronous-unwind-tables", "" },
	{ "", "-march=native", "-ffast-math", "" },
	{ "", "-fno-builtin", "-fno-builtin-malloc", "" },
	{ "", "-Wl,-z,now", "-Wl,-z,lazy", "-rdynamic" },
	{ "", "-no-pie -fno-pie", "-pie -fpie", "" },
	{ "", "-fuse-ld=lld", "-fuse-ld=gold", "" },
	{ "", "-Wl,--hash-style=sysv", "-Wl,--hash-style=gnu", "-Wl,--no-eh-frame-hdr" },
	{ "", "-g", "-s", "" },
};

static uint64_t state;

static uint32_t draw(uint32_t bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state * 0x2545f4914f6cdd1dull) >> 33) % bound;
}

static FILE *create(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

/* Writes a function of random shape that allocates and calls functions written before it. */
static void write_function(FILE *file, unsigned int number)
{
	static const char *const attributes[] = {
		"NOINLINE", "NOINLINE __attribute__((aligned(64)))", "inline __attribute__((always_inline))",
		"NOINLINE __attribute__((cold))", "NOINLINE __attribute__((force_align_arg_pointer))", "",
	};
	static const char *const allocations[] = {
		"malloc(n % 200 + 1)", "calloc(n % 20 + 1, 9)", "realloc(malloc(n % 50 + 1), n % 3000 + 1)",
		"memalign(128, n % 100 + 1)", "strdup(\"a text\")",
	};

	fprintf(file, "%s static uint64_t shape_%u(unsigned int n, uint64_t a, double d)\n{\n",
		attributes[draw(COUNT(attributes))], number);
	if (draw(2))
		fprintf(file, "\tvolatile char pad[%u];\n\n\tpad[n %% sizeof(pad)] = (char)n;\n", 1 + draw(3000));
	fprintf(file, "\tvoid *volatile block = %s;\n", allocations[draw(COUNT(allocations))]);
	if (number)
		fprintf(file, "\ta = mix(a, shape_%u(n * %u + %u, a, d * 2));\n", draw(number), 1 + draw(9), draw(100));
	fprintf(file, "\t*(volatile unsigned char *)block = (unsigned char)n;\n"
		      "\ta = mix(a, *(volatile unsigned char *)block);\n"
		      "\tfree(block);\n");
	if (number && draw(3) == 0)
		fprintf(file, "\treturn shape_%u(n + 1, a, d);\n}\n\n", number - 1);
	else
		fprintf(file, "\treturn a + (uint64_t)(d > 1e300);\n}\n\n");
}

static void write_head(FILE *file, uint64_t seed, unsigned int number)
{
	static const char *const headers[] = { "own", "calls", "threads", "signals", "limits", "processes",
					       "sandbox", "loading", "classes" };

	fprintf(file, "// SPDX-License-Identifier: GPL-2.0\n// Hostile program %u of seed %llu.\n\n", number,
		(unsigned long long)seed);
	for (size_t i = 0; i < COUNT(headers); i++)
		fprintf(file, "#include \"%s.h\"\n", headers[i]);
	fprintf(file, "\n");
}

/*
 * Writes the functions of the generated program that run one of its pieces of code: directly, or in a thread, a child,
 * a signal handler or a coroutine.
 */
static void write_runners(FILE *file)
{
	fputs("typedef uint64_t piece_function(unsigned int p);\n\n"
	      "static piece_function *volatile chosen;\n"
	      "static volatile unsigned int parameter;\n"
	      "static volatile uint64_t result;\n"
	      "static ucontext_t aside, main_line;\n\n"
	      "static void run_chosen(void)\n{\n\tresult = chosen(parameter);\n}\n\n"
	      "UNUSED static void *in_thread(void *data)\n{\n\trun_chosen();\n\treturn data;\n}\n\n"
	      "UNUSED static void in_handler(int signal)\n{\n\trun_chosen();\n}\n\n"
	      "UNUSED static void by_itself(void)\n{\n\trun_chosen();\n}\n\n"
	      "UNUSED static void by_thread(void)\n{\n\tpthread_t thread;\n\n"
	      "\tif (pthread_create(&thread, NULL, in_thread, NULL) == 0)\n\t\tpthread_join(thread, NULL);\n}\n\n"
	      "UNUSED static void by_child(void)\n{\n\tpid_t pid = fork();\n\n\tif (pid == 0) {\n\t\trun_chosen();\n"
	      "\t\t_exit((int)(result & 127));\n\t}\n\tresult = (uint64_t)wait_for(pid);\n}\n\n"
	      "UNUSED static void by_handler(void)\n{\n\tset_handler(SIGURG, in_handler, 0);\n\traise(SIGURG);\n}\n\n"
	      "UNUSED static void by_coroutine(void)\n{\n\tstatic char stack[262144];\n\n\tgetcontext(&aside);\n"
	      "\taside.uc_stack.ss_sp = stack;\n\taside.uc_stack.ss_size = sizeof(stack);\n"
	      "\taside.uc_link = &main_line;\n\tmakecontext(&aside, run_chosen, 0);\n"
	      "\tswapcontext(&main_line, &aside);\n}\n\n"
	      "static void run(const char *name, void (*by)(void), piece_function *piece, unsigned int p)\n{\n"
	      "\tchosen = piece;\n\tparameter = p;\n\tresult = 0;\n\tby();\n"
	      "\tsay(\"%s %llx\\n\", name, (unsigned long long)result);\n}\n\n",
	      file);
}

/*
 * The value of HOSTILE_OWN (see own.h) for an allocator whose malloc() switches stacks by means of system calls. Pieces
 * of code marked LAST restrict system calls, so a program with this allocator must not contain any such piece.
 */
#define OWN_STACK 4

struct program {
	FILE *file;
	unsigned int own;
	bool seldom, modes;
	unsigned int runs;
};

static void write_run(struct program *program, const struct piece *piece)
{
	static const char *const runners[] = { "itself", "itself", "itself", "thread", "child", "handler", "coroutine" };
	const char *runner = runners[draw(COUNT(runners))];
	bool plain = piece->when != ANY || piece->needs & MAIN_STACK || program->seldom;

	if (!strcmp(piece->name, "raise") || !strcmp(piece->name, "fp_mode") || !strcmp(piece->name, "title"))
		plain = true;
	fprintf(program->file, "\trun(\"%s\", by_%s, piece_%s, %uu);\n", piece->name, plain ? "itself" : runner,
		piece->name, draw(1000000));
	program->runs++;
}

static bool is_left_out(const char *name)
{
	const char *names = getenv("HOSTILE_EXCEPT");
	char padded[1024], wanted[64];

	snprintf(padded, sizeof(padded), " %s ", names ? names : "");
	snprintf(wanted, sizeof(wanted), " %s ", name);
	return strstr(padded, wanted) != NULL;
}

static bool fits(const struct program *program, const struct piece *piece)
{
	if (is_left_out(piece->name) || (piece->needs & LIBC_MALLOC && program->own))
		return false;
	if (piece->needs & (CHILDREN | MEMORY) && program->seldom)
		return false;
	if (piece->needs & DEFAULT_FP && program->modes)
		return false;
	if (piece->when == LAST && program->own == OWN_STACK)
		return false;
	return piece->when != SELDOM || (!program->seldom && !program->own);
}

static void write_main(struct program *program)
{
	unsigned int count = 3 + draw(8), shapes = 3 + draw(20);

	for (unsigned int i = 0; i < shapes; i++)
		write_function(program->file, i);
	write_runners(program->file);
	fprintf(program->file, "int main(int argc, char **argv)\n{\n");
	for (size_t i = 0; i < COUNT(pieces); i++) {
		if (pieces[i].when == EARLY)
			write_run(program, &pieces[i]);
	}
	while (count--) {
		const struct piece *piece = &pieces[draw(COUNT(pieces))];

		if (piece->when == EARLY || piece->when == LAST || !fits(program, piece))
			continue;
		if (piece->when == SELDOM && draw(2))
			continue;
		write_run(program, piece);
		program->seldom |= piece->when == SELDOM;
		program->modes |= !strcmp(piece->name, "fp_mode");
		fprintf(program->file, "\tsay(\"shape %%llx\\n\", (unsigned long long)shape_%u(%u, 1, 1));\n",
			draw(shapes), draw(1000));
	}
	if (draw(4) == 0) {
		const struct piece *piece = &pieces[COUNT(pieces) - 1 - draw(3)];

		if (fits(program, piece))
			write_run(program, piece);
	}
	fprintf(program->file, "\tsay(\"end\\n\");\n\t%s(%u);\n}\n", draw(3) ? "exit" : "_exit", draw(128));
}

static void write_build(const char *directory, unsigned int own)
{
	const struct choice *compiler = &compilers[draw(COUNT(compilers))];
	bool clang = strstr(compiler->text, "clang") != NULL;
	FILE *file = create(directory, "build");

	fprintf(file, "%s -w -D_GNU_SOURCE -DHOSTILE_OWN=%u -DHOSTILE_MISALIGN=%u -I\"$HOSTILE\" %s", compiler->text, own,
		draw(4) || is_left_out("misaligned") ? 0 : 8, levels[draw(COUNT(levels))]);
	for (size_t i = 0; i < COUNT(flags); i++)
		fprintf(file, " %s", flags[i][draw(4)]);
	/* Split stacks require gcc, the C language and the gold linker. */
	if (!clang && !compiler->cxx && draw(8) == 0)
		fprintf(file, " -fsplit-stack -fcf-protection=none -fuse-ld=gold");
	fprintf(file, " -o main main.c -lm -ldl -lpthread && %s -w -O1 -fPIC -shared -o plug.so \"$HOSTILE/plug.c\"\n",
		clang ? "clang" : "gcc");
	fclose(file);
}

int main(int argc, char **argv)
{
	struct program program = { 0 };
	unsigned int number, own;
	uint64_t seed;

	if (argc != 4) {
		fprintf(stderr, "usage: make SEED NUMBER DIRECTORY\n");
		return 1;
	}
	seed = strtoull(argv[1], NULL, 0);
	number = (unsigned int)strtoul(argv[2], NULL, 0);
	state = (seed + 1) * 0x9e3779b97f4a7c15ull ^ ((uint64_t)number + 1) * 0xff51afd7ed558ccdull;
	for (unsigned int i = 0; i < 20; i++)
		draw(2);
	own = draw(3) ? 0 : 1 + draw(4);
	program.own = own;
	program.file = create(argv[3], "main.c");
	write_head(program.file, seed, number);
	write_main(&program);
	fclose(program.file);
	write_build(argv[3], own);
	return 0;
}
