/* SPDX-License-Identifier: GPL-2.0-only */
/* Readers are counted, and synchronize_rcu() waits until there is none. */
#ifndef _SIM_RCULIST_H
#define _SIM_RCULIST_H

#include <linux/atomic.h>
#include <linux/list.h>

#undef synchronize_rcu
extern int sim_rcu_readers;
void synchronize_rcu(void);

#define rcu_read_lock()							\
	((void)__atomic_fetch_add(&sim_rcu_readers, 1, __ATOMIC_SEQ_CST))
#define rcu_read_unlock()						\
	((void)__atomic_fetch_sub(&sim_rcu_readers, 1, __ATOMIC_SEQ_CST))

static inline void list_add_rcu(struct list_head *new, struct list_head *head)
{
	new->next = head->next;
	new->prev = head;
	head->next->prev = new;
	__atomic_store_n(&head->next, new, __ATOMIC_RELEASE);
}

static inline void list_del_rcu(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	__atomic_store_n(&entry->prev->next, entry->next, __ATOMIC_RELEASE);
	entry->prev = NULL;
}

#define list_for_each_entry_rcu(pos, head, member)			\
	for (pos = container_of(READ_ONCE((head)->next), typeof(*pos), member); \
	     &pos->member != (head);					\
	     pos = container_of(READ_ONCE(pos->member.next), typeof(*pos), \
				member))

#endif
