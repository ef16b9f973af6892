// SPDX-License-Identifier: GPL-2.0
// A device for tests, /dev/massif-sleep. A process that maps it sleeps in mmap_region() until the test wakes it up.
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

static DECLARE_WAIT_QUEUE_HEAD(queue);
static bool awake;
static bool survives;
static atomic_t asleep;

static void wake(bool now)
{
	WRITE_ONCE(awake, now);
	wake_up_all(&queue);
}

/*
 * Writing '0' to the device makes subsequent mmap() calls sleep. 'k' does the same, except that if a thread is killed
 * while it sleeps, its mmap() call still succeeds before the thread exits. '1' wakes all sleepers and lets subsequent
 * calls return without sleeping.
 */
static ssize_t sleep_write(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	char letter;

	if (!size || get_user(letter, text))
		return -EFAULT;
	WRITE_ONCE(survives, letter == 'k');
	wake(letter == '1');
	return size;
}

/* Reading the device gives the number of sleeping processes. */
static ssize_t sleep_read(struct file *file, char __user *text, size_t size, loff_t *at)
{
	char number[16];
	int len = scnprintf(number, sizeof(number), "%d\n", atomic_read(&asleep));

	return simple_read_from_buffer(text, size, at, number, len);
}

/* The sleep is killable, so that a failing test leaves no sleeping process behind. */
static int sleep_mmap(struct file *file, struct vm_area_struct *vma)
{
	int err;

	atomic_inc(&asleep);
	err = wait_event_killable(queue, READ_ONCE(awake));
	atomic_dec(&asleep);
	return READ_ONCE(survives) ? 0 : err;
}

static const struct file_operations operations = {
	.owner	= THIS_MODULE,
	.read	= sleep_read,
	.write	= sleep_write,
	.mmap	= sleep_mmap,
};

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "massif-sleep",
	.fops	= &operations,
	.mode	= 0600,
};

module_misc_device(device);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A mapping that takes as long as a test of Massif wants");
