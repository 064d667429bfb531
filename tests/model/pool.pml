// pool: a model of how src/engine/pool.c parks, wakes, closes and cancels, checked exhaustively by spin.
//
// All state of the pool is under one lock, so one critical section is one atomic step here: nobody can see its middle.
// (That the code does hold the lock wherever it touches that state is for the thread sanitizer to show.) What may happen
// in any order are the steps: each `atomic` below is one critical section, and hooks, items and signals lie between them.
// A condition variable is `asleep[w]`: to sleep is the last act of a critical section, and a signal ends it. A signal
// is sent after the lock was given back, so it may come late, and may hit a sleep that began later.
//
// The world: up to WORKERS threads, started as they are needed; two queues, of which the first runs one item at a time;
// an outsider who submits an item to each queue and then two at once, and closes both; another who cancels what is
// queued, at any moment; a third who raises the number of slots from 1 to WORKERS; the first item submits two more while
// it runs. Whoever hears of idle destroys the pool, while the others are still on their way home.
//
// Which queue is next (engine/fair.h) and which item of it (own, stolen, head) makes no difference to any of this, so
// the model leaves the first open and takes the item with the lowest number.
//
// Mutants, each of which must be found out (tests/model/run): see the #ifdefs.

#ifndef WORKERS
#define WORKERS 2
#endif
#define QUEUES 2
#define ITEMS 6               // 0 in queue 0; 1 to 3 in queue 1; 4 and 5, submitted by 0, in queue 0
#define QUEUE_OF(i) ((i) >= 1 && (i) <= 3)
#define NOBODY 255

mtype = { NEW, QUEUED, RUNNING, DONE, DROPPING, DROPPED };
mtype item[ITEMS] = NEW;

// Under the lock
byte nqueued[QUEUES];         // items in the queue, its local lists included
byte running[QUEUES];
byte dropping[QUEUES];        // cancelled, not yet handed to drop()
bool closed[QUEUES];
bool removing[QUEUES];        // somebody has undertaken to call hooks.removed
byte running_all;
byte slots = 1;
byte outstanding = QUEUES;    // items that have not ended, and queues that are not removed
bool stop;
byte idle[WORKERS];           // stack of parked workers
byte nidle;
byte nthreads;                // started so far
bool wake_in_flight;          // a worker was woken or started, and has not yet had the lock
bool woken[WORKERS];

// The condition variables
bool asleep[WORKERS];

// Ghosts: what the promises are about; the pool does not know them
byte looking;                 // workers that will look for work without being woken
byte removed[QUEUES];
byte idles;
bool destroyed;
byte guests = 2;              // threads that call the pool without having a queue open
byte left;                    // threads that have ended

#define ELIGIBLE(q) (nqueued[q] > 0 && (q != 0 || running[0] < 1))
#define WORK (running_all < slots && (ELIGIBLE(0) || ELIGIBLE(1)))
#define SOMEBODY (nidle > 0 || nthreads < slots)

// Never stable at the end of a critical section: work that could run, somebody who could run it, and nobody on his way.
#define LOCK assert(!destroyed) // nobody touches what was freed
#define UNLOCK assert(!(WORK && SOMEBODY && !wake_in_flight && looking == 0 && !stop))

// Picks whom to wake, under the lock; signal() follows after it. A worker that does not exist yet is started instead.
inline wake_choose(whom, start) {
	whom = NOBODY;
	start = NOBODY;
	if
	:: WORK && !wake_in_flight && nidle > 0 ->
		nidle--;
		whom = idle[nidle];
		woken[whom] = true;
		wake_in_flight = true
	:: WORK && !wake_in_flight && nidle == 0 && nthreads < slots ->
		start = nthreads;
		nthreads++;
		wake_in_flight = true
	:: else
	fi
}

// After the lock was given back.
inline wake_send(whom, start) {
	if
	:: whom != NOBODY -> LOCK; asleep[whom] = false
	:: start != NOBODY -> run worker(start)
	:: else
	fi;
	whom = NOBODY;
	start = NOBODY
}

// Under the lock: is the queue to be removed, and by me?
inline removal_choose(q, mine) {
	mine = false;
	if
#ifdef MUTANT_REMOVE_WHILE_DROPPING
	:: closed[q] && nqueued[q] == 0 && running[q] == 0 && !removing[q] ->
#else
	:: closed[q] && nqueued[q] == 0 && running[q] == 0 && dropping[q] == 0 && !removing[q] ->
#endif
		removing[q] = true;
		mine = true
	:: else
	fi
}

// Without the lock: calls hooks.removed, then counts the queue as gone; whoever takes the last away calls hooks.idle.
inline removal_do(q, mine, last) {
	if
	:: mine ->
		atomic {
			assert(removed[q] == 0 && idles == 0);
			removed[q]++
		}
		atomic {
			outstanding--;
			last = outstanding == 0;
			UNLOCK
		}
		mine = false;
		if
		:: last -> idle_report()
		:: else
		fi
	:: else
	fi
}

inline idle_report() {
	atomic {
		assert(idles == 0);
		assert(removed[0] == 1 && removed[1] == 1);
		assert(running_all == 0 && nqueued[0] == 0 && nqueued[1] == 0 && dropping[0] == 0 && dropping[1] == 0);
		idles++
	}
}

// Under the lock: one item becomes visible and counted.
inline item_add(i) {
	assert(item[i] == NEW);
	outstanding++;
	item[i] = QUEUED;
	nqueued[QUEUE_OF(i)]++
}

// Under the lock: the lowest queued item of q.
inline item_take(q, i) {
	i = 0;
	do
	:: i < ITEMS && !(item[i] == QUEUED && QUEUE_OF(i) == q) -> i++
	:: else -> break
	od;
	assert(i < ITEMS);
	nqueued[q]--;
	running[q]++;
	running_all++;
	item[i] = RUNNING
}

proctype worker(byte w) {
	byte q, i, whom = NOBODY, start = NOBODY;
	bool mine, last, found;
	bool arriving = true; // it was woken or started, and has not yet had the lock

look:
	atomic {
		LOCK;
		if
		:: arriving ->
#ifndef MUTANT_FLAG_ON_ONE_PATH
			wake_in_flight = false;
#endif
			arriving = false
		:: else -> looking--
		fi;
		if
		:: stop -> goto leave
		:: !stop && WORK && ELIGIBLE(0) -> q = 0; found = true
		:: !stop && WORK && ELIGIBLE(1) -> q = 1; found = true
		:: !stop && !WORK -> found = false
		fi;
		if
		:: found ->
#ifdef MUTANT_FLAG_ON_ONE_PATH
			wake_in_flight = false;
#endif
			item_take(q, i);
#ifndef MUTANT_NO_CHAIN
			wake_choose(whom, start);
#endif
			UNLOCK;
			goto work
		:: else
		fi;
#ifdef MUTANT_UNLOCK_BEFORE_SLEEP
		looking++ // it gives the lock back between the test and the sleep (bug C4 of the seeds)
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
		:: !woken[w] -> asleep[w] = true; goto park
		:: else
		fi;
#endif
		asleep[w] = false;
		woken[w] = false;
		arriving = true;
		goto look
	}

work:
	wake_send(whom, start);
	// the item runs, with no lock held
	if
	:: i == 0 ->
		atomic {
			LOCK;
			item_add(4);
			item_add(5);
			wake_choose(whom, start);
			UNLOCK
		}
		wake_send(whom, start)
	:: else
	fi;
	atomic {
		LOCK;
		assert(item[i] == RUNNING);
		item[i] = DONE;
		running[q]--;
		running_all--;
		outstanding--;
		removal_choose(q, mine);
		looking++;
		UNLOCK
	}
	removal_do(q, mine, last);
	goto look;

leave:
	left++
}

proctype submitter() {
	byte whom = NOBODY, start = NOBODY;
	bool mine, last;
	atomic { LOCK; item_add(0); wake_choose(whom, start); UNLOCK }
	wake_send(whom, start);
	atomic { LOCK; item_add(1); wake_choose(whom, start); UNLOCK }
	wake_send(whom, start);
	atomic { LOCK; item_add(2); item_add(3); wake_choose(whom, start); UNLOCK }
	wake_send(whom, start);
	atomic { LOCK; closed[0] = true; removal_choose(0, mine); UNLOCK }
	removal_do(0, mine, last);
	atomic {
		LOCK;
		closed[1] = true;
#ifndef MUTANT_CLOSE_FORGETS
		removal_choose(1, mine);
#endif
		UNLOCK
	}
	removal_do(1, mine, last)
}

// pool_cancel(NULL), at any moment: takes what is queued off the queues, drops it without the lock, counts it as ended.
proctype canceller() {
	byte i, n0, n1;
	bool mine0, mine1, last;
	bool taken[ITEMS];
	atomic {
		LOCK;
		for (i : 0 .. ITEMS - 1) {
			if
			:: item[i] == QUEUED ->
#ifndef MUTANT_CANCEL_LEAVES
				item[i] = DROPPING;
				nqueued[QUEUE_OF(i)]--;
#endif
				dropping[QUEUE_OF(i)]++;
				taken[i] = true
			:: else
			fi
		}
		UNLOCK
	}
	// drop() is called for each
	atomic {
		for (i : 0 .. ITEMS - 1) {
			if
			:: taken[i] ->
				assert(item[i] == DROPPING && idles == 0 && removed[QUEUE_OF(i)] == 0);
				item[i] = DROPPED
			:: else
			fi
		}
	}
	atomic {
		if
		:: dropping[0] + dropping[1] > 0 ->
			LOCK;
			outstanding = outstanding - dropping[0] - dropping[1];
			n0 = dropping[0];
			n1 = dropping[1];
			dropping[0] = 0;
			dropping[1] = 0;
			if
			:: n0 > 0 -> removal_choose(0, mine0)
			:: else
			fi;
			if
			:: n1 > 0 -> removal_choose(1, mine1)
			:: else
			fi;
			UNLOCK
		:: else -> goto home
		fi
	}
	removal_do(0, mine0, last);
	removal_do(1, mine1, last);
home:
	guests--
}

// pool_set_slots(): more take effect at once.
proctype resizer() {
	byte whom = NOBODY, start = NOBODY;
	atomic {
		LOCK;
		slots = WORKERS;
#ifndef MUTANT_SLOTS_WAKE_NOBODY
		wake_choose(whom, start);
#endif
		UNLOCK
	}
	wake_send(whom, start);
	guests--
}

// pool_destroy(), as soon as idle was heard of and nobody from outside is in the pool but whom idle was told by.
proctype destroyer() {
	byte i;
	bool parked[WORKERS];
	atomic {
		(idles == 1 && guests == 0);
		stop = true;
		for (i : 0 .. WORKERS - 1) {
			parked[i] = false
		}
		do
		:: nidle > 0 ->
			nidle--;
			woken[idle[nidle]] = true;
			parked[idle[nidle]] = true
		:: else -> break
		od
	}
	atomic {
		for (i : 0 .. WORKERS - 1) {
			if
			:: parked[i] -> asleep[i] = false
			:: else
			fi
		}
	}
	left == nthreads; // pthread_join()
	destroyed = true
}

// Nothing moves any more: then all must have ended.
proctype watcher() {
	timeout;
	assert(idles == 1 && destroyed)
}

init {
	atomic {
		run submitter();
#ifdef NO_CANCEL
		guests--;
#else
		run canceller();
#endif
		run resizer();
		run destroyer();
		run watcher()
	}
}
