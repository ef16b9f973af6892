// SPDX-License-Identifier: GPL-2.0
// The stack cache: recognises a stack by all values that were read to unwind it.
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/task.h"
#include "compat/user.h"
#include "stack_cache.h"
#include "session.h"
#include "target.h"

/*
 * Look-ups run in hooks with mmap_lock held, so their maximum cost must not depend on the consumer. Therefore the
 * number of stacks with the same target, pc and sp is limited, and so is the length of each chain.
 */
#define WAYS		16
#define CHAIN		32

/*
 * Typical size of an entry. The number of buckets is chosen so that a full cache of such entries has about one per
 * chain.
 */
#define USUAL_BYTES	512

/* Stack words are compared this many at a time, which saves half of the loop's instructions. */
#define STRIDE		4

/* A cached stack. In words[], a register is identified by its offset in struct pt_regs. */
struct entry {
	struct hlist_node node;		/* node in a hash bucket */
	struct list_head list;		/* node in the cache's list of all entries */
	struct rcu_head rcu;
	u64 pc;
	u64 sp;
	u32 target;
	u32 number;
	int gen;			/* code_gen of the target for which the entry is valid */
	/* A look-up has found the entry since make_room() last examined it. Only a hint; set in hooks. */
	bool used;
	u32 reach;			/* bytes from sp to the end of the highest stack word */
	u32 nr_regs;
	u32 nr_words;
	/* nr_regs registers, then the stack words, whose number is a multiple of STRIDE */
	struct massif_stack_cache_word words[];
};

/* Bytes that an entry occupies, including those by which the allocator rounds up. */
static u32 bytes_of(const struct entry *entry)
{
	return ksize(entry);
}

/**
 * massif_stack_cache_init() - allocate the stack cache of a session.
 * @max: bytes that entries and buckets may use, checked by the caller; 0: no cache.
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int massif_stack_cache_init(struct massif_stack_cache_table *table, u32 max)
{
	u32 buckets;

	memset(table, 0, sizeof(*table));
	mutex_init(&table->lock);
	INIT_LIST_HEAD(&table->entries);
	if (!max)
		return 0;
	table->bits = clamp(ilog2(max / USUAL_BYTES + 1), 4, 16);
	buckets = sizeof(*table->buckets) << table->bits;
	table->buckets = kvzalloc(buckets, GFP_KERNEL_ACCOUNT);
	if (!table->buckets)
		return -ENOMEM;
	/* A cache that is not even large enough for its buckets has no room for any stack. */
	table->max = max > buckets ? max - buckets : 1;
	return 0;
}

/**
 * massif_stack_cache_deinit() - free a stack cache that no hook can read any more, and all of its entries.
 * Context: process context; may sleep, as there can be several hundred thousand entries.
 */
void massif_stack_cache_deinit(struct massif_stack_cache_table *table)
{
	struct entry *entry, *next;

	if (table->buckets)
		list_for_each_entry_safe(entry, next, &table->entries, list) {
			kfree(entry);
			cond_resched();
		}
	kvfree(table->buckets);
	memset(table, 0, sizeof(*table));
}

static struct hlist_head *bucket(struct massif_stack_cache_table *table, u32 target, u64 pc, u64 sp)
{
	/*
	 * The hash must depend on the bits in which the stacks of a program differ. Stack pointers differ mostly in the
	 * low bits above the alignment; program counters may differ in any bits.
	 */
	return &table->buckets[hash_64(pc ^ (sp << 29) ^ ((u64)target << 47), table->bits)];
}

static bool regs_agree(const struct entry *entry, const struct pt_regs *regs)
{
	u32 i;

	for (i = 0; i < entry->nr_regs; i++) {
		const struct massif_stack_cache_word *word = &entry->words[i];

		if (*(const unsigned long *)((const u8 *)regs + word->place) != word->value)
			return false;
	}
	return true;
}

/* Compares the stack words. Page faults are disabled: a word that is not in memory counts as different. */
static bool slots_agree(const struct entry *entry)
{
	const struct massif_stack_cache_word *word = entry->words + entry->nr_regs;
	const struct massif_stack_cache_word *end = entry->words + entry->nr_words;
	const u8 __user *sp = (const u8 __user *)(unsigned long)entry->sp;

	if (!user_access_begin(sp, entry->reach))
		return false;
	for (; word < end; word += STRIDE) {
		massif_user_word_check(sp + word[0].place, word[0].value, differs);
		massif_user_word_check(sp + word[1].place, word[1].value, differs);
		massif_user_word_check(sp + word[2].place, word[2].value, differs);
		massif_user_word_check(sp + word[3].place, word[3].value, differs);
	}
	user_access_end();
	return true;

differs:
	user_access_end();
	return false;
}

/**
 * massif_stack_cache_find() - look up current's stack in the cache.
 * @target: the target of current's address space; current has user registers.
 * Context: hook, RCU read-side section; takes no lock and does not sleep.
 * Return: the number that the consumer gave the stack, or 0 if it is not cached.
 */
u32 massif_stack_cache_find(struct massif_target *target)
{
	struct massif_stack_cache_table *table = &target->session->known;
	struct pt_regs *regs = task_pt_regs(current);
	int gen = atomic_read(&target->code_gen);
	u64 pc = instruction_pointer(regs);
	u64 sp = user_stack_pointer(regs);
	struct entry *entry;
	u32 number = 0;

	if (!table->max || !massif_task_native(regs))
		return 0;
	pagefault_disable();
	hlist_for_each_entry_rcu(entry, bucket(table, target->id, pc, sp), node) {
		if (entry->pc != pc || entry->sp != sp || entry->gen != gen ||
		    entry->target != target->id)
			continue;
		if (!regs_agree(entry, regs) || !slots_agree(entry))
			continue;
		number = entry->number;
		/* Mark the entry as used only if it is not already marked, so that its cache line stays shared. */
		if (!READ_ONCE(entry->used))
			WRITE_ONCE(entry->used, true);
		break;
	}
	pagefault_enable();
	if (number)
		atomic64_inc(&table->hits);
	return number;
}

/**
 * massif_stack_cache_drop() - invalidate all cached stacks of a target, because other code may be at the same addresses
 * now or next.
 *
 * This includes stacks that the consumer adds later, if it unwound them from a STACK record queued before this call.
 *
 * Called when code is unmapped or replaced (munmap, MAP_FIXED, and both ends of mremap), when code is mapped, and when
 * changes were not seen. mprotect needs no hook for this: code that mprotect has made non-executable is noticed when
 * other code is mapped, and code that mprotect makes executable, when the former code is unmapped. Not noticed is code
 * that both loses and gets PROT_EXEC by mprotect, as little as code that a program overwrites in place without any call.
 * madvise(MADV_DONTNEED) changes nothing: the consumer reads code from the file, not from private pages.
 *
 * Context: any.
 */
void massif_stack_cache_drop(struct massif_target *target)
{
	atomic_inc(&target->code_gen);
}

static void forget(struct massif_stack_cache_table *table, struct entry *entry)
{
	lockdep_assert_held(&table->lock);
	hlist_del_rcu(&entry->node);
	list_del(&entry->list);
	table->used -= bytes_of(entry);
	table->count--;
	kfree_rcu(entry, rcu);
}

/* Makes room for a new entry of this size: removes the oldest entries, except those used since the last pass. */
static void make_room(struct massif_stack_cache_table *table, u32 bytes)
{
	u32 spared = 0;

	while (table->used + bytes > table->max) {
		struct entry *entry = list_first_entry(&table->entries, struct entry, list);

		/* The loop can run over all entries of the cache, so yield the processor if needed. */
		cond_resched();
		if (READ_ONCE(entry->used) && spared++ < table->count) {
			WRITE_ONCE(entry->used, false);
			list_move_tail(&entry->list, &table->entries);
			continue;
		}
		forget(table, entry);
		table->forgotten++;
	}
}

/* Inserts a new entry. Removes the entries that it replaces, and one more if the chain would become too long. */
static void insert(struct massif_stack_cache_table *table, struct entry *new)
{
	struct hlist_head *head = bucket(table, new->target, new->pc, new->sp);
	struct entry *entry, *last_way = NULL, *last = NULL;
	struct hlist_node *next;
	unsigned int ways = 0, length = 0;

	/* New entries are inserted at the head, so the one at the tail is the oldest. */
	hlist_for_each_entry_safe(entry, next, head, node) {
		bool same_key = entry->target == new->target && entry->pc == new->pc &&
				entry->sp == new->sp;

		if (same_key && (entry->number == new->number || entry->gen != new->gen)) {
			forget(table, entry);
			continue;
		}
		length++;
		last = entry;
		if (same_key) {
			ways++;
			last_way = entry;
		}
	}
	if (ways >= WAYS || length >= CHAIN) {
		forget(table, ways >= WAYS ? last_way : last);
		table->forgotten++;
	}
	make_room(table, bytes_of(new));
	hlist_add_head_rcu(&new->node, head);
	list_add_tail(&new->list, &table->entries);
	table->used += bytes_of(new);
	table->count++;
}

/* Fills the fields words and reach of an entry from the consumer's data. Returns false if the data are invalid. */
static bool take_words(struct entry *entry, const struct massif_stack_cache_stack *stack)
{
	u32 given = stack->nr_regs + stack->nr_slots;
	u32 i;

	for (i = 0; i < entry->nr_words; i++) {
		struct massif_stack_cache_word *word = &entry->words[i];

		/* Pad with copies of the last stack word, until the number of stack words is a multiple of STRIDE. */
		*word = stack->words[min(i, given - 1)];
		if (word->__pad)
			return false;
		if (i < entry->nr_regs) {
			if (word->place >= massif_task_nr_regs)
				return false;
			word->place = massif_task_reg_offset(word->place);
			continue;
		}
		if (word->place > MASSIF_STACK_MAX - sizeof(u64))
			return false;
		entry->reach = max_t(u32, entry->reach, word->place + sizeof(u64));
	}
	return true;
}

static bool valid_head(const struct massif_stack_cache_stack *stack, size_t room)
{
	u64 words;

	if (room < sizeof(*stack) || stack->size > room)
		return false;
	words = (u64)stack->nr_regs + stack->nr_slots;
	return words <= MASSIF_KNOWN_WORDS && stack->size == struct_size(stack, words, words) &&
	       stack->number;
}

static int tell_one(struct massif_stack_cache_table *table, const struct massif_stack_cache_stack *stack)
{
	u32 nr_words = stack->nr_regs + ALIGN(stack->nr_slots, STRIDE);
	struct entry *entry;

	entry = kzalloc(struct_size(entry, words, nr_words), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!entry)
		return -ENOMEM;
	entry->pc = stack->pc;
	entry->sp = stack->sp;
	entry->target = stack->target;
	entry->number = stack->number;
	entry->gen = stack->code_gen;
	entry->nr_regs = stack->nr_regs;
	entry->nr_words = nr_words;
	if (!take_words(entry, stack)) {
		kfree(entry);
		return -EINVAL;
	}
	if (bytes_of(entry) > table->max) {
		kfree(entry);
		return -ENOSPC;
	}
	insert(table, entry);
	return 0;
}

/**
 * massif_stack_cache_tell() - add to the cache stacks that the consumer has unwound, for MASSIF_IOC_KNOWN.
 * @known: the consumer's argument; taken is set to the number of stacks added.
 *
 * Does not check that the targets exist: an entry for a target that does not exist only wastes the consumer's own
 * space.
 *
 * Context: process context of the consumer; may sleep.
 * Return: 0; -EINVAL for invalid data; -EOPNOTSUPP if the session has no cache; -EFAULT; -ENOMEM; -ENOSPC if
 *	one stack is larger than the cache.
 */
int massif_stack_cache_tell(struct massif_stack_cache_table *table, struct massif_stack_cache *known)
{
	u32 at = 0;
	u8 *stacks;
	int err = 0;

	known->taken = 0;
	if (known->bytes > MASSIF_KNOWN_BATCH)
		return -EINVAL;
	if (!table->max)
		return -EOPNOTSUPP;
	/* Charged to the memory cgroup, because the consumer can make the copy below sleep indefinitely. */
	stacks = kvmalloc(known->bytes, GFP_KERNEL_ACCOUNT);
	if (!stacks)
		return -ENOMEM;
	if (copy_from_user(stacks, u64_to_user_ptr(known->stacks), known->bytes))
		err = -EFAULT;

	mutex_lock(&table->lock);
	while (!err && at < known->bytes) {
		const struct massif_stack_cache_stack *stack = (const void *)(stacks + at);

		if (!IS_ALIGNED(at, 8) || !valid_head(stack, known->bytes - at)) {
			err = -EINVAL;
			break;
		}
		err = tell_one(table, stack);
		at += stack->size;
		known->taken++;
		cond_resched();
	}
	mutex_unlock(&table->lock);
	kvfree(stacks);
	return err;
}

/**
 * massif_stack_cache_status() - fill the fields of MASSIF_IOC_STATUS about the stack cache.
 * Context: process context; may sleep.
 */
void massif_stack_cache_status(struct massif_stack_cache_table *table, struct massif_status *status)
{
	mutex_lock(&table->lock);
	status->known_used = atomic64_read(&table->hits);
	status->known_forgotten = table->forgotten;
	status->known_stacks = table->count;
	status->known_bytes = table->used;
	mutex_unlock(&table->lock);
}
