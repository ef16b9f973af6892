// SPDX-License-Identifier: GPL-2.0
// A shared object with data of each thread, as our shim is one: the dynamic linker then allocates
// 16 bytes more for every thread. Valgrind is given it to have the same.

static __thread int one __attribute__((tls_model("initial-exec")));

int *diff_tls(void);

int *diff_tls(void)
{
	return &one;
}
