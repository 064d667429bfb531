// leases: a model of how processes that do not know each other share the slots of a pool, checked exhaustively by spin.
//
// Each client has a socket to the one slot server, which keeps frames apart: `up` and `down` are what is written and not yet read. What one
// side does between two looks at its sockets is one atomic step. Any process may be stopped (SIGSTOP) for any time: it
// does not move. There are no clocks: what may happen after some time may happen at any moment.
//
//	up    HELLO (with the lease and the nonce of the job that the client runs below), HOLD lease (I have it from an earlier
//	      server, in use), WANT n (this many more leases, whatever I said before), USE lease (the first job is to start on it,
//	      and others will follow), LAST lease (no other job follows that which runs there, with its nonce), REL lease, GONE (end of
//	      file)
//	down  GRANT lease, REVOKE lease, ASK lease (for LAST), HOT 0 or 1 (does anybody wait?)
//
// Who starts the first job on a lease writes USE, then reads all that has come, and starts it only if there is no REVOKE of that
// lease and no end of file. Who takes a lease back writes REVOKE, then reads all that has come, and does so only if there is
// no USE. Of two that write and then look, one at least sees what the other wrote, however long either sleeps in between.
//
// With REUSE a client uses a lease for one job after another. For another job it looks for the end of file, and starts the job
// unless that has come; it says nothing. So the server does not know which job runs on the lease, and before it lends the lease it
// asks. The client answers with LAST, and from then on starts no other job on that lease, which goes back after the one that runs. The
// server lends if the nonce is that which the borrower named. A client that uses each lease for one job (ONCE, and all without REUSE)
// says LAST in place of USE.
//
// The server may be killed, with its table and what it had not read. The next one knows only whether its predecessor
// granted anything (`dirty`, in the lock file): then it grants nothing before all that is in use was registered again (a second
// is taken to be enough for that; LATE). With COUNTED it knows how many clients there were, and need not wait for the second when as many
// are back.
//
// A client that is killed leaves its jobs. Its guardian keeps the socket until the last of them is dead.
//
// A nested client runs below a job, on whose lease it runs first (lent). That job only waits meanwhile. With DAEMON it may end before.
//
// MUTANT_... are deliberate bugs, each of which must be found out (tests/model/run).

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef JOBS
#define JOBS 1                // of each client
#endif
#ifndef CAP
#define CAP 1                 // jobs of a client at once (-j)
#endif
#ifndef LEASES
#define LEASES 4              // that are known to anybody at once
#endif
#ifndef SERVER_DEATHS
#define SERVER_DEATHS 0
#endif
#ifndef CLIENT_DEATHS
#define CLIENT_DEATHS 0
#endif
#ifndef DROPS
#define DROPS 0               // jobs that are given up before they start
#endif
#ifndef REVOKES
#define REVOKES 0
#endif
#define MAIL 6
#define NOBODY 255

// Which client runs below a job of which other
#if defined(CHAIN)            // each below the one before
#define PARENT(c) ((c) == 0 -> NOBODY : (c) - 1)
#elif defined(SIBLINGS)       // all below the first job of client 0; with SUCCESSIVE client 2 below the second on the same lease
#define PARENT(c) ((c) == 0 -> NOBODY : 0)
#elif defined(BELOW)          // client 1 below client 0, the others on their own
#define PARENT(c) ((c) == 1 -> 0 : NOBODY)
#else
#define PARENT(c) NOBODY
#endif

// Slots that a client's leases are worth
#ifdef WIDE                   // of that client
#define WIDTH(c) ((c) == WIDE -> 2 : 1)
#else
#define WIDTH(c) 1
#endif

// Which clients use leases again
#ifndef REUSE
#define REUSES(c) false
#elif defined(ONCE)
#define REUSES(c) ((c) != ONCE)
#else
#define REUSES(c) true
#endif

// Where work has no end, leases that are used again go back some time under contention.
#if defined(REUSE) && defined(ENDLESS)
#define CONTENTION
#endif

mtype = { HELLO, HOLD, WANT, USE, LAST, REL, GONE, GRANT, REVOKE, ASK };
chan up[CLIENTS] = [MAIL] of { mtype, byte };
chan down[CLIENTS] = [MAIL] of { mtype, byte };
#define N(n) (100 + (n))      // a number in a message, which is no lease

// ---- the server, and its table, which dies with it ----
mtype = { DOWN, RECOVERING, OPEN };
mtype server = DOWN;
mtype = { FREE, GRANTED, USED, ENDED }; // ENDED: but lent
mtype stage[LEASES] = FREE;
byte holder[LEASES] = NOBODY;
byte lender[LEASES] = NOBODY; // it is lent out of that one
byte named[LEASES] = NOBODY;  // as HOLD said
byte width[LEASES];
bool known[CLIENTS];          // has said HELLO
byte runs_below[CLIENTS] = NOBODY;
byte want[CLIENTS];
chan line = [CLIENTS] of { byte }; // who wants a lease, the one who has waited longest in front
bool contended;               // what HOT says
byte revoking = NOBODY;       // REVOKE is written, and what has come is to be read
mtype = { UNTOLD, AGAIN, ASKED, FOR_ONE };
mtype use[LEASES] = UNTOLD;   // as USE or LAST said; ASKED: for LAST
bool dirty;                   // in the lock file: something was granted, and not all clients have left

// ---- the clients ----
mtype = { IDLE, LINKED, CUT };
mtype conn[CLIENTS] = IDLE;
// SAID: USE is written, the first job has not started. KEPT: for another job. NEXT: that has its nonce, and has not started
mtype = { NOT, GOT, SAID, RUNS, KEPT, NEXT };
mtype at[LEASES] = NOT;       // what its client does with it
byte who[LEASES] = NOBODY;
byte lent_of[LEASES] = NOBODY; // GRANT says whether it is lent, and
byte worth[LEASES];           // how many slots; HOLD says so again
byte nonce[LEASES];           // of the job that runs on it, or ran last
bool final[LEASES];           // that is the last one
#define FIRST_NONCE(l) ((l) * 32 + 1)
byte todo[CLIENTS] = JOBS;    // jobs that have not started
byte running[CLIENTS], got[CLIENTS], told[CLIENTS];
bool hot[CLIENTS];
bool spent[LEASES];           // it was granted longer ago than leases are kept under contention
bool started[CLIENTS], dead[CLIENTS], over[CLIENTS];
byte below[CLIENTS] = NOBODY; // lease of the job that it runs below, and
byte below_nonce[CLIENTS];    // the nonce of that job

#ifdef COUNTED
byte file_epoch, file_clients; // in the lock file
byte epoch[CLIENTS];          // of the server that it knew last
byte last_epoch, expected, nback, newcomers; // of the server
bool returns[CLIENTS];
#define NKNOWN (known[0] + known[1] + (CLIENTS > 2 -> known[2 % CLIENTS] : 0) + (CLIENTS > 3 -> known[3 % CLIENTS] : 0))
#endif
#ifdef MUTANT_PEERS_ARE_COUNTED
byte npeers, nknown, nback;   // of the server
bool is_back[CLIENTS];
byte peers[CLIENTS];          // how many clients the last server knew, as it told each in its WELCOME
#endif
byte server_deaths = SERVER_DEATHS, client_deaths = CLIENT_DEATHS, revokes = REVOKES, drops = DROPS;

// Ghosts: the next job above that lives, and the lease of whose job a lease took its slot
byte job_above[CLIENTS] = NOBODY;
byte out_of[LEASES] = NOBODY;

// ---- what is promised ----

// Never more jobs at once than slots. A job that waits for a client below it, which runs on the lease lent out of the job's own,
// does nothing.
inline check_slots() {
	d_step {
		byte works = 0, i, j;
		bool waits;
		for (i : 0 .. LEASES - 1) {
			if
			:: at[i] == RUNS ->
				waits = false;
				for (j : 0 .. LEASES - 1) {
					waits = waits || (at[j] == RUNS && out_of[j] == i && job_above[who[j]] == i)
				}
				works = works + (waits -> 0 : worth[i])
			:: else
			fi
		}
		assert(works <= SLOTS);
		works = 0; i = 0; j = 0; waits = false
	}
}

// ---- the server ----

// Any lease of which that is true; executable only if there is one.
#if LEASES > 5
#define SOME(l, OK) if :: OK(0) -> l = 0 :: OK(1) -> l = 1 :: OK(2) -> l = 2 :: OK(3) -> l = 3 :: OK(4) -> l = 4 :: OK(5) -> l = 5 fi
#elif LEASES > 4
#define SOME(l, OK) if :: OK(0) -> l = 0 :: OK(1) -> l = 1 :: OK(2) -> l = 2 :: OK(3) -> l = 3 :: OK(4) -> l = 4 fi
#elif LEASES > 3
#define SOME(l, OK) if :: OK(0) -> l = 0 :: OK(1) -> l = 1 :: OK(2) -> l = 2 :: OK(3) -> l = 3 fi
#else
#define SOME(l, OK) if :: OK(0) -> l = 0 :: OK(1) -> l = 1 :: OK(2) -> l = 2 fi
#endif


#define LENT_OUT(l) (lender[0] == (l) || lender[1] == (l) || lender[2] == (l) || (LEASES > 3 && lender[3 % LEASES] == (l)) || \
		     (LEASES > 4 && lender[4 % LEASES] == (l)) || (LEASES > 5 && lender[5 % LEASES] == (l)))

// A number for a lease that nobody knows any more (they are unlimited; here the lowest is taken again).
#define TOLD_TO(c, l) (up[c]??[_, eval(l)] || down[c]??[_, eval(l)] || (below[c] == (l) && !over[c]))
inline new_lease(l) {
	l = 0;
	do
	:: stage[l] == FREE && at[l] == NOT && !TOLD_TO(0, l) && !TOLD_TO(1, l) && !TOLD_TO(2 % CLIENTS, l) &&
	   !TOLD_TO(3 % CLIENTS, l) -> break
	:: else -> l++; assert(l < LEASES)
	od
}

inline line_leave(c) {
	if
	:: line??[eval(c)] -> line??eval(c)
	:: else
	fi
}

inline grant(c, from, slots, l) {
	new_lease(l);
	assert(known[c]);
	stage[l] = GRANTED;
	holder[l] = c;
	lender[l] = from;
	width[l] = slots;
	worth[l] = slots;
	who[l] = c;
	lent_of[l] = from;
	out_of[l] = from;
	do
	:: out_of[l] != NOBODY && (at[out_of[l]] == NOT || at[out_of[l]] == KEPT) -> out_of[l] = lender[out_of[l]]
	:: else -> break
	od;
	use[l] = UNTOLD;
	spent[l] = false;
	dirty = true;
	want[c]--;
	line_leave(c);
	if
	:: want[c] > 0 -> line!c
	:: else
	fi;
	assert(nfull(down[c]));
	down[c]!GRANT, l;
	l = 0
}

// May the lease that the client runs below be lent to it now?
#ifdef MUTANT_LENT_TILL_END
#define MAY_BORROW(c) (c < 2 || !known[1] || runs_below[1] != runs_below[2])
#elif defined(MUTANT_LENDS_TWICE)
#define MAY_BORROW(c) true
#else
#define MAY_BORROW(c) (!LENT_OUT(runs_below[c]))
#endif
#ifdef MUTANT_LENDS_BEFORE_USE
#define IS_LAST(l) (use[l] == FOR_ONE || use[l] == UNTOLD)
#elif defined(MUTANT_LENDS_UNASKED)
#define IS_LAST(l) (use[l] != UNTOLD)
#else
#define IS_LAST(l) (use[l] == FOR_ONE)
#endif
#define COULD_BE_LENT(c) (runs_below[c] != NOBODY && stage[runs_below[c]] != FREE && MAY_BORROW(c))
#define LENDABLE(c) (COULD_BE_LENT(c) && IS_LAST(runs_below[c]))
#define TO_ASK(c) (c < CLIENTS && want[c] > 0 && COULD_BE_LENT(c) && use[runs_below[c]] == AGAIN)

// Is the last job on the lease the one that the client runs below?
#ifdef MUTANT_LENDS_WHATEVER_RUNS
#define RUNS_STILL(c) true
#else
#define RUNS_STILL(c) (nonce[runs_below[c]] == below_nonce[c])
#endif

inline lend(c, l) {
	if
	:: RUNS_STILL(c) -> grant(c, runs_below[c], 1, l)
	:: else -> runs_below[c] = NOBODY // it waits like anybody
	fi
}

inline ask(c, l) {
	l = runs_below[c];
	use[l] = ASKED;
	assert(nfull(down[holder[l]]));
	down[holder[l]]!ASK, l;
	l = 0
}

// Grants what can be granted: lent leases first, which take no slot.
inline grants(c, l) {
	do
	:: server != OPEN -> break
	:: else ->
		byte taken = 0, most;
		for (l : 0 .. LEASES - 1) {
			if
#ifdef MUTANT_LENT_HOLD_TAKES_NONE
			:: stage[l] != FREE && lender[l] == NOBODY && named[l] == NOBODY -> taken = taken + width[l]
#else
			:: stage[l] != FREE && lender[l] == NOBODY -> taken = taken + width[l]
#endif
			:: else
			fi
		}
		l = 0;
		c = 0;
#ifndef MUTANT_NO_LENDING
		do
#ifdef MUTANT_GATHERER_IS_NOT_LENT
		:: c < CLIENTS && want[c] > 0 && LENDABLE(c) && !(taken < SLOTS && line?[eval(c)]) -> break
#else
		:: c < CLIENTS && want[c] > 0 && LENDABLE(c) -> break
#endif
		:: TO_ASK(c) -> ask(c, l)
		:: c >= CLIENTS -> break
		:: else -> c++
		od;
#else
		c = CLIENTS;
#endif
		if
		:: c < CLIENTS -> lend(c, l)
		:: else ->
			if
			:: taken < SLOTS && len(line) > 0 ->
				line?<c>;
				// a client below a lease can never have more than that leaves
				most = WIDTH(c);
				if
				:: most > SLOTS - 1 && runs_below[c] != NOBODY && stage[runs_below[c]] != FREE && SLOTS > 1 -> most = SLOTS - 1
				:: else
				fi;
#ifdef MUTANT_GATHERS_WHAT_NEVER_COMES
				most = WIDTH(c);
#endif
				if
				:: taken + most <= SLOTS -> grant(c, NOBODY, most, l)
				:: else ->
#ifdef MUTANT_NARROW_OVERTAKE
					c = 0;
					do
					:: c < CLIENTS && want[c] > 0 && taken + WIDTH(c) <= SLOTS -> break
					:: c >= CLIENTS -> break
					:: else -> c++
					od;
					if
					:: c < CLIENTS -> grant(c, NOBODY, WIDTH(c), l)
					:: else -> break
					fi
#else
					break
#endif
				fi
			:: else -> break
			fi
		fi
	od;
	taken = 0;
	most = 0;
#ifdef CONTENTION
	contended = (server == OPEN && len(line) > 0);
#endif
	c = 0;
	l = 0
}

// The lease has come back. One that is lent keeps its slot until what was lent is back.
inline end_lease(l, lent) {
	stage[l] = ENDED;
	holder[l] = NOBODY;
	use[l] = FOR_ONE;
	do
#ifdef MUTANT_FREE_WHILE_LENT
	:: stage[l] == ENDED ->
#else
	:: stage[l] == ENDED && !LENT_OUT(l) ->
#endif
		lent = lender[l];
		stage[l] = FREE;
		lender[l] = NOBODY;
		named[l] = NOBODY;
		width[l] = 0;
		use[l] = UNTOLD;
		if
		:: lent == NOBODY -> break
		:: else -> l = lent
		fi
	:: else -> break
	od;
	lent = 0
}

#ifdef MUTANT_FOREIGN_RELEASE
#define HAS(c, l) (stage[l] == GRANTED || stage[l] == USED)
#else
#define HAS(c, l) (holder[l] == (c))
#endif

#ifdef MUTANT_CLEAN_BEFORE_OPEN
#define STILL_COMING false
#else
#define STILL_COMING (server == RECOVERING)
#endif

inline handle(m, c, x, l, from) {
	if
	:: m == HELLO ->
		known[c] = true;
#ifdef COUNTED
#ifdef MUTANT_ANY_EPOCH_COUNTS
		returns[c] = (server == RECOVERING && epoch[c] != 0);
#else
		returns[c] = (server == RECOVERING && epoch[c] != 0 && epoch[c] == last_epoch);
#endif
		newcomers = (returns[c] -> newcomers : newcomers + 1);
		epoch[c] = file_epoch;
#ifdef MUTANT_NEWCOMERS_ARE_NOT_COUNTED
		file_clients = (server == OPEN || NKNOWN > expected -> NKNOWN : expected);
#else
		file_clients = (server == OPEN -> NKNOWN : expected + newcomers);
#endif
#endif
#ifdef MUTANT_PEERS_ARE_COUNTED
		npeers = (peers[c] > npeers -> peers[c] : npeers);
		nknown++;
		peers[c] = nknown;
#endif
		runs_below[c] = x
	:: m == HOLD -> // taken also by a server that is OPEN: then it may have granted one too many, and grants no more until one is back
		assert(stage[x] == FREE);
		stage[x] = USED;
		holder[x] = c;
		width[x] = worth[x];
		// the lender may come later, or never
		named[x] = lent_of[x];
		lender[x] = (lent_of[x] != NOBODY && stage[lent_of[x]] != FREE -> lent_of[x] : NOBODY);
		for (l : 0 .. LEASES - 1) {
			if
			:: stage[l] != FREE && named[l] == x -> lender[l] = x
			:: else
			fi
		}
		if
		:: at[x] == NOT -> lent_of[x] = NOBODY; worth[x] = 0
		:: else
		fi
	:: m == WANT ->
#ifdef COUNTED
		nback = (returns[c] -> nback + 1 : nback); // it has said all that it holds
		returns[c] = false;
#endif
#ifdef MUTANT_PEERS_ARE_COUNTED
		nback = (is_back[c] -> nback : nback + 1);
		is_back[c] = true;
#endif
		want[c] = x - N(0);
		if
		:: want[c] == 0 -> line_leave(c)
		:: want[c] > 0 && !line??[eval(c)] -> line!c
		:: else
		fi
	:: m == USE || m == LAST ->
		if
		:: HAS(c, x) ->
			stage[x] = USED;
			use[x] = (m == USE -> AGAIN : FOR_ONE);
			if
			:: revoking == x -> revoking = NOBODY
			:: else
			fi
		:: else
		fi
	:: m == REL ->
		if
		:: HAS(c, x) ->
			if
			:: revoking == x -> revoking = NOBODY
			:: else
			fi;
			l = x;
			end_lease(l, from)
		:: else
		fi
	:: m == GONE ->
		known[c] = false;
#ifndef MUTANT_GONE_STAYS_IN_LINE
		line_leave(c);
		want[c] = 0;
#endif
		runs_below[c] = NOBODY;
		for (x : 0 .. LEASES - 1) {
			if
			:: holder[x] == c ->
				if
				:: revoking == x -> revoking = NOBODY
				:: else
				fi;
#ifdef MUTANT_GONE_KEEPS_UNUSED
				if
				:: stage[x] == USED -> l = x; end_lease(l, from)
				:: else
				fi
#else
				l = x;
				end_lease(l, from)
#endif
			:: else
			fi
		}
		do
		:: len(down[c]) > 0 -> down[c]?m, x
		:: else -> break
		od;
#ifdef COUNTED
		returns[c] = false;
		file_clients = (server == OPEN -> NKNOWN : file_clients);
#endif
		dirty = dirty && (STILL_COMING || known[0] || known[1] || known[2 % CLIENTS] || known[3 % CLIENTS])
	fi
}

// A second is enough for who has a lease in use to register it, if it is not stopped.
#ifdef MUTANT_DEAD_ARE_NOT_WAITED_FOR
#define REGISTERED(l) ((at[l] != RUNS && at[l] != KEPT) || stage[l] == USED || dead[who[l]])
#else
#define REGISTERED(l) ((at[l] != RUNS && at[l] != KEPT) || stage[l] == USED)
#endif
#define LATE (REGISTERED(0) && REGISTERED(1) && REGISTERED(2) && REGISTERED(3 % LEASES) && REGISTERED(4 % LEASES) && REGISTERED(5 % LEASES))

#ifdef MUTANT_OPENS_UNREAD
#define ALL_READ true
#else
#define ALL_READ (empty(up[0]) && empty(up[1]) && empty(up[2 % CLIENTS]) && empty(up[3 % CLIENTS]))
#endif

#define REVOCABLE(l) (stage[l] == GRANTED && server == OPEN && revokes > 0 && revoking == NOBODY && nempty(line))

// The server reads from all: in no order, but nobody waits for ever.
proctype reads(byte whose) {
	byte c, x, l, from;
	mtype m = HELLO;
end:
	do
	:: atomic {
		up[whose]?m, x;
		c = whose;
		handle(m, c, x, l, from);
		grants(c, l);
		m = HELLO; x = 0
	}
	od
}

proctype serve() {
	byte c, l, from;
end:
	do
	:: atomic {
#ifdef MUTANT_OPENS_AT_ONCE
		server == RECOVERING ->
#elif defined(COUNTED)
		server == RECOVERING && (nback >= expected || (LATE && ALL_READ)) ->
#elif defined(MUTANT_PEERS_ARE_COUNTED)
		server == RECOVERING && (LATE || (nback > 0 && nback >= npeers)) ->
#else
		server == RECOVERING && (!dirty || (LATE && ALL_READ)) ->
#endif
		server = OPEN;
#ifdef COUNTED
		file_clients = NKNOWN;
		expected = 0;
		nback = 0;
		newcomers = 0;
#endif
		grants(c, l)
	}
#if REVOKES > 0
	:: atomic { // unused for a second, while others wait
		SOME(l, REVOCABLE);
		revokes--;
		revoking = l;
		assert(nfull(down[holder[l]]));
		down[holder[l]]!REVOKE, l;
		l = 0
	}
	:: atomic {
#ifdef MUTANT_REVOKES_UNREAD
		revoking != NOBODY ->
#else
		revoking != NOBODY && empty(up[holder[revoking]]) ->
#endif
		l = revoking;
		revoking = NOBODY;
		end_lease(l, from);
		grants(c, l)
	}
#endif
	od
}

#include "leases_client.pml"

#ifdef CONTENTION

// HOT comes some time. Only the last counts, so it needs no room in `down`. The leases that the client has grow old.
#define IS_YOUNG(l) (at[l] != NOT && who[l] == c && !spent[l])
proctype time_passes(byte c) {
	byte l;
end:
	do
	:: atomic { conn[c] == LINKED && hot[c] != contended -> hot[c] = contended }
	:: atomic { SOME(l, IS_YOUNG); spent[l] = true; l = 0 }
	od
}
#endif

// kill -9 of the server, at any moment
proctype killer() {
	byte c, x;
	mtype m = HELLO;
end:
	do
	:: atomic {
		server_deaths > 0 && server != DOWN ->
		server_deaths--;
		server = DOWN;
		contended = false;
		revoking = NOBODY;
		for (x : 0 .. LEASES - 1) {
			stage[x] = FREE;
			holder[x] = NOBODY;
			lender[x] = NOBODY;
			named[x] = NOBODY;
			width[x] = 0;
			use[x] = UNTOLD
		}
		for (c : 0 .. CLIENTS - 1) {
			conn[c] = (conn[c] == LINKED -> CUT : conn[c]);
#ifdef COUNTED
			last_epoch = 0;
			expected = 0;
			nback = 0;
			newcomers = 0;
			returns[c] = false;
#endif
#ifdef MUTANT_PEERS_ARE_COUNTED
			npeers = 0;
			nknown = 0;
			nback = 0;
			is_back[c] = false;
#endif
			known[c] = false;
			want[c] = 0;
			runs_below[c] = NOBODY;
			do
			:: len(up[c]) > 0 -> up[c]?m, x
			:: else -> break
			od;
			do
			:: over[c] && len(down[c]) > 0 -> down[c]?m, x
			:: else -> break
			od
		}
		do
		:: len(line) > 0 -> line?x
		:: else -> break
		od;
		c = 0; x = 0; m = HELLO
	}
	od
}

#ifdef LIAR
// The last client speaks of a lease that it does not have.
proctype liar() {
	byte l;
end:
	atomic {
		SOME(l, FOREIGN);
		if
		:: up[CLIENTS - 1]!REL, l
		:: up[CLIENTS - 1]!USE, l
		fi
	}
}
#endif

// Nothing moves any more: then all work is done, and no slot is lost.
proctype watcher() {
	byte i;
	timeout;
	d_step {
		for (i : 0 .. CLIENTS - 1) {
			assert(over[i] || !started[i]);
			assert(!known[i] && want[i] == 0)
		}
		for (i : 0 .. LEASES - 1) {
			assert(stage[i] == FREE && at[i] == NOT)
		}
		assert(empty(line))
	}
}

#ifdef ENDLESS
#define RUNS_LAST(l) (at[l] == RUNS && who[l] == CLIENTS - 1)
ltl served { []<>(RUNS_LAST(0) || RUNS_LAST(1) || RUNS_LAST(2) || RUNS_LAST(3 % LEASES) || RUNS_LAST(4 % LEASES)) }
#endif

init {
	byte i;
	atomic {
		for (i : 0 .. CLIENTS - 1) {
			started[i] = (PARENT(i) == NOBODY -> true : false);
			run client(i);
#ifdef CONTENTION
			run time_passes(i);
#endif
			run reads(i)
		}
		run serve();
#ifdef LIAR
		run liar();
#endif
#if SERVER_DEATHS > 0
		run killer();
#endif
#ifndef ENDLESS
		run watcher();
#endif
		i = 0
	}
}
