// SPDX-License-Identifier: GPL-2.0
// massif.ko: loading and unloading.
#include <linux/kconfig.h>
#include <linux/module.h>
#include <linux/printk.h>

#include "compat/prototype.h"
#include "compat/ptrace.h"
#include "compat/task_work.h"
#include "detour.h"
#include "device.h"
#include "process.h"
#include "processor.h"
#include "quiescent.h"
#include "release.h"
#include "rss_span.h"
#include "target.h"
#include "return_work.h"
#include "rss_notifier.h"

#ifndef CONFIG_64BIT
#error "massif: 32-bit kernels are not supported"
#endif

static int __init massif_init(void)
{
	int err;

	/*
	 * Tracepoint and kretprobe handlers run with preemption off, but take wait-queue and slab locks. With
	 * PREEMPT_RT these are sleeping locks, so the module cannot work there.
	 */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_err("%s: this kernel has PREEMPT_RT, which the module does not support\n", KBUILD_MODNAME);
		return -EOPNOTSUPP;
	}
	err = massif_prototype_init();
	if (err)
		return err;
	massif_ptrace_init();
	massif_task_work_init();
	massif_return_work_init();
	massif_rss_spans_start();
	err = massif_target_init();
	if (err)
		return err;
	err = massif_process_init();
	if (err)
		goto err_target;
	err = massif_processor_init();
	if (err)
		goto err_process;
	err = massif_device_init();
	if (err)
		goto err_processor;
	return 0;

err_processor:
	massif_processor_exit();
err_process:
	massif_process_exit();
err_target:
	massif_target_exit();
	return err;
}

/* No session exists any more, because each session holds a reference to the module. */
static void __exit massif_exit(void)
{
	massif_device_exit();
	massif_processor_exit();
	massif_quiescent_begin();
	massif_rss_notifier_exit();
	massif_rss_spans_exit();
	massif_return_work_exit();
	massif_detour_exit();
	massif_quiescent_end();
	massif_quiescent_exit();
	massif_process_exit();
	massif_target_exit();
}

module_init(massif_init);
module_exit(massif_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Event source of the Massif memory profiler");
MODULE_VERSION(MASSIF_RELEASE);
