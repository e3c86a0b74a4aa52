/* tests.h: the cases of both files. */
#ifndef SF_TESTS_UNIT_TASK_TESTS_H
#define SF_TESTS_UNIT_TASK_TESTS_H

#include "task/task.h"
#include "unit/check.h"

void pool_delivers_everything_once(void);
void stop_waits_for_the_run(void);
void stop_ends_restless_actors(void);
void pool_timers_fire_when_due(void);
void pool_timer_wakes_an_actor(void);
void pool_timer_cancel_waits(void);
void blocking_queue_is_bounded_and_drained(void);
void pool_open_fails_cleanly(void);
void ack_completes_once_over_threads(void);

#endif
