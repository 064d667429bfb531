// pool: a model of how src/engine/pool.c parks, wakes, closes and cancels, checked exhaustively by spin.
//
// All state of the pool is under one lock, so one critical section is one atomic step here: nobody can see its middle.
// (That the code does hold the lock wherever it touches that state is for the thread sanitizer to show.) What may happen
// in any order are the steps: each `atomic` with LOCK and UNLOCK is one critical section, and items, hooks and errands
// (signals, thread starts) lie between them. A condition variable is `asleep[w]`: to sleep is the last act of a critical
// section, and a signal ends it. A signal is sent after the lock was given back, so it may come late, and may hit a
// sleep that began later. [E1] to [E7] and [E16] are the promises in pool.c.
//
// The world: up to WORKERS threads, started as they are needed; two queues, of which the first runs one item at a time;
// an outsider who submits an item to each queue and then two at once, and closes both; another who cancels what is
// queued, or shuts the pool down (SHUTDOWN), at any moment; a third who raises the number of slots from 1 to WORKERS;
// the first item submits two more while it runs. Whoever hears of idle destroys the pool, while the others are still on
// their way home. With EAGAIN the start of the second or a later thread may fail.
//
// With ASKS there are no slots but those that a lender grants, one by one, and only as many as hooks.starving has made the
// run ask for; one of them is taken away again at any moment. There are three items less then. With TWO_ASK somebody else asks,
// too, who wants to know of one item only.
//
// Which queue is next (engine/fair.h) and which item of it (own, stolen, head) makes no difference to any of this, so
// the model leaves the first open and takes the item with the lowest number.
//
// MUTANT_... are deliberate bugs, each of which must be found out (tests/model/run).

#ifndef WORKERS
#define WORKERS 2
#endif
#define ITEMS 6               // 0 in queue 0; 1 to 3 in queue 1; 4 and 5, submitted by 0, in queue 0
#define QUEUE_OF(i) ((i) >= 1 && (i) <= 3)
#define NOBODY 255

mtype = { NEW, QUEUED, RUNNING, DONE, DOOMED, DROPPED };
mtype item[ITEMS] = NEW;

// Under the lock, named as in internal.h
byte backlog[2];
byte running[2];
byte pins[2];                 // of the queues
bool closed[2];
bool removed[2];
byte nqueues = 2;             // whose hook has not returned
byte running_all;
#ifdef ASKS
#define MOST_AT_FIRST 0
#else
#define MOST_AT_FIRST 1
#endif
byte goal = MOST_AT_FIRST;
#define ANY 255
byte known = ANY;             // demand_known
#ifdef MUTANT_ARMED_IF_IT_DIFFERS
byte last = ANY;
#endif
byte nthreads;
byte thread_limit = 255;
bool waking;                  // a worker was woken or started, and has not yet had the lock
bool woken[WORKERS];
byte idle[WORKERS];           // stack of parked workers
byte nidle;
bool cancelling;              // the pool is shut
bool quit;
byte guests;                  // threads from outside with errands

// The condition variables
bool asleep[WORKERS];

// Ghosts: what the promises are about; the pool does not know them
byte looking;                 // workers that will look for work without being woken
byte hooks_removed[2];
byte hooks_idle;
byte wanted;                  // slots that the lender was asked for and has not granted
bool destroyed;
byte left;                    // threads that have ended
byte visitors = 3;            // threads that may still call the pool: nobody destroys it meanwhile

#define ELIGIBLE(q) (backlog[q] > 0 && (q != 0 || running[0] < 1))
#define WORK (running_all < goal && (ELIGIBLE(0) || ELIGIBLE(1)))
#define STARTABLE (nthreads < goal && nthreads < thread_limit)
#define READY ((ELIGIBLE(0) -> 1 : 0) + backlog[1])
#define FREE (goal > running_all -> goal - running_all : 0)
#define DEMAND (READY > FREE -> READY - FREE : 0)

#define LOCK assert(!destroyed) // nobody touches what was freed [E7]
// [E3] Never stable at the end of a critical section: work that could run, somebody who could run it, nobody on his way.
// [E16] Nor more demand than is known.
#define UNLOCK assert(!(((WORK && (nidle > 0 || STARTABLE)) || DEMAND > known) && !waking && looking == 0 && !quit))

// group_wake(): under the lock; the errand follows after it. `starve`, too, is a variable of the process.
inline wake_choose(whom, start) {
	if
	:: WORK && !waking && nidle > 0 ->
		nidle--;
		whom = idle[nidle];
		woken[whom] = true;
		waking = true
	:: WORK && !waking && nidle == 0 && STARTABLE ->
		start = nthreads;
		nthreads++;
		waking = true
	:: !(WORK && !waking) && DEMAND > known ->
		known = ANY;
		starve = true
	:: else
	fi
}

// pool_demand(): under the lock.
inline demand(n, most) {
	n = (DEMAND < most -> DEMAND : most);
#if defined(MUTANT_TO_ASK_ARMS)
	known = (n < most -> 0 : ANY)
#elif defined(MUTANT_ARMED_IF_IT_DIFFERS)
	known = (n < most && n != last -> 0 : ANY);
	last = n
#elif defined(MUTANT_LAST_WHO_ASKS_COUNTS)
	known = (n < most -> n : ANY)
#elif defined(MUTANT_KNOWN_ONLY_RISES)
	known = (n < most && (known == ANY || n > known) -> n : known)
#else
	known = (n < most && n < known -> n : known)
#endif
}

// Asks the lender for as many slots as there is work for, and less if that is less.
inline ask() {
	atomic {
		LOCK;
		demand(wanted, 2);
		UNLOCK
	}
}

// deferred_run(), the part that wakes and calls hooks.starving: without the lock.
inline wake_send(whom, start) {
	if
	:: start != NOBODY -> run worker(start)
#ifdef EAGAIN
	:: start != NOBODY && start > 0 ->
		start = NOBODY;
		atomic {
			LOCK;
			waking = false;
			nthreads--;
			thread_limit = nthreads;
#ifndef MUTANT_START_FAILS_SILENTLY
			wake_choose(whom, start); // others may have parked, and work may have come, while it was on its way
#endif
			UNLOCK
		}
#endif
	:: else
	fi;
	start = NOBODY;
	if
	:: whom != NOBODY -> LOCK; asleep[whom] = false; whom = NOBODY
	:: else
	fi;
#ifdef ASKS
	if
	:: starve -> starve = false; ask()
	:: else
	fi
#endif
}

// queue_check_removal(): under the lock; is the queue to be removed, and by me?
inline removal_choose(q, mine) {
	if
#ifdef MUTANT_REMOVE_WHILE_DROPPING
	:: closed[q] && !removed[q] && backlog[q] == 0 && running[q] == 0 ->
#else
	:: closed[q] && !removed[q] && backlog[q] == 0 && running[q] == 0 && pins[q] == 0 ->
#endif
		removed[q] = true;
		mine = true;
#ifdef MUTANT_IDLE_TOO_EARLY
		nqueues--
#endif
	:: else
	fi
}

// queue_remove(): without the lock. Calls hooks.removed, counts the queue as gone; who takes the last calls hooks.idle.
inline removal_do(q, mine, last) {
	if
	:: mine ->
		atomic {
			assert(hooks_removed[q] == 0 && hooks_idle == 0); // [E5]
			hooks_removed[q]++
		}
		atomic {
			LOCK;
#ifndef MUTANT_IDLE_TOO_EARLY
			nqueues--;
#endif
			last = nqueues == 0;
			UNLOCK
		}
		mine = false;
		if
		:: last ->
			last = false;
			atomic {
				assert(hooks_idle == 0); // [E6]
				assert(hooks_removed[0] == 1 && hooks_removed[1] == 1);
				assert(running_all == 0 && backlog[0] + backlog[1] + pins[0] + pins[1] == 0);
				hooks_idle++
			}
			atomic { LOCK; UNLOCK } // tells those who wait in pool_wait_idle() from outside
		:: else
		fi
	:: else
	fi
}

// Under the lock: an item arrives.
inline item_add(i) {
	assert(item[i] == NEW);
	item[i] = QUEUED;
	backlog[QUEUE_OF(i)]++
}

// queue_take(): under the lock.
inline item_take(q, i) {
	i = 0;
	do
	:: i < ITEMS && !(item[i] == QUEUED && QUEUE_OF(i) == q) -> i++
	:: else -> break
	od;
	assert(i < ITEMS);
	backlog[q]--;
	running[q]++;
	running_all++;
	item[i] = RUNNING
}

proctype worker(byte w) {
	byte q, i, whom = NOBODY, start = NOBODY;
	bool mine, last, found, starve;
	bool arriving = true; // it was woken or started, and has not yet had the lock

look:
	atomic {
		LOCK;
		if
		:: arriving ->
#ifndef MUTANT_FLAG_ON_ONE_PATH
			waking = false;
#endif
			arriving = false
		:: else -> looking--
		fi;
		if
		:: quit -> goto leave
		:: !quit && WORK && ELIGIBLE(0) -> q = 0; found = true
		:: !quit && WORK && ELIGIBLE(1) -> q = 1; found = true
		:: !quit && !WORK
		fi;
		if
		:: found ->
			found = false;
#ifdef MUTANT_FLAG_ON_ONE_PATH
			waking = false;
#endif
			item_take(q, i);
#ifndef MUTANT_NO_CHAIN
			wake_choose(whom, start);
#endif
			UNLOCK;
			goto work
		:: else
		fi;
#if defined(ASKS) && !defined(MUTANT_PARKS_WITHOUT_A_LOOK)
		wake_choose(whom, start); // others may have taken what it was woken for, or the slots
		if
		:: starve || whom != NOBODY || start != NOBODY -> looking++; UNLOCK; goto errands
		:: else
		fi;
#endif
#ifdef MUTANT_UNLOCK_BEFORE_SLEEP
		looking++ // it gives the lock back between the test and the sleep
	}
	atomic {
		LOCK;
		looking--;
#endif
		idle[nidle] = w;
		nidle++;
		asleep[w] = true;
		UNLOCK
	}

park:
	atomic {
		if
		:: !asleep[w]
#ifdef SPURIOUS
		:: asleep[w] && !woken[w] // POSIX lets pthread_cond_wait() return at any time
#endif
		fi;
		LOCK;
#ifndef MUTANT_NO_PREDICATE
		if
		:: !woken[w] && !quit -> asleep[w] = true; goto park
		:: else
		fi;
#endif
		asleep[w] = false;
		if
		:: quit && !woken[w] -> goto leave
		:: else
		fi;
		woken[w] = false;
		arriving = true;
		goto look
	}

#ifdef ASKS
errands:
	wake_send(whom, start);
	goto look;
#endif

work:
	wake_send(whom, start);
	// the item runs, with no lock held
	if
	:: i == 0 ->
		atomic {
			LOCK;
			if
			:: !cancelling ->
				item_add(4);
#ifndef ASKS
				item_add(5);
#endif
				wake_choose(whom, start)
			:: else // refused
			fi;
			UNLOCK
		}
		wake_send(whom, start)
	:: else
	fi;
	atomic { // worker_finish()
		LOCK;
		assert(item[i] == RUNNING);
		item[i] = DONE;
		i = 0; // dead from here on: fewer states
		running[q]--;
		running_all--;
		removal_choose(q, mine);
		looking++;
		UNLOCK
	}
	removal_do(q, mine, last);
	q = 0;
	goto look;

leave:
	left++
}

// pool_leave(): the errands of a thread from outside, which pool_destroy() waits for.
#define GUEST (mine || starve || whom != NOBODY || start != NOBODY)
inline guest_enter(guest) {
	guest = GUEST;
	if
	:: guest -> guests++
	:: else
	fi;
	UNLOCK
}
inline guest_leave(guest) {
	atomic {
		if
		:: guest -> LOCK; guests--; guest = false
		:: else
		fi
	}
}

inline submit(i, n) {
	atomic {
		LOCK;
		if
		:: !cancelling ->
			item_add(i);
			if
			:: n == 2 -> item_add(i + 1)
			:: else
			fi;
			wake_choose(whom, start)
		:: else // refused
		fi;
		guest_enter(guest)
	}
	wake_send(whom, start);
	guest_leave(guest)
}

inline close(q) {
	atomic {
		LOCK;
		visitors = visitors - q; // with the second one he has called for the last time
		if
		:: !closed[q] ->
			closed[q] = true;
#ifndef MUTANT_CLOSE_DOES_NOT_LOOK
			removal_choose(q, mine)
#endif
		:: else // pool_shutdown() did
		fi;
		guest_enter(guest)
	}
	removal_do(q, mine, last);
	guest_leave(guest)
}

proctype submitter() {
	byte whom = NOBODY, start = NOBODY;
	bool mine, last, guest, starve;
	submit(0, 1);
	submit(1, 1);
#ifndef ASKS
	submit(2, 2);
#endif
	close(0);
	close(1)
}

// queue_doom(): under the lock, takes what is queued away from the queue.
inline doom(q, i, doomed) {
	if
	:: backlog[q] > 0 ->
		doomed = true;
		pins[q]++;
		for (i : 0 .. ITEMS - 1) {
			if
			:: item[i] == QUEUED && QUEUE_OF(i) == q ->
				taken[i] = true;
#ifndef MUTANT_CANCEL_LEAVES_THEM
				item[i] = DOOMED;
				backlog[q]--
#endif
			:: else
			fi
		}
	:: else
	fi
}

// doomed_drop(): drops them without the lock, then lets the queue go.
inline drop(q, i, doomed) {
	if
	:: doomed ->
		atomic {
			for (i : 0 .. ITEMS - 1) {
				if
				:: taken[i] && QUEUE_OF(i) == q ->
					assert(item[i] == DOOMED && hooks_idle == 0 && hooks_removed[q] == 0); // [E1], [E5], [E6]
					item[i] = DROPPED;
					taken[i] = false
				:: else
				fi
			}
			i = 0;
			doomed = false
		}
		atomic {
			LOCK;
			pins[q]--;
			removal_choose(q, mine);
			UNLOCK
		}
		removal_do(q, mine, last)
	:: else
	fi
}

// pool_cancel() of the queues, or pool_shutdown(), at any moment.
proctype canceller() {
	byte i;
	bool mine, mine0, mine1, last, doomed0, doomed1;
	bool taken[ITEMS];
	atomic {
		LOCK;
		doom(0, i, doomed0);
		doom(1, i, doomed1);
#ifdef SHUTDOWN
		cancelling = true;
		closed[0] = true;
		closed[1] = true;
		removal_choose(0, mine0);
		removal_choose(1, mine1);
#endif
		UNLOCK
	}
	removal_do(0, mine0, last);
	removal_do(1, mine1, last);
	drop(0, i, doomed0);
	drop(1, i, doomed1);
	visitors--
}

// pool_set_slots(): more take effect at once.
proctype resizer() {
	byte whom = NOBODY, start = NOBODY;
	bool starve;
	atomic {
		LOCK;
		goal = WORKERS;
#ifndef MUTANT_SLOTS_WAKE_NOBODY
		wake_choose(whom, start);
#endif
		UNLOCK
	}
	wake_send(whom, start);
	visitors--
}

// Grants a slot for each that is wanted.
proctype lender() {
	byte whom = NOBODY, start = NOBODY;
	bool starve;
	ask(); // before the pool starts
	do
	:: atomic {
		wanted > 0 && goal < WORKERS;
		LOCK;
		wanted--;
		goal++;
		wake_choose(whom, start);
		UNLOCK
	}
	wake_send(whom, start);
	ask()
	:: hooks_idle == 1 -> break
	od;
	visitors--
}

// Takes one slot away at any moment.
proctype taker() {
	byte whom = NOBODY, start = NOBODY;
	bool starve;
	if
	:: atomic {
		goal > 0;
		LOCK;
		goal--;
		wake_choose(whom, start);
		UNLOCK
	}
	wake_send(whom, start)
	:: hooks_idle == 1
	fi;
	visitors--
}

// Wants to know whether an item waits, at any moment.
proctype peeker() {
	byte n;
	atomic {
		LOCK;
		demand(n, 1);
		n = 0;
		UNLOCK
	}
	visitors--
}

// pool_destroy(), as soon as idle was heard of.
proctype destroyer() {
	byte i;
	atomic {
		(hooks_idle == 1 && visitors == 0);
		LOCK;
		quit = true;
		for (i : 0 .. WORKERS - 1) {
			asleep[i] = false
		}
	}
#ifndef MUTANT_NO_GUESTS
	guests == 0;
#endif
	left == nthreads; // pthread_join()
	destroyed = true
}

// Nothing moves any more: then all must have ended.
proctype watcher() {
	timeout;
	assert(hooks_idle == 1 && destroyed)
}

init {
	atomic {
		run submitter();
#ifdef NO_CANCEL
		visitors--;
#else
		run canceller();
#endif
#ifdef ASKS
		visitors++;
		run lender();
		run taker();
#ifdef TWO_ASK
		visitors++;
		run peeker();
#endif
#else
		run resizer();
#endif
		run destroyer();
		run watcher()
	}
}
