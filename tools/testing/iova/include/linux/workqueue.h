/* SPDX-License-Identifier: GPL-2.0-only */
/* Work waits until sim_run_work() or a sim_worker() thread runs it. */
#ifndef _SIM_WORKQUEUE_H
#define _SIM_WORKQUEUE_H

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>

struct work_struct {
	void			(*func)(struct work_struct *work);
	struct list_head	entry;
	unsigned long		due;
	bool			pending;
};

struct delayed_work {
	struct work_struct work;
};

struct workqueue_struct;
#define system_unbound_wq	((struct workqueue_struct *)NULL)

#define INIT_WORK(w, f) do {						\
	(w)->func = (f);						\
	(w)->pending = false;						\
} while (0)
#define INIT_DELAYED_WORK(d, f)		INIT_WORK(&(d)->work, f)
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define work_pending(w)			READ_ONCE((w)->pending)
#define delayed_work_pending(d)		work_pending(&(d)->work)

bool sim_queue_work(struct work_struct *work, unsigned long delay);
bool cancel_work_sync(struct work_struct *work);

#define queue_work(wq, w)		((void)(wq), sim_queue_work(w, 0))
#define queue_delayed_work(wq, d, delay)				\
	((void)(wq), sim_queue_work(&(d)->work, delay))
#define schedule_delayed_work(d, delay)	sim_queue_work(&(d)->work, delay)
#define cancel_delayed_work_sync(d)	cancel_work_sync(&(d)->work)

#endif
