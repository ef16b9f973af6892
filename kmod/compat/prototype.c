// SPDX-License-Identifier: GPL-2.0
// Checks that kernel functions and tracepoints that are found by name have the prototypes that the module
// expects.
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "btf.h"
#include "compat/hookpoint.h"
#include "compat/prototype.h"

/*
 * The compiler cannot check functions that are found by name, because no header declares them. If a function had an
 * extra leading argument, we would follow a wrong pointer. So their prototypes are compared with the kernel's own type
 * information (BTF), once, when the module is loaded. If any differs, no session can be set up.
 *
 * The BTF data are read as a file, because the kernel's functions for it are not exported to modules. Functions without
 * BTF are not compared: a kernel may be built without BTF, and BTF does not describe functions whose arguments the
 * compiler has changed. The compiler also renames such functions, so we do not hook them.
 */
#define BTF_FILE	"/sys/kernel/btf/vmlinux"
/* Maximum size of the BTF data in bytes; this is more than ten times the size of the BTF data in Debian's kernels. */
#define BTF_MAX		(64 << 20)

/* btf_trace_NAME is the type of a probe function of tracepoint NAME. */
#define TRACE		"btf_trace_"

static const struct massif_btf_row others[] = {
	{ MASSIF_FAULT_SYMBOL, "int(vm_area_struct *, long, int, pt_regs *)" },
	{ "ptrace_may_access", "bool(task_struct *, int)" },
	{ "task_work_cancel_match", "callback_head *(task_struct *, *, *)" },
	{ TRACE "sched_process_fork", "void(*, task_struct *, task_struct *)" },
	{ TRACE "sched_process_exec", "void(*, task_struct *, int, linux_binprm *)" },
#ifdef MASSIF_HAVE_exit_group_dead
	{ TRACE "sched_process_exit", "void(*, task_struct *, bool)" },
#else
	{ TRACE "sched_process_exit", "void(*, task_struct *)" },
#endif
	{ TRACE "page_fault_user", "void(*, long, pt_regs *, long)" },
	{ TRACE "page_fault_kernel", "void(*, long, pt_regs *, long)" },
#ifdef MASSIF_HAVE_mm_rss_atomic
	{ TRACE "rss_stat", "void(*, mm_struct *, int, long)" },
#else
	{ TRACE "rss_stat", "void(*, mm_struct *, int)" },
#endif
};

#define ROWS_MAX	(MASSIF_HOOK_COUNT + MASSIF_POPULATE_COUNT + ARRAY_SIZE(others) + 1)
static struct massif_btf_row rows[ROWS_MAX];
static unsigned int nr_rows;
static const char *other;

static char *expect;
module_param(expect, charp, 0);
MODULE_PARM_DESC(expect, "NAME=PROTOTYPE: expect something else of a kernel function (for tests)");

static void __init expect_of(const char *name, const char *prototype)
{
	unsigned int i;

	for (i = 0; i < nr_rows && strcmp(rows[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(rows))
		return;
	rows[i].name = name;
	rows[i].prototype = prototype;
	nr_rows = max(nr_rows, i + 1);
}

static void __init fill_rows(void)
{
	char *prototype;
	unsigned int i;

	for (i = 0; i < MASSIF_HOOK_COUNT; i++)
		if (massif_hookpoints[i].symbol)
			expect_of(massif_hookpoints[i].symbol, massif_hookpoints[i].prototype);
	for (i = 0; i < MASSIF_POPULATE_COUNT; i++)
		expect_of(massif_populatepoints[i].symbol, massif_populatepoints[i].prototype);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		expect_of(others[i].name, others[i].prototype);
	/*
	 * The table of prototypes may point into the text of this module parameter: the kernel keeps it as long as the
	 * module is loaded.
	 */
	prototype = expect;
	if (prototype && strsep(&prototype, "=") && prototype)
		expect_of(expect, prototype);
}

/*
 * Reads the whole file into memory, which the caller frees with vfree(). Returns its size in bytes, or
 * -errno.
 */
static ssize_t __init read_all(struct file *file, void **data)
{
	loff_t size = i_size_read(file_inode(file)), at = 0;
	ssize_t got = 0;

	if (size <= 0 || size > BTF_MAX)
		return -EINVAL;
	*data = vmalloc(size);
	if (!*data)
		return -ENOMEM;
	while (at < size) {
		got = kernel_read(file, *data + at, size - at, &at);
		if (got <= 0)
			break;
	}
	if (at == size)
		return size;
	vfree(*data);
	return got < 0 ? got : -EIO;
}

static int __init compare_with(const void *data, size_t size)
{
	struct massif_btf btf;
	u32 *offsets;
	int err = massif_btf_open(&btf, data, size);

	if (err)
		return err;
	offsets = kvmalloc_array(btf.count, sizeof(*offsets), GFP_KERNEL);
	if (!offsets)
		return -ENOMEM;
	massif_btf_index(&btf, offsets);
	massif_btf_compare(&btf, rows, nr_rows);
	kvfree(offsets);
	return 0;
}

static int __init compare(void)
{
	struct file *file = filp_open(BTF_FILE, O_RDONLY, 0);
	void *data = NULL;
	ssize_t size;
	int err;

	if (IS_ERR(file))
		return PTR_ERR(file);
	/*
	 * kernel_read_file() is not used, because some security modules warn about reads whose purpose they do not
	 * know.
	 */
	size = read_all(file, &data);
	err = size < 0 ? size : compare_with(data, size);
	if (size >= 0)
		vfree(data);
	filp_close(file, NULL);
	return err;
}

int __init massif_prototype_init(void)
{
	unsigned int i;
	int err;

	fill_rows();
	err = compare();
	if (err == -ENOMEM)
		return err;
	if (err)
		pr_info("%s: cannot read %s (%d), so the prototypes of kernel functions are not checked\n",
			KBUILD_MODNAME, BTF_FILE, err);
	for (i = 0; i < nr_rows; i++) {
		if (rows[i].verdict != MASSIF_BTF_OTHER)
			continue;
		pr_err("%s: %s of this kernel does not have the expected prototype, %s; sessions are refused\n",
		       KBUILD_MODNAME, rows[i].name, rows[i].prototype);
		other = other ?: rows[i].name;
	}
	return 0;
}

const char *massif_prototype_other(void)
{
	return other;
}

bool massif_prototype_same(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		const char *known = rows[i].name;

		if (!strncmp(known, TRACE, strlen(TRACE)))
			known += strlen(TRACE);
		if (!strcmp(known, name))
			return rows[i].verdict == MASSIF_BTF_SAME;
	}
	return false;
}
