// SPDX-License-Identifier: GPL-2.0
// Real programs whose resident set is compared with what the kernel counts.

#include "rss_programs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl_run.h"

static const struct {
	const char *name, *command;
} programs[] = {
	{ "python3", "exec python3 -c 'l = []\nfor i in range(10**9): l.append(str(i)); l = l[-200000:] if len(l) > 400000 "
		     "else l'" },
	{ "perl", "exec perl -e 'my %h; for (my $i = 0; ; $i++) { $h{$i % 300000} = \"x\" x ($i % 500); }'" },
	{ "sqlite3", "exec sqlite3 :memory: 'create table t(a, b); with recursive c(x) as (select 1 union all "
		     "select x + 1 from c limit 3000000) insert into t select x, hex(randomblob(20)) from c; "
		     "select count(*) from t order by b;'" },
	{ "git", "cd \"$0\"/.. && exec git log --stat -p" },
	{ "cc1", "exec $(gcc -print-prog-name=cc1) -quiet -O2 -fpreprocessed -o /dev/null massif.equal.c" },
	{ "xz", "exec xz -3 -c /dev/zero" },
	{ "sort", "exec sort -r massif.equal.in" },
	{ "jq", "exec jq -n '[limit(3000000; range(10000000))] | map(tostring) | length'" },
	{ "luajit", "exec luajit -e 'local t = {} for i = 1, 1e9 do t[i % 100000] = tostring(i) end'" },
	{ "redis-server", "exec redis-server --save '' --port 0 --unixsocket massif.equal.s" },
};

_Static_assert(sizeof(programs) / sizeof(programs[0]) == RSS_PROGRAMS, "the number of programs");

void rss_programs_prepare(void)
{
	FILE *source = fopen("massif.equal.c", "w"), *lines = fopen("massif.equal.in", "w");

	for (int i = 0; source && i < 20000; i++)
		fprintf(source, "int f%d(int a, int b) { for (int i = 0; i < b; i++) a += a * %d ^ i; return a; }\n", i, i);
	for (int i = 1; lines && i <= 4000000; i++)
		fprintf(lines, "1%d\n", i);
	if (source)
		fclose(source);
	if (lines)
		fclose(lines);
}

void rss_programs_forget(void)
{
	ctl_remove_files("massif.equal.");
}

const char *rss_programs_name(int program)
{
	return programs[program].name;
}

void rss_programs_execute(int program)
{
	static char top[4096];

	if (!realpath(getenv("MASSIF_BUILD") ?: ".", top))
		strcpy(top, "/");
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "r", stdin))
		_exit(1);
	setenv("GIT_PAGER", "cat", 1);
	execlp("sh", "sh", "-c", programs[program].command, top, (char *)NULL);
	_exit(1);
}

bool rss_programs_stop(pid_t pid)
{
	int status;

	kill(pid, SIGSTOP);
	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

size_t rss_programs_samples(size_t otherwise)
{
	const char *asked = getenv("MASSIF_RSS_SAMPLES");

	return asked ? strtoul(asked, NULL, 10) : otherwise;
}

long long rss_programs_read(pid_t pid, const char *name, const char *word)
{
	char path[64], line[256];
	long long kib = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			kib = strtoll(line + strlen(word), NULL, 10);
	if (file)
		fclose(file);
	return kib < 0 ? -1 : kib * 1024;
}

void rss_differences_add(struct rss_differences *differences, long long value)
{
	if (differences->n == differences->room) {
		size_t room = differences->room ? 2 * differences->room : 64;
		long long *more = realloc(differences->values, room * sizeof(*more));

		if (!more)
			abort();
		differences->values = more;
		differences->room = room;
	}
	differences->values[differences->n++] = value;
}

static int compare_numbers(const void *a, const void *b)
{
	const long long *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

const char *rss_differences_print(struct rss_differences *differences)
{
	static char text[256];
	long long *values = differences->values;
	size_t n = differences->n, zeros = 0;

	qsort(values, n, sizeof(*values), compare_numbers);
	for (size_t i = 0; i < n; i++)
		zeros += !values[i];
	snprintf(text, sizeof(text), "%zu samples: %zu are 0; least %lld, 5 %% %lld, median %lld, 95 %% %lld, most %lld KiB",
		 n, zeros, values[0] / 1024, values[n / 20] / 1024, values[n / 2] / 1024, values[n - 1 - n / 20] / 1024,
		 values[n - 1] / 1024);
	return text;
}

void rss_differences_free(struct rss_differences *differences)
{
	free(differences->values);
	*differences = (struct rss_differences){ 0 };
}
