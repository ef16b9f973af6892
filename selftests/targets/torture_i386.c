// SPDX-License-Identifier: GPL-2.0
// A 32-bit program that does not use a C library, and that changes its address space at random, as torture does.
//
// STEPS and the directory for the maps are passed in the environment. The files have the same format as those of
// torture.
#define MARK	0x40000000UL
#define PAGE	4096UL
#define ARENA	(256 * PAGE)

#define NR_exit		1
#define NR_fork		2
#define NR_read		3
#define NR_write	4
#define NR_open		5
#define NR_close	6
#define NR_getpid	20
#define NR_brk		45
#define NR_munmap	91
#define NR_wait4	114
#define NR_mprotect	125
#define NR_mremap	163
#define NR_mmap2	192

#define RW		3
#define ANON		0x22
#define FIXED		0x10
#define GROWSDOWN	0x100

/* The sixth argument of a system call is passed in ebp, which the compiler may be using. */
static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	long args[7] = { nr, a, b, c, d, e, f }, result;

	__asm__ volatile("pushl %%ebp\n"
			 "pushl %%ebx\n"
			 "movl 4(%%eax), %%ebx\n"
			 "movl 8(%%eax), %%ecx\n"
			 "movl 12(%%eax), %%edx\n"
			 "movl 16(%%eax), %%esi\n"
			 "movl 20(%%eax), %%edi\n"
			 "movl 24(%%eax), %%ebp\n"
			 "movl (%%eax), %%eax\n"
			 "int $0x80\n"
			 "popl %%ebx\n"
			 "popl %%ebp\n"
			 : "=a"(result)
			 : "a"(args)
			 : "ecx", "edx", "esi", "edi", "memory");
	return result;
}

static unsigned int state = 12345;
static unsigned long arena, heap;
static const char *dir;

static unsigned int rnd(unsigned int below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

static long map(unsigned long at, unsigned long len, int flags)
{
	return call(NR_mmap2, at, len, RW, flags, -1, 0);
}

static unsigned long somewhere(void)
{
	return arena + rnd(200) * PAGE;
}

static unsigned long some(void)
{
	return (1 + rnd(50)) * PAGE;
}

static char *put_number(char *at, unsigned int number)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = '0' + number % 10;
	while (number /= 10);
	while (n)
		*at++ = digits[--n];
	return at;
}

/* Saves the maps to DIR/PID.EXECS or DIR/PID.EXECS.NUMBER. */
static void copy_maps(int execs, int number)
{
	static char path[512], text[1 << 16];
	char *at = path;
	const char *from;
	long in, out, got;

	for (from = dir; *from; )
		*at++ = *from++;
	*at++ = '/';
	at = put_number(at, call(NR_getpid, 0, 0, 0, 0, 0, 0));
	*at++ = '.';
	at = put_number(at, execs);
	if (number >= 0) {
		*at++ = '.';
		at = put_number(at, number);
	}
	*at = 0;
	in = call(NR_open, (long)"/proc/self/maps", 0, 0, 0, 0, 0);
	out = call(NR_open, (long)path, 01101, 0600, 0, 0, 0);
	while ((got = call(NR_read, in, (long)text, sizeof(text), 0, 0, 0)) > 0)
		call(NR_write, out, (long)text, got, 0, 0, 0);
	call(NR_close, in, 0, 0, 0, 0, 0);
	call(NR_close, out, 0, 0, 0, 0, 0);
}

static void moment(int execs, int number)
{
	copy_maps(execs, number);
	map(MARK + number * PAGE, PAGE, ANON | FIXED);
	call(NR_munmap, MARK + number * PAGE, PAGE, 0, 0, 0, 0);
}

__attribute__((noinline)) static void deep(int levels)
{
	volatile char frame[4000];

	frame[0] = levels;
	if (levels)
		deep(levels - 1);
	frame[0]++;
}

static void grow_own_stack(void)
{
	unsigned long p = call(NR_mmap2, 0, 64 * PAGE, 0, ANON, -1, 0);

	map(p + 63 * PAGE, PAGE, ANON | FIXED | GROWSDOWN);
	call(NR_munmap, p + 32 * PAGE, 31 * PAGE, 0, 0, 0, 0);
	*(volatile char *)(p + 63 * PAGE - rnd(20) * PAGE) = 1;
	call(NR_munmap, p, 64 * PAGE, 0, 0, 0, 0);
}

static void remap_grow_into_hole(void)
{
	unsigned long len = some(), p = map(0, 2 * len, ANON);

	call(NR_munmap, p + len, len, 0, 0, 0, 0);
	call(NR_mremap, p, len, 2 * len, 0, 0, 0);
	call(NR_munmap, p, 2 * len, 0, 0, 0, 0);
}

static void step(void)
{
	switch (rnd(11)) {
	case 0: call(NR_munmap, somewhere(), some(), 0, 0, 0, 0); break;
	case 1: call(NR_mprotect, somewhere(), some(), 1, 0, 0, 0); break;
	case 2: call(NR_mremap, somewhere(), PAGE, 2 * PAGE, 0, 0, 0); break;
	case 3: call(NR_mremap, somewhere(), some(), some(), 3, somewhere(), 0); break;
	case 4: call(NR_mremap, somewhere(), 2 * PAGE, PAGE, 1, 0, 0); break;
	case 5: call(NR_brk, heap + rnd(200) * 1000, 0, 0, 0, 0, 0); break;
	case 6: deep(rnd(150)); break;
	case 7: grow_own_stack(); break;
	case 8: remap_grow_into_hole(); break;
	default: map(somewhere(), some(), ANON | FIXED);
	}
}

static void work(int steps, int execs, int number)
{
	while (steps--)
		step();
	moment(execs, number);
}

__attribute__((used)) static void run(long *stack)
{
	char **env = (char **)(stack + 1 + stack[0] + 1);
	int i, child;

	for (; *env; env++)
		if ((*env)[0] == 'T' && (*env)[8] == 'M' && (*env)[12] == '=')
			dir = *env + 13;	/* skips "TORTURE_MAPS=" */
	heap = call(NR_brk, 0, 0, 0, 0, 0, 0);
	arena = call(NR_mmap2, 0, ARENA + 2 * PAGE, 0, ANON, -1, 0) + PAGE;
	for (i = 0; i < 6; i++)
		work(200, 1, i);
	child = call(NR_fork, 0, 0, 0, 0, 0, 0);
	if (!child) {
		work(200, 0, i);
		copy_maps(0, -1);
		call(NR_exit, 0, 0, 0, 0, 0, 0);
	}
	call(NR_wait4, child, 0, 0, 0, 0, 0);
	work(200, 1, i);
	copy_maps(1, -1);
	call(NR_exit, 0, 0, 0, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmovl %esp, %eax\n\tandl $-16, %esp\n\tsubl $12, %esp\n\tpushl %eax\n\tcall run\n");
