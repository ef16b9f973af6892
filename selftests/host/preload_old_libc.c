// SPDX-License-Identifier: GPL-2.0
// The way in which functions are looked up where the C library has no dlsym() finds what dlsym() finds.

#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "preload/core/old_libc.h"

/* The executable's own definition, which is found first. */
__attribute__((visibility("default"), noinline)) int mlockall(int flags)
{
	return flags + 1;
}

TEST(same_as_dlsym)
{
	/* Some of these have an old version, too. */
	static const char *const names[] = {
		"malloc", "free", "calloc", "realloc", "posix_spawn", "posix_spawnp", "execvpe", "prlimit", "dlopen", "syscall",
		"regexec", "pthread_setname_np",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ASSERT_NE(NULL, dlsym(RTLD_DEFAULT, names[i]));
		EXPECT_EQ(dlsym(RTLD_DEFAULT, names[i]), mf_old_libc_find(names[i], true)) {
			TH_LOG("%s", names[i]);
		}
		EXPECT_EQ(dlsym(RTLD_NEXT, names[i]), mf_old_libc_find(names[i], false)) {
			TH_LOG("%s", names[i]);
		}
	}
	EXPECT_NE(dlvsym(RTLD_DEFAULT, "posix_spawn", "GLIBC_2.2.5"), mf_old_libc_find("posix_spawn", true));
}

TEST(missing)
{
	EXPECT_EQ(NULL, mf_old_libc_find("massif_defines_no_such_function", true));
	EXPECT_EQ(NULL, mf_old_libc_find("", true));
	/* A variable is not a function. */
	EXPECT_EQ(NULL, mf_old_libc_find("__libc_single_threaded", true));
}

/* The test's own object takes the place of the shim, and is skipped: only the C library's definition is left. */
TEST(skips_its_own_object)
{
	EXPECT_EQ(dlsym(RTLD_NEXT, "mlockall"), mf_old_libc_find("mlockall", true));
	EXPECT_EQ(2, mlockall(1));
}

TEST_HARNESS_MAIN
