// SPDX-License-Identifier: GPL-2.0
// A library with thread-local data, for which the dynamic linker allocates 16 bytes more per thread, as it does for
// the shim. It is preloaded under Valgrind so that sizes are equal.

static __thread int one __attribute__((tls_model("initial-exec")));

int *diff_tls(void);

int *diff_tls(void)
{
	return &one;
}
