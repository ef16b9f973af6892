// SPDX-License-Identifier: GPL-2.0
// Programs with another C library's dynamic loader, which would end them because it cannot load the shim. However a
// profiled program executes them, they run as without massif, and the user is told.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define ROOT "loader.tree"

/* The program's result is 7. Its loader is musl's. */
static const char source[] = "#include <stdlib.h>\n"
			     "int main(void) { void *volatile p = malloc(9); free(p); return 7; }\n";

/* Makes a root directory that has only the program, its loader, and what else is in $@, at the same paths as here. */
static const char make_tree[] =
	"set -e; rm -rf " ROOT "; mkdir -p " ROOT "/bin " ROOT "/proc; cp loader_musl " ROOT "/bin/\n"
	"set -- $(readelf -lW loader_musl | sed -n 's/.*interpreter: \\(.*\\)].*/\\1/p') \"$@\"\n"
	"for file; do mkdir -p " ROOT "$(dirname $file); cp -L $file " ROOT "$file; done\n";

/* Compiles loader_musl. Returns 0, a negative number if there is no compiler for musl, or the compiler's status. */
static int make_program(void)
{
	if (system("command -v musl-gcc >/dev/null"))
		return -1;
	ctl_write_file("loader_musl.c", source, 0644);
	return system("musl-gcc -O1 -o loader_musl loader_musl.c");
}

/* Compiles loader_musl, or skips the test. */
#define MAKE_PROGRAM()                                             \
	do {                                                       \
		int made_status = make_program();                  \
								   \
		if (made_status < 0)                               \
			SKIP(return, "musl-gcc is not installed"); \
		ASSERT_EQ(0, made_status);                         \
	} while (0)

FIXTURE(loader)
{
	struct ctl_result made, result;
};

FIXTURE_SETUP(loader)
{
	MAKE_PROGRAM();
	ctl_write_file("loader_script", "#! ./loader_musl -x\n", 0755);
	ctl_write_file("loader_nested", "#!./loader_script\n", 0755);
	setenv("PATH", "/no-such-directory::/usr/bin:/bin:/usr/sbin:/sbin", 1);
}

FIXTURE_TEARDOWN(loader)
{
	ctl_remove_files("massif.out");
	ctl_remove_files("loader_");
	ctl_result_free(&self->made);
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(loader)
{
	const char *program, *option, *script;
	bool unannounced; /* massif-ctl does not get to know the program's name */
};

/* execve, with the environment and with an empty one; execvp; posix_spawnp; fexecve; execveat; musl's loader; scripts. */
FIXTURE_VARIANT_ADD(loader, path) { "sh", "-c", "exec ./loader_musl" };
FIXTURE_VARIANT_ADD(loader, no_environment) { "env", "-i", "./loader_musl" };
FIXTURE_VARIANT_ADD(loader, name) { "perl", "-e", "exec 'loader_musl'" };
FIXTURE_VARIANT_ADD(loader, spawned)
{
	"python3", "-c",
	"import os; child = os.posix_spawnp('loader_musl', ['m'], os.environ)\n"
	"os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
};
FIXTURE_VARIANT_ADD(loader, descriptor)
{
	"python3", "-c", "import os; os.execve(os.open('loader_musl', os.O_RDONLY), ['m'], os.environ)",
	.unannounced = true,
};
FIXTURE_VARIANT_ADD(loader, system_call)
{
	"perl", "-e",
	"$p = './loader_musl'; $v = pack('pQ', 'm', 0); $e = pack('Q', 0); syscall(322, -100, $p, $v, $e, 0)"
};
FIXTURE_VARIANT_ADD(loader, by_its_loader)
{
	"sh", "-c", "exec $(readelf -lW loader_musl | sed -n 's/.*interpreter: \\(.*\\)].*/\\1/p') ./loader_musl"
};
FIXTURE_VARIANT_ADD(loader, script) { "sh", "-c", "exec ./loader_script" };
FIXTURE_VARIANT_ADD(loader, script_of_a_script) { "sh", "-c", "exec ./loader_nested" };

TEST_F(loader, runs)
{
	const char *told;

	CTL_RUN(&self->result, "massif-ctl", "--trace-children=yes", "--time-unit=B", variant->program, variant->option,
		variant->script);
	EXPECT_EQ(7, ctl_exit_code(&self->result)) {
		TH_LOG("%s", self->result.err);
	}
	told = strstr(self->result.err, "uses another C library, so heap mode cannot profile it");
	EXPECT_EQ(variant->unannounced, !told);
	EXPECT_EQ(NULL, told ? strstr(told + 1, "uses another C library") : NULL);
	EXPECT_EQ(NULL, strstr(self->result.err, "Error"));
}

/*
 * How long a path may be, and how often a script may name another one, is for the C library and the kernel to decide: beyond
 * their limits, the calls fail as they do without massif.
 */
FIXTURE(loader_limit)
{
	struct ctl_result alone, profiled;
};

FIXTURE_SETUP(loader_limit)
{
	MAKE_PROGRAM();
}

FIXTURE_TEARDOWN(loader_limit)
{
	ctl_remove_files("massif.out");
	system("rm -rf loader_*");
	ctl_result_free(&self->alone);
	ctl_result_free(&self->profiled);
}

FIXTURE_VARIANT(loader_limit)
{
	const char *program;
	const char *n;
	int status;
};

/*
 * A directory in PATH is, with a slash and the program's name, $n bytes long. To make it, the directories on its way are
 * entered one by one, because the kernel takes no longer paths.
 */
#define BY_NAME                                                                                   \
	"import os, sys\n"                                                                        \
	"n = int(sys.argv[1]) - len('/loader_musl')\n"                                            \
	"top = os.getcwd()\n"                                                                     \
	"path = '.'\n"                                                                            \
	"while len(path) < n:\n"                                                                  \
	"    left = n - len(path) - 1\n"                                                          \
	"    part = 'loader_' + 'd' * ((left if left <= 200 else min(150, left - 20)) - 7)\n"     \
	"    os.makedirs(part, exist_ok=True)\n"                                                  \
	"    os.chdir(part)\n"                                                                    \
	"    path += '/' + part\n"                                                                \
	"assert len(path) == n\n"                                                                 \
	"if not os.path.exists('loader_musl'): os.link(top + '/loader_musl', 'loader_musl')\n"    \
	"os.chdir(top)\n"                                                                         \
	"os.environ['PATH'] = path\n"                                                             \
	"import ctypes\n"                                                                         \
	"argv = (ctypes.c_char_p * 2)(b'loader_musl', None)\n"                                    \
	"ctypes.CDLL(None, use_errno=True).execvp(b'loader_musl', argv)\n"                        \
	"os._exit(ctypes.get_errno())\n"

/* The path of the program's loader is $n bytes long, with its terminating zero. */
#define LOADER_PATH                                                                               \
	"import os, subprocess, sys\n"                                                            \
	"n = int(sys.argv[1]) - 1\n"                                                              \
	"line = subprocess.run(['readelf', '-lW', 'loader_musl'], stdout=subprocess.PIPE).stdout.decode()\n" \
	"musl = line.split('interpreter: ')[1].split(']')[0]\n"                                   \
	"path = '/' * (n - len(musl)) + musl\n"                                                   \
	"made = ['musl-gcc', '-O1', '-o', 'loader_long', 'loader_musl.c', '-Wl,-dynamic-linker,' + path]\n" \
	"subprocess.run(made, check=True)\n"                                                      \
	"try:\n"                                                                                  \
	"    os.execv('./loader_long', ['x'])\n"                                                  \
	"except OSError as why:\n"                                                                \
	"    os._exit(why.errno)\n"

/* A script that names a script ... that names the program, $n scripts. */
#define SCRIPTS                                                                                   \
	"import os, sys\n"                                                                        \
	"n = int(sys.argv[1])\n"                                                                  \
	"for i in range(1, n + 1):\n"                                                             \
	"    with open('loader_%d' % i, 'w') as script:\n"                                        \
	"        script.write('#!./loader_%s\\n' % (str(i - 1) if i > 1 else 'musl'))\n"          \
	"    os.chmod('loader_%d' % i, 0o755)\n"                                                  \
	"try:\n"                                                                                  \
	"    os.execv('./loader_%d' % n, ['x'])\n"                                                \
	"except OSError as why:\n"                                                                \
	"    os._exit(why.errno)\n"

FIXTURE_VARIANT_ADD(loader_limit, path) { BY_NAME, "4095", 7 };
FIXTURE_VARIANT_ADD(loader_limit, path_one_more) { BY_NAME, "4096", 36 /* ENAMETOOLONG */ };
FIXTURE_VARIANT_ADD(loader_limit, path_ten_times) { BY_NAME, "40950", 0 /* the C library leaves it out, without an error */ };
FIXTURE_VARIANT_ADD(loader_limit, loader_path) { LOADER_PATH, "4096", 7 };
FIXTURE_VARIANT_ADD(loader_limit, loader_path_one_more) { LOADER_PATH, "4097", 8 /* ENOEXEC */ };
FIXTURE_VARIANT_ADD(loader_limit, loader_path_ten_times) { LOADER_PATH, "40960", 8 };
FIXTURE_VARIANT_ADD(loader_limit, scripts) { SCRIPTS, "5", 7 };
FIXTURE_VARIANT_ADD(loader_limit, scripts_one_more) { SCRIPTS, "6", 40 /* ELOOP */ };
FIXTURE_VARIANT_ADD(loader_limit, scripts_ten_times) { SCRIPTS, "50", 40 };

TEST_F(loader_limit, is_the_systems)
{
	CTL_RUN(&self->alone, "python3", "-c", variant->program, variant->n);
	EXPECT_EQ(variant->status, ctl_exit_code(&self->alone)) TH_LOG("%s", self->alone.err);
	CTL_RUN(&self->profiled, "massif-ctl", "--trace-children=yes", "--time-unit=B", "python3", "-c", variant->program,
		variant->n);
	EXPECT_EQ(variant->status, ctl_exit_code(&self->profiled)) TH_LOG("%s", self->profiled.err);
}

/* Each program is executed as soon as massif-ctl knows. Without an answer, each would wait for ten seconds. */
TEST(loader_without_delay)
{
	struct ctl_result result;
	time_t begun;

	MAKE_PROGRAM();
	begun = time(NULL);
	CTL_RUN(&result, "massif-ctl", "--trace-children=yes", "--time-unit=B", "sh", "-c",
		"for i in 1 2 3 4; do ./loader_musl; done; exit 5");
	EXPECT_EQ(5, ctl_exit_code(&result));
	EXPECT_GT(20, time(NULL) - begun);
	ctl_result_free(&result);
	ctl_remove_files("massif.out");
	ctl_remove_files("loader_");
}

FIXTURE(loader_root)
{
	struct ctl_result made, result;
};

FIXTURE_SETUP(loader_root)
{
	struct ctl_result allowed;

	MAKE_PROGRAM();
	CTL_RUN(&allowed, "unshare", "-Urm", "mount", "--rbind", "/proc", "/proc");
	ctl_result_free(&allowed);
	if (ctl_exit_code(&allowed))
		SKIP_SETUP("a user namespace is not permitted");
}

FIXTURE_TEARDOWN(loader_root)
{
	struct ctl_result removed;

	CTL_RUN(&removed, "rm", "-rf", ROOT);
	ctl_result_free(&removed);
	ctl_remove_files("massif.out");
	ctl_remove_files("loader_");
	ctl_result_free(&self->made);
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(loader_root)
{
	bool has_shim;
};

FIXTURE_VARIANT_ADD(loader_root, without_the_shim) { false };
FIXTURE_VARIANT_ADD(loader_root, with_the_shim) { true };

/*
 * A root directory without glibc, as in an image of Alpine. Copying the shim there would not help, so massif-ctl does
 * not suggest it.
 */
TEST_F(loader_root, runs)
{
	char shim[4096];

	snprintf(shim, sizeof(shim), "%s/libmassif-preload.so", getenv("MASSIF_BUILD"));
	CTL_RUN(&self->made, "sh", "-c", make_tree, "sh", variant->has_shim ? shim : NULL);
	ASSERT_EQ(0, ctl_exit_code(&self->made)) {
		TH_LOG("%s", self->made.err);
	}
	CTL_RUN(&self->result, "massif-ctl", "--trace-children=yes", "--time-unit=B", "unshare", "-Ur", "chroot", ROOT,
		"/bin/loader_musl");
	EXPECT_EQ(7, ctl_exit_code(&self->result)) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.err, "/" ROOT "/bin/loader_musl uses another C library"));
	EXPECT_EQ(NULL, strstr(self->result.err, "copy"));
	EXPECT_EQ(NULL, strstr(self->result.err, "Error"));
}

TEST_HARNESS_MAIN
