// SPDX-License-Identifier: GPL-2.0
// Runs real programs: their output, files and exit status must be the same with and without massif, and each of their
// processes must have a complete profile.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define GIT_SETTINGS                                                                    \
	"export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "             \
	"GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b "            \
	"GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'\n"

/* Removes durations from the output. */
#define NO_TIMES " 2>&1 | sed -E 's/[0-9.]+(ms|s)\\b/TIME/g'"

FIXTURE(foreign)
{
	struct ctl_result native, ours;
};

FIXTURE_SETUP(foreign)
{
	char source[4096];

	setenv("PYTHONHASHSEED", "1", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("MASSIF_OPTS");
	if (!getenv("MASSIF_SRC"))
		setenv("MASSIF_SRC", getcwd(source, sizeof(source)), 1);
	ctl_remove_files("massif.out.");
}

FIXTURE_TEARDOWN(foreign)
{
	ctl_result_free(&self->native);
	ctl_result_free(&self->ours);
}

/*
 * The scripts run in an empty directory. In them, $M is either empty or massif-ctl with its options, followed by a
 * space. Output that varies even without massif is removed. Programs that must exist are given by their full path,
 * since there may be others with the same name.
 */
FIXTURE_VARIANT(foreign)
{
	/* path of a file that must exist, absolute or relative to the build directory, and the file's package */
	const char *program, *package;
	const char *script;
	/* at least @files of the profiles must have a "cmd:" line that begins with @cmd */
	const char *cmd;
	size_t files;
	bool follows; /* true to profile with --trace-children=yes */
};

FIXTURE_VARIANT_ADD(foreign, python3_json)
{
	.program = "/usr/lib/python3.11/test/test_json", .package = "libpython3.11-testsuite",
	.script = "$M /usr/bin/python3 -m unittest test.test_json" NO_TIMES,
	.cmd = "/usr/bin/python3 -m unittest test.test_json", .files = 1,
};

/* Python's tests of sqlite3, taken from its source, because no Debian package contains them. */
FIXTURE_VARIANT_ADD(foreign, python3_sqlite3_tests)
{
	.program = "python/test_sqlite3/__init__.py", .package = "selftests/tools/fetch-python-tests.sh",
	.script = "cat > s.py <<'end'\n"
		  "import os, test, unittest\n"
		  "test.__path__.append(os.environ['MASSIF_BUILD'] + '/python')\n"
		  "unittest.main(module=None, argv=['unittest', 'test.test_sqlite3'])\n"
		  "end\n"
		  "$M /usr/bin/python3 s.py" NO_TIMES,
	.cmd = "/usr/bin/python3 s.py", .files = 1,
};

FIXTURE_VARIANT_ADD(foreign, python3_sqlite3)
{
	.program = "/usr/bin/python3", .package = "python3",
	.script = "cat > s.py <<'end'\n"
		  "import sqlite3\n"
		  "c = sqlite3.connect(':memory:')\n"
		  "c.create_function('half', 1, lambda x: x // 2)\n"
		  "c.execute('create table t(a integer primary key, b text, c real)')\n"
		  "c.executemany('insert into t values(?, ?, ?)',\n"
		  "              ((i, 'text %d' % i, i / 7) for i in range(20000)))\n"
		  "c.execute('create index i on t(b)'); c.commit()\n"
		  "print(c.execute('select half(a) h, count(*), max(b), total(c) from t '\n"
		  "                'group by h % 100 order by b desc limit 9').fetchall())\n"
		  "try: c.execute('insert into t values(1, 2, 3)')\n"
		  "except sqlite3.IntegrityError as e: print(e)\n"
		  "c.rollback(); d = sqlite3.connect('file.db'); c.backup(d); d.close()\n"
		  "print(sum(len(l) for l in c.iterdump()))\n"
		  "end\n"
		  "$M /usr/bin/python3 s.py; sha1sum file.db",
	.cmd = "/usr/bin/python3 s.py", .files = 1,
};

/* Python's own tests of fork: handlers, threads, held locks. */
FIXTURE_VARIANT_ADD(foreign, python3_fork)
{
	.program = "/usr/lib/python3.11/test/test_fork1.py", .package = "libpython3.11-testsuite",
	.script = "$M /usr/bin/python3 -m unittest test.test_fork1" NO_TIMES,
	.cmd = "/usr/bin/python3 -m unittest test.test_fork1", .files = 4,
};

FIXTURE_VARIANT_ADD(foreign, perl)
{
	.program = "/usr/bin/perl", .package = "perl",
	.script = "cat > s.pl <<'end'\n"
		  "use strict; use JSON::PP; use Encode; use Data::Dumper; use POSIX ':sys_wait_h';\n"
		  "$Data::Dumper::Sortkeys = 1;\n"
		  "my %h; $h{$_ % 997}{$_} = [map { \"x$_\" x 3 } 1 .. 3] for 1 .. 9000;\n"
		  "my $t = JSON::PP->new->canonical->encode(\\%h);\n"
		  "print length $t, ' ', length Dumper(decode_json $t), \"\\n\";\n"
		  "my @s = sort { $a cmp $b } map { encode('UTF-16', reverse \"w\\x{2603}$_\") } 1 .. 9000;\n"
		  "print unpack('%32C*', join '', @s), \"\\n\";\n"
		  "for my $n (1 .. 5) { my $p = fork // die; if (!$p) { my @x = (1) x ($n * 1000); exit $n }\n"
		  "  waitpid $p, 0; print $? >> 8, \"\\n\" }\n"
		  "print scalar(`echo from a pipe`); $SIG{ALRM} = sub { die \"alarm\\n\" };\n"
		  "eval { alarm 1; 1 while select undef, undef, undef, 0.1 }; print $@; exit 3\n"
		  "end\n"
		  "$M /usr/bin/perl s.pl",
	.cmd = "/usr/bin/perl s.pl", .files = 6,
};

/* A real perl program: converts perl's documentation to manual pages. */
FIXTURE_VARIANT_ADD(foreign, perl_pod)
{
	.program = "/usr/bin/pod2man", .package = "perl",
	.script = "for f in $(find /usr/share/perl/ -name 'P*.pm' -size +20k | sort | head -4); do\n"
		  "$M /usr/bin/pod2man --date=x --release=x --center=x $f | sha1sum; done",
	.cmd = "/usr/bin/pod2man", .files = 4,
};

FIXTURE_VARIANT_ADD(foreign, git)
{
	.program = "/usr/bin/git", .package = "git",
	.script = GIT_SETTINGS
		  "git init -q -b main one; cp -r $MASSIF_SRC/userland $MASSIF_SRC/Documentation one; cd one\n"
		  "for d in userland/*/ Documentation; do git add $d && git commit -q -m \"$d\"; done\n"
		  "for i in $(seq 9); do sed -i s/the/THE/$i userland/*/*.c; git commit -q -a -m $i; done\n"
		  "cd ..; $M git clone -q --no-local one two; cd two; $M git gc -q --aggressive\n"
		  "$M git fsck 2>&1; $M git log -p --stat -M | sha1sum; $M git blame userland/base/error.c\n"
		  "$M git checkout -q -b other HEAD~5; $M git merge -q main; git status --short; cd ..\n"
		  "$M git -C two rev-parse nothing; rm -rf one two",
	.cmd = "git ", .files = 8,
};

FIXTURE_VARIANT_ADD(foreign, cc1)
{
	.program = "/usr/bin/gcc", .package = "gcc",
	.script = "gcc -E -D_GNU_SOURCE -DMASSIF_VERSION='\"0\"' -I$MASSIF_SRC -I$MASSIF_SRC/userland "
		  "$MASSIF_SRC/userland/ctl/options/options.c -o in.i\n"
		  "$M $(gcc -print-prog-name=cc1) -quiet -O2 -g -Wall in.i -o out.s; sha1sum out.s\n"
		  "echo 'int main(void) { return x; }' > bad.c\n"
		  "$M $(gcc -print-prog-name=cc1) -quiet bad.c -o bad.s",
	.cmd = "/", .files = 2,
};

/* gcc, and the programs that it starts with vfork: the compiler, the assembler and the linker. */
FIXTURE_VARIANT_ADD(foreign, gcc)
{
	.program = "/usr/bin/gcc", .package = "gcc",
	.script = "printf '#include <stdio.h>\\nint main(void) { return puts(\"built\") < 0; }\\n' > a.c\n"
		  "$M gcc -O1 -flto a.c -o a; ./a",
	.cmd = "/", .files = 4, .follows = true,
};

FIXTURE_VARIANT_ADD(foreign, xmllint)
{
	.program = "/usr/bin/xmllint", .package = "libxml2-utils",
	.script = "{ echo '<list>'; seq 20000 | sed 's|.*|<e n=\"&\"><a>text &amp;amp; &</a><b/></e>|'\n"
		  "echo '</list>'; } > in.xml\n"
		  "$M xmllint --format in.xml | sha1sum; $M xmllint --xpath 'sum(//e/@n)' in.xml\n"
		  "$M xmllint --sax --noout in.xml; $M xmllint --c14n in.xml | sha1sum\n"
		  "echo '<a><b></a>' > bad.xml; $M xmllint bad.xml",
	.cmd = "xmllint ", .files = 5,
};

/* redis-server forks a child to save its data; the server continues. */
FIXTURE_VARIANT_ADD(foreign, redis)
{
	.program = "/usr/bin/redis-server", .package = "redis-server",
	.script = "$M redis-server --port 0 --unixsocket $PWD/s --dir . --appendonly yes > log 2>&1 &\n"
		  "server=$!; for i in $(seq 100); do redis-cli -s s ping 2>/dev/null && break; sleep 0.1; done\n"
		  "redis-benchmark -s s -q -n 10000 -r 2000 -t set,get,lpush,sadd,zadd,hset > bench\n"
		  "tr '\\r' '\\n' < bench | grep -o '^[A-Z]*: [0-9.]* requests' | sed 's/[0-9.]*//g'\n"
		  "redis-cli -s s bgsave > bgsave; redis-cli -s s set a b\n"
		  "for i in $(seq 200); do redis-cli -s s info persistence | grep -q bgsave_in_progress:0 && break\n"
		  "sleep 0.1; done; redis-cli -s s info persistence | grep last_bgsave_status\n"
		  "redis-cli -s s bgrewriteaof; redis-cli -s s get a; redis-cli -s s llen mylist\n"
		  "sleep 1; redis-cli -s s shutdown save; wait $server; echo $?; redis-check-rdb dump.rdb | tail -1",
	.cmd = "redis-server ", .files = 3,
};

/* A master process and the workers that it forks, all of which are terminated while serving requests. */
FIXTURE_VARIANT_ADD(foreign, nginx)
{
	.program = "/usr/sbin/nginx", .package = "nginx-light",
	.script = "PATH=$PATH:/usr/sbin; mkdir www; seq 30000 > www/numbers; echo small > www/small\n"
		  "cat > conf <<end\n"
		  "daemon off; worker_processes 2; pid $PWD/pid; error_log $PWD/error warn;\n"
		  "$([ $(id -u) -ne 0 ] || echo 'user root;')\n"
		  "events { worker_connections 64; }\n"
		  "http { access_log off; gzip on; gzip_min_length 10; gzip_types *; root $PWD/www;\n"
		  "client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3;\n"
		  "uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5; server { listen unix:$PWD/s; } }\n"
		  "end\n"
		  "$M nginx -c $PWD/conf -p $PWD & server=$!\n"
		  "for i in $(seq 100); do [ -S s ] && break; sleep 0.1; done\n"
		  "get() { curl -s --unix-socket s http://x/$1 --compressed; }\n"
		  "for i in $(seq 40); do get numbers; get small; get none; done | sha1sum\n"
		  /* Wait until the master process has both of the new workers. */
		  "old=$(pgrep -P $(cat pid)); kill -HUP $server\n"
		  "for i in $(seq 100); do [ $(pgrep -P $(cat pid) | grep -cvxF \"$old\") -ge 2 ] && break; sleep 0.1; done\n"
		  "get small; kill -QUIT $(cat pid); wait $server; echo $?\n"
		  "grep -c www/none error; grep -v -e www/none -e signal error; :",
	.cmd = "nginx ", .files = 5,
};

/* Go's own heap does not use malloc, but cgo does. */
FIXTURE_VARIANT_ADD(foreign, go_with_cgo)
{
	.program = "/usr/bin/gocryptfs", .package = "gocryptfs",
	.script = "$M gocryptfs -speed | sed -E 's/[[:space:]]+[0-9.]+ MB.*//'\n"
		  "mkdir c; $M gocryptfs -q -init -scryptn 10 -extpass 'echo secret' c; ls -A c\n"
		  "$M gocryptfs -q -passwd -extpass 'echo secret' -scryptn 11 c; echo $?\n"
		  "$M gocryptfs -info c | grep -v Salt | grep -v EncryptedKey; $M gocryptfs -extpass 'echo no' c d; echo $?",
	.cmd = "gocryptfs ", .files = 4,
};

FIXTURE_VARIANT_ADD(foreign, go)
{
	.program = "/usr/bin/fzf", .package = "fzf",
	.script = "seq 50000 | $M fzf -f '1 9 !5' | sha1sum; echo a | $M fzf -f b; echo $?",
	.cmd = "fzf ", .files = 2,
};

FIXTURE_VARIANT_ADD(foreign, rust)
{
	.program = "/usr/bin/rg", .package = "ripgrep",
	.script = "cd $MASSIF_SRC; $M rg --no-config --sort path -n -e 'static .*\\(void\\)' userland preload | sha1sum\n"
		  "$M rg --no-config -j 4 -c '\\bmutex\\b|lock' userland preload | sort | sha1sum\n"
		  "$M rg --no-config -P '(?<=mf_)heap' --json userland/model | grep -c match\n"
		  "$M rg --no-config nothing-has-this-name preload/process/fork.h; echo $?",
	.cmd = "rg ", .files = 4,
};

FIXTURE_VARIANT_ADD(foreign, xz_threads)
{
	.program = "/usr/bin/xz", .package = "xz-utils",
	.script = "seq 900000 > in; $M xz -k -T4 --block-size=1MiB -1 in; $M xz -dc -T4 in.xz | sha1sum; sha1sum in.xz",
	.cmd = "xz ", .files = 2,
};

/* A shell with pipelines, subshells and traps, and the programs it starts. */
FIXTURE_VARIANT_ADD(foreign, bash)
{
	.program = "/bin/bash", .package = "bash",
	.script = "cat > s <<'end'\n"
		  "trap 'echo bye' EXIT; set -o pipefail; declare -A a\n"
		  "for i in {1..20}; do a[$i]=$(echo $((i * i))); done; echo ${#a[@]} ${a[20]}\n"
		  "for i in {1..9}; do (exit $i) & p+=($!); done; for j in ${p[@]}; do wait $j; s+=\" $?\"; done; echo $s\n"
		  "seq 1000 | while read -r l; do echo ${l//1/one}; done | sort | tail -2 | tr a-z A-Z\n"
		  "cat <(echo one) <(echo two); coproc cat; echo hi >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x\n"
		  "kill $COPROC_PID; false | true; echo $?; exec /bin/echo gone; \n"
		  "end\n"
		  "$M /bin/bash s",
	.cmd = "/bin/", .files = 4, .follows = true,
};

static void run(struct ctl_result *result, const char *script, const char *prefix)
{
	char text[16384];

	setenv("M", prefix, 1);
	snprintf(text, sizeof(text),
		 "rm -rf run && mkdir run && cd run || exit 99\n%s\nexit=$?; cd /; exit $exit", script);
	CTL_RUN(result, "/bin/bash", "-c", text);
}

TEST_F_TIMEOUT(foreign, as_without, 120)
{
	char prefix[8192], directory[4096], name[256], program[4096];
	const char *build = getenv("MASSIF_BUILD");
	size_t files = 0;

	snprintf(program, sizeof(program), "%s%s%s", variant->program[0] == '/' ? "" : build,
		 variant->program[0] == '/' ? "" : "/", variant->program);
	if (access(program, F_OK))
		SKIP(return, "there is no %.400s (%s); make check fetches it", program, variant->package);
	snprintf(prefix, sizeof(prefix),
		 "%s -q --time-unit=B --trace-children=%s --massif-out-file=%s/massif.out.%%p", ctl_path(),
		 variant->follows ? "yes" : "no", getcwd(directory, sizeof(directory)));
	run(&self->native, variant->script, "");
	run(&self->ours, variant->script, prefix);
	EXPECT_EQ(ctl_exit_code(&self->native), ctl_exit_code(&self->ours));
	EXPECT_STREQ(self->native.out, self->ours.out);
	EXPECT_STREQ(self->native.err, self->ours.err);
	EXPECT_NE('\0', self->native.out[0]);
	while (ctl_find_files("massif.out.", name)) {
		char *text = ctl_read_file(name);
		const char *cmd = strstr(text, "\ncmd: ");

		EXPECT_TRUE(ctl_is_massif_file(text)) {
			TH_LOG("%s: %.200s", name, text);
		}
		files += cmd && !strncmp(cmd + 6, variant->cmd, strlen(variant->cmd));
		free(text);
		unlink(name);
	}
	EXPECT_LE(variant->files, files);
}

TEST_HARNESS_MAIN
