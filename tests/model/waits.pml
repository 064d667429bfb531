// waits: a model of jobs of a run that wait for others (--wait), checked exhaustively by spin.
//
// A job that waits for others lends its slots: it counts for nothing, neither slots nor its batch's max_parallel. What it waits
// for comes to the front of the line, with what that needs. When all of it is done the job itself comes to the front, and goes on when
// it has its slots again. Who is in front keeps free slots until they are enough for him; but who only waits for his batch's
// max_parallel is passed over. A wait that would close a circle of waits and needs is refused.
//
// All of it happens under the lock of the pool, so each step is atomic. Jobs are queued from the start. Each may wait once for any
// one or two of the others, at any time while it runs. Job 3 needs job 2 (it may start when that is done), jobs 0 and 1 are of one batch.
//
// MUTANT_... are deliberate bugs, each of which must be found out (tests/model/run).

#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef JOBS
#define JOBS 4                // at most 5
#endif
#ifndef LIMIT
#define LIMIT 1               // max_parallel of the batch of jobs 0 and 1
#endif
#ifndef WAITS
#define WAITS 3               // of all jobs
#endif
#define NOBODY 255
#define BATCH(j) ((j) < 2 -> 0 : 1)
#define NEEDS(j) ((j) == 3 -> 2 : NOBODY)
#ifdef WIDE                   // that job takes all slots
#define WIDTH(j) ((j) == WIDE -> SLOTS : 1)
#else
#define WIDTH(j) 1
#endif

mtype = { QUEUED, RUNS, WAITING, BACK, DONE };
mtype job[JOBS] = QUEUED;
byte awaits[JOBS];            // a bit for each
chan front = [JOBS] of { byte };
byte waits = WAITS;
byte asked[JOBS];             // ghost: all that it was to wait for

// For use within a step: 0 between steps
byte i, n, at, set, closed, taken, limited;
byte again, kept;

#define BIT(j) (1 << (j))
#define FOR_JOB(j) for (j : 0 .. JOBS - 1)
#define NEED_DONE(j) (NEEDS(j) == NOBODY || job[2] == DONE)

inline count() {
	taken = 0;
	limited = 0;
	FOR_JOB(i) {
		if
#ifdef MUTANT_WAITER_KEEPS_ITS_SLOT
		:: job[i] == RUNS || job[i] == WAITING -> taken = taken + WIDTH(i)
#else
		:: job[i] == RUNS -> taken = taken + WIDTH(i)
#endif
		:: else
		fi;
		if
#ifdef MUTANT_WAITER_COUNTS_IN_ITS_BATCH
		:: (job[i] == RUNS || job[i] == WAITING || job[i] == BACK) && BATCH(i) == 0 -> limited++
#else
		:: job[i] == RUNS && BATCH(i) == 0 -> limited++
#endif
		:: else
		fi
	}
	i = 0
}

#ifdef MUTANT_WAITER_COUNTS_IN_ITS_BATCH
#define UNDER_LIMIT(j) (BATCH(j) == 1 || limited < LIMIT || job[j] == BACK)
#else
#define UNDER_LIMIT(j) (BATCH(j) == 1 || limited < LIMIT)
#endif

// Starts, or lets go on, what can.
inline dispatch() {
	d_step {
		again = true;
		do
		:: !again -> break
		:: else ->
			again = false;
			kept = false;
			n = len(front);
			do // from the front: each is taken out and, if it cannot go, put back behind
			:: n == 0 -> break
			:: else ->
				n--;
				front?at;
				count();
				if
				:: !kept && !again && UNDER_LIMIT(at) && NEED_DONE(at) && taken + WIDTH(at) <= SLOTS -> job[at] = RUNS; again = true
				:: else ->
					front!at;
					kept = kept || (UNDER_LIMIT(at) && NEED_DONE(at))
				fi
			od;
			at = 0;
			do
			:: again || kept || at >= JOBS -> break
			:: else ->
				count();
				if
				:: (job[at] == QUEUED || job[at] == BACK) && !front??[eval(at)] && UNDER_LIMIT(at) && NEED_DONE(at) ->
					if
					:: taken + WIDTH(at) <= SLOTS ->
						FOR_JOB(i) { // nobody goes before those that wait, and what they wait for
							assert(job[i] != BACK || i == at || !UNDER_LIMIT(i));
							FOR_JOB(n) {
								assert(!(job[i] == QUEUED && i != at && UNDER_LIMIT(i) && NEED_DONE(i) && (awaits[n] & BIT(i))) || (awaits[n] & BIT(at)))
							}
						}
						i = 0;
						n = 0;
						job[at] = RUNS;
						again = true
					:: taken + WIDTH(at) > SLOTS -> kept = true
					fi
				:: else
				fi;
				at++
			od
		od;
		count();
		assert(taken <= SLOTS);
		assert(limited <= LIMIT);
		n = 0; at = 0; taken = 0; limited = 0; again = false; kept = false
	}
}

// All that must be done before the jobs of the set are.
inline close_set(set) {
	n = 0;
	do
	:: n == JOBS -> break
	:: else ->
		FOR_JOB(i) {
			if
			:: (set & BIT(i)) && job[i] != DONE ->
				set = set | awaits[i];
#ifndef MUTANT_CIRCLE_WITHOUT_NEEDS
				set = set | (NEEDS(i) == 2 -> BIT(2) : 0)
#endif
			:: else
			fi
		}
		n++
	od;
	n = 0;
	i = 0
}

inline wait_for(set) {
	d_step {
		closed = set;
		close_set(closed);
		if
#ifdef MUTANT_CIRCLE
		:: false
#else
		:: closed & BIT(j) -> set = 0 // refused
#endif
		:: else ->
			FOR_JOB(i) {
				set = (job[i] == DONE -> set & (255 - BIT(i)) : set)
			}
			i = 0
		fi;
		if
		:: set == 0
		:: else ->
			job[j] = WAITING;
			awaits[j] = set;
			asked[j] = set;
#ifndef MUTANT_AWAITED_STAY_BEHIND
			FOR_JOB(i) {
				if
				:: (closed & BIT(i)) && job[i] == QUEUED && !front??[eval(i)] -> front!i
				:: else
				fi
			}
			i = 0
#endif
		fi;
		closed = 0
	}
}

// Whoever waited for it, and now for nothing more, comes to the front.
inline tell_waiters() {
	d_step {
		FOR_JOB(i) {
			if
			:: job[i] == WAITING && (awaits[i] & BIT(j)) ->
				awaits[i] = awaits[i] & (255 - BIT(j));
				if
#ifdef MUTANT_FIRST_ENDS_THE_WAIT
				:: true ->
					awaits[i] = 0;
#else
				:: awaits[i] == 0 ->
#endif
#ifdef MUTANT_GOES_ON_AT_ONCE
					job[i] = RUNS
#else
					job[i] = BACK;
#ifndef MUTANT_BACK_STANDS_BEHIND
					front!i
#endif
#endif
				:: else
				fi
#ifdef MUTANT_TELLS_ONE
				;
				break
#endif
			:: else
			fi
		}
		i = 0
	}
}

proctype work(byte j) {
	bool waited;
	do
	:: atomic { // it waits for one or two others
		job[j] == RUNS && waits > 0 && !waited ->
		waits--;
		set = 0;
		if
		:: set = 1
		:: set = 2
		:: set = 4
		:: set = 8
		:: set = 3
		:: set = 6
		:: set = 12
		:: set = 10
#if JOBS > 4
		:: set = 16
#endif
		fi;
		waited = true;
		wait_for(set);
		set = 0;
		dispatch()
	}
	:: atomic {
		job[j] == RUNS ->
		// what it waited for is done
		FOR_JOB(i) {
			assert(!(asked[j] & BIT(i)) || job[i] == DONE)
		}
		i = 0;
		job[j] = DONE;
		tell_waiters();
		dispatch();
		waited = false;
		break
	}
	od
}

proctype watcher() {
	timeout;
	FOR_JOB(i) {
		assert(job[i] == DONE)
	}
}

init {
	atomic {
		FOR_JOB(i) {
			run work(i)
		}
		i = 0;
		dispatch();
		run watcher()
	}
}
