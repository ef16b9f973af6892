// SPDX-License-Identifier: GPL-2.0
// The device /dev/massif: its ioctls, poll() and mmap(). All arguments from user space are checked here.
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/massif.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "attach.h"
#include "device.h"
#include "hooks.h"
#include "hooktest.h"
#include "release.h"
#include "resync.h"
#include "session.h"
#include "rss_notifier.h"

static int ioctl_query(struct massif_session *session, void *arg)
{
	struct massif_query *query = arg;

	if (query->flags || query->__pad)
		return -EINVAL;
	query->abi = MASSIF_ABI;
	query->features = MASSIF_FEATURE_PAGES | MASSIF_FEATURE_STACKS |
			  MASSIF_FEATURE_KNOWN | MASSIF_FEATURE_ATTACH |
			  (massif_rss_notifier_available ? MASSIF_FEATURE_RESIDENT : 0);
	strscpy_pad(query->release, MASSIF_RELEASE, sizeof(query->release));
	return 0;
}

static bool valid_sizes(const struct massif_setup *setup)
{
	u64 ring = setup->ring_bytes;
	u32 stack = setup->max_stack_bytes;

	return is_power_of_2(ring) && ring >= MASSIF_RING_MIN && ring <= MASSIF_RING_MAX &&
	       (!stack || stack >= 256) && stack <= MASSIF_STACK_MAX && !(stack & 7) &&
	       ring >= 4 * (u64)stack && setup->known_bytes <= MASSIF_KNOWN_MAX;
}

static int ioctl_setup(struct massif_session *session, void *arg)
{
	struct massif_setup *setup = arg;

	if (setup->flags & ~(MASSIF_SETUP_RESIDENT | MASSIF_SETUP_VERIFY))
		return -EINVAL;
	if (setup->abi != MASSIF_ABI)
		return -EPROTONOSUPPORT;
	if (!valid_sizes(setup))
		return -EINVAL;
	if (setup->flags & MASSIF_SETUP_RESIDENT && !massif_rss_notifier_available)
		return -EOPNOTSUPP;
	memset(setup->dead_hook, 0, sizeof(setup->dead_hook));
	return massif_session_setup(session, setup);
}

static int ioctl_enrol(struct massif_session *session, void *arg)
{
	struct massif_enrol *enrol = arg;

	if (enrol->flags || enrol->__pad)
		return -EINVAL;
	return massif_enrol(session, &enrol->target);
}

static int ioctl_resync(struct massif_session *session, void *arg)
{
	struct massif_resync *resync = arg;

	if (resync->flags & ~MASSIF_RESYNC_ALL)
		return -EINVAL;
	massif_session_tend(session);
	return massif_resync_session(session, resync->target, resync->flags & MASSIF_RESYNC_ALL,
				     &resync->remaining);
}

static int ioctl_status(struct massif_session *session, void *arg)
{
	struct massif_status *status = arg;

	if (status->flags)
		return -EINVAL;
	massif_session_status(session, status);
	return 0;
}

static int ioctl_known(struct massif_session *session, void *arg)
{
	struct massif_stack_cache *known = arg;

	if (known->flags)
		return -EINVAL;
	return massif_stack_cache_tell(&session->known, known);
}

static int ioctl_hook(struct massif_session *session, void *arg)
{
	struct massif_hook_info *info = arg;

	if (info->flags || info->__pad)
		return -EINVAL;
	return massif_hooks_describe(info);
}

static int ioctl_attach(struct massif_session *session, void *arg)
{
	struct massif_attach *attach = arg;

	if (attach->flags || attach->pid <= 0)
		return -EINVAL;
	return massif_attach(session, attach->pid, &attach->target);
}

static int ioctl_test(struct massif_session *session, void *arg)
{
	struct massif_test *test = arg;
	const char *dead;
	int err;

	if (test->flags & ~(MASSIF_TEST_JOIN | MASSIF_TEST_SPECIAL | MASSIF_TEST_STACK))
		return -EINVAL;
	memset(test->dead_hook, 0, sizeof(test->dead_hook));
	if (test->flags & MASSIF_TEST_JOIN)
		return massif_hooktest_join(session);
	err = massif_hooktest_tell(session, test->flags & MASSIF_TEST_SPECIAL,
				   test->flags & MASSIF_TEST_STACK, &dead);
	if (err == -ENODEV)
		strscpy(test->dead_hook, dead, sizeof(test->dead_hook));
	return err;
}

static const struct {
	unsigned int cmd;
	bool early;		/* true if the ioctl is allowed before SETUP */
	int (*run)(struct massif_session *session, void *arg);
} ioctls[] = {
	{ MASSIF_IOC_QUERY,	true,	ioctl_query },
	{ MASSIF_IOC_SETUP,	true,	ioctl_setup },
	{ MASSIF_IOC_ENROL,	false,	ioctl_enrol },
	{ MASSIF_IOC_RESYNC,	false,	ioctl_resync },
	{ MASSIF_IOC_STATUS,	false,	ioctl_status },
	{ MASSIF_IOC_KNOWN,	false,	ioctl_known },
	{ MASSIF_IOC_ATTACH,	false,	ioctl_attach },
	{ MASSIF_IOC_TEST,	false,	ioctl_test },
	{ MASSIF_IOC_HOOK,	false,	ioctl_hook },
};

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct massif_session *session = file->private_data;
	union {
		u32 size;	/* size of the ioctl's argument; every argument begins with it */
		struct massif_query query;
		struct massif_setup setup;
		struct massif_enrol enrol;
		struct massif_resync resync;
		struct massif_status status;
		struct massif_stack_cache known;
		struct massif_attach attach;
		struct massif_test test;
		struct massif_hook_info hook;
	} arg;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ioctls); i++)
		if (ioctls[i].cmd == cmd)
			break;
	if (i == ARRAY_SIZE(ioctls))
		return -ENOTTY;
	if (copy_from_user(&arg, (void __user *)user, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (arg.size != _IOC_SIZE(cmd))
		return -EINVAL;
	if (!ioctls[i].early && !massif_session_ready(session))
		return -ENXIO;

	err = ioctls[i].run(session, &arg);
	/* On ENODEV, dead_hook in the argument names the hook that cannot be armed (SETUP) or has not fired (TEST). */
	if ((!err || err == -ENODEV) && copy_to_user((void __user *)user, &arg, _IOC_SIZE(cmd)))
		return -EFAULT;
	return err;
}

static __poll_t device_poll(struct file *file, struct poll_table_struct *wait)
{
	struct massif_session *session = file->private_data;
	__poll_t events = 0;

	if (!massif_session_ready(session))
		return EPOLLERR;
	poll_wait(file, &session->wait, wait);
	massif_session_tend(session);
	if (massif_ring_readable(&session->ring))
		events |= EPOLLIN | EPOLLRDNORM;
	if (massif_session_over(session))
		events |= EPOLLHUP;
	return events;
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct massif_session *session = file->private_data;

	if (!massif_session_ready(session))
		return -ENXIO;
	return massif_ring_mmap(&session->ring, vma);
}

static int device_open(struct inode *inode, struct file *file)
{
	struct massif_session *session = massif_session_create(file);

	if (!session)
		return -ENOMEM;
	file->private_data = session;
	return stream_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	massif_session_close(file->private_data);
	return 0;
}

/* .owner prevents the removal of the module while a session is open or its ring is mapped. */
static const struct file_operations operations = {
	.owner		= THIS_MODULE,
	.open		= device_open,
	.release	= device_release,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.poll		= device_poll,
	.mmap		= device_mmap,
};

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "massif",
	.fops	= &operations,
	.mode	= 0660,
};

int massif_device_init(void)
{
	return misc_register(&device);
}

void massif_device_exit(void)
{
	misc_deregister(&device);
}
