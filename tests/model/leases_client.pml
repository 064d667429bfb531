// leases_client: a client of leases.pml, which includes this, and its guardian when it is dead.

#define MINE(l, state) (at[l] == state && who[l] == c)
inline say(m, x) {
	if
	:: conn[c] == LINKED -> assert(nfull(up[c])); up[c]!m, x
	:: else // EPIPE
	fi
}

#ifdef PIPE                   // client 1 reads what client 2 writes
#define MOST (c == 1 && !over[2] -> 0 : (todo[c] < CAP - running[c] -> todo[c] : CAP - running[c]))
#else
#define MOST (todo[c] < CAP - running[c] -> todo[c] : CAP - running[c])
#endif
#define NEED (dead[c] || MOST < got[c] -> 0 : MOST - got[c])

// Does a client live below the job on that lease?
#define HAS_BELOW(k, l) (job_above[k] == (l) && !over[k])
#ifdef DAEMON
#define MAY_END(l) true
#else
#define MAY_END(l) (dead[c] || !(HAS_BELOW(0, l) || HAS_BELOW(1, l) || HAS_BELOW(2 % CLIENTS, l) || HAS_BELOW(3 % CLIENTS, l)))
#endif

#ifdef SUCCESSIVE
#define STARTS(k) (FIRST_NONCE(l) + (k) - 1 <= nonce[l])
#else
#define STARTS(k) true
#endif

// Its first job starts those below it.
inline start_below() {
	for (k : 0 .. CLIENTS - 1) {
		if
		:: PARENT(k) == c && !started[k] && STARTS(k) ->
			started[k] = true;
			below[k] = l;
			below_nonce[k] = nonce[l];
			job_above[k] = l
		:: else
		fi
	}
	k = 0
}

inline job_ended() {
	running[c]--;
	for (k : 0 .. CLIENTS - 1) {
		if
		:: job_above[k] == l -> job_above[k] = job_above[c]
		:: else
		fi
	}
	for (k : 0 .. LEASES - 1) {
		if
		:: out_of[k] == l -> out_of[k] = out_of[l]
		:: else
		fi
	}
	k = 0
}

inline forget(l) {
	out_of[l] = NOBODY;
	at[l] = NOT;
	who[l] = NOBODY;
	spent[l] = false;
	if
	:: !up[c]??[HOLD, eval(l)] -> lent_of[l] = NOBODY; worth[l] = 0 // what HOLD says
	:: else
	fi
}

inline say_use(l) {
	if
	:: final[l] -> say(LAST, l)
	:: else -> say(USE, l)
	fi
}

inline register_again() {
	say(HELLO, below[c]);
	for (l : 0 .. LEASES - 1) {
		if
		:: MINE(l, RUNS) || MINE(l, KEPT) -> say(HOLD, l)
		:: else
		fi
	}
	for (l : 0 .. LEASES - 1) {
		if
		:: MINE(l, RUNS) || MINE(l, KEPT) ->
#ifdef MUTANT_NEW_SERVER_FREES
			final[l] = !REUSES(c);
#endif
			say_use(l)
		:: else
		fi
	}
	l = 0;
	told[c] = NEED;
	say(WANT, N(told[c]))
}

inline take(m, x) {
	if
	:: m == GRANT ->
		at[x] = GOT;
		got[c]++;
		if
		:: told[c] > 0 -> told[c]--
		:: else
		fi
	:: m == REVOKE ->
		if
		:: MINE(x, GOT) -> forget(x); got[c]--
		:: else
		fi
	:: m == ASK ->
		if
		:: who[x] == c && at[x] != GOT ->
#ifndef MUTANT_LAST_IS_FORGOTTEN
			final[x] = true;
#endif
			say(LAST, x)
		:: else
		fi
	fi
}

#ifdef GUARDIAN_HOLDS
#define CONNECTS (conn[c] == IDLE && !over[c] && !looks && (!dead[c] || running[c] > 0))
#else
#define CONNECTS (conn[c] == IDLE && !over[c] && !looks && !dead[c])
#endif
#define ROOM (conn[c] != LINKED || nfull(up[c]))
#define NEEDLESS(l) ((MINE(l, GOT) || MINE(l, KEPT)) && got[c] > MOST && conn[c] == LINKED && !dead[c] && !looks && ROOM)
#ifdef MUTANT_VOID_IS_KEPT
#define STARTABLE(l) (MINE(l, GOT) && todo[c] > 0 && running[c] < CAP && !dead[c] && !looks && ROOM)
#else
#define STARTABLE(l) (MINE(l, GOT) && todo[c] > 0 && running[c] < CAP && !dead[c] && conn[c] == LINKED && !looks && ROOM)
#endif
#define FOREIGN(l) (who[l] != NOBODY && who[l] != CLIENTS - 1 && conn[CLIENTS - 1] == LINKED && !over[CLIENTS - 1])
#define IS_SAID(l) ((MINE(l, SAID) || MINE(l, NEXT)) && !dead[c] && ROOM)
#ifdef MUTANT_LOOKS_BEFORE_NEXT
#define IS_FOR_NEXT(l) (MINE(l, KEPT) && todo[c] > 0 && running[c] < CAP && !dead[c] && !looks && ROOM && conn[c] == LINKED)
#else
#define IS_FOR_NEXT(l) (MINE(l, KEPT) && todo[c] > 0 && running[c] < CAP && !dead[c] && !looks && ROOM)
#endif
#define ENDS(l) (MINE(l, RUNS) && MAY_END(l) && !looks && ROOM)

// Is the lease of a job that has ended kept for another? It may be, or not, as long as work has an end. Else it is while nobody
// waits or it is young.
#define HAS_NEXT (REUSES(c) && todo[c] > 0 && conn[c] == LINKED)
#ifndef CONTENTION
#define KEEPS(l) HAS_NEXT
#define GIVES(l) true
#elif defined(MUTANT_HOT_IS_IGNORED)
#define KEEPS(l) HAS_NEXT
#define GIVES(l) (!HAS_NEXT)
#else
#define KEEPS(l) (HAS_NEXT && (!hot[c] || !spent[l]))
#define GIVES(l) (!HAS_NEXT || (hot[c] && spent[l]))
#endif

proctype client(byte c) {
	byte l, x, k;
	mtype m = GRANT;
	bool looks; // it has written USE or another nonce, and next it looks for what has come
end:
	started[c];
	do
	:: atomic { // the server is there, or somebody starts it
		CONNECTS ->
		if
		:: server == DOWN ->
			server = RECOVERING
#ifdef COUNTED
			;
			last_epoch = file_epoch;
			expected = file_clients;
			file_epoch++
#endif
		:: else
		fi;
		conn[c] = LINKED;
		register_again()
	}
	:: atomic {
		nempty(down[c]) && !dead[c] && !looks && ROOM ->
		down[c]?m, x;
		take(m, x);
		m = GRANT; x = 0
	}
	:: atomic { // end of file: what is not in use is void
		conn[c] == CUT && (empty(down[c]) || dead[c]) && !looks ->
		conn[c] = IDLE;
		hot[c] = 0;
		for (l : 0 .. LEASES - 1) {
			if
#ifndef MUTANT_VOID_IS_KEPT
			:: MINE(l, GOT) -> forget(l); got[c]--
#endif
			:: else
			fi
		}
		l = 0;
		told[c] = 0
	}
	:: atomic {
		conn[c] == LINKED && !dead[c] && !looks && told[c] != NEED && ROOM ->
		told[c] = NEED;
		say(WANT, N(told[c]))
	}
#ifndef MUTANT_NEEDLESS_IS_KEPT
	:: atomic { // more than it needs
		SOME(l, NEEDLESS);
		got[c]--;
		say(REL, l);
		forget(l);
		l = 0
	}
#endif
	:: atomic {
		SOME(l, STARTABLE);
		nonce[l] = FIRST_NONCE(l);
		final[l] = !REUSES(c);
#ifndef MUTANT_LOOKS_FIRST
		say_use(l);
#endif
		at[l] = SAID;
		looks = true;
		running[c]++;
		got[c]--;
#ifndef ENDLESS
		todo[c]--;
#endif
		l = 0
	}
#ifdef REUSE
	:: atomic { // another job
		SOME(l, IS_FOR_NEXT);
		got[c]--;
		if
		:: final[l] -> say(REL, l); forget(l)
		:: else ->
#ifdef ENDLESS
			nonce[l] = FIRST_NONCE(l) + 1;
#else
			nonce[l]++;
			todo[c]--;
#endif
			running[c]++;
			at[l] = NEXT;
			looks = true
		fi;
		l = 0
	}
#endif
	:: atomic {
		SOME(l, IS_SAID);
		looks = false;
		if
#ifndef MUTANT_VOID_IS_KEPT
#if defined(MUTANT_USED_AGAIN_WITHOUT_SERVER) || defined(MUTANT_LOOKS_BEFORE_NEXT)
		:: conn[c] != LINKED && at[l] == SAID ->
#else
		:: conn[c] != LINKED -> // its server has gone
#endif
			running[c]--;
#ifndef ENDLESS
			todo[c]++;
#endif
			forget(l)
#endif
#if !defined(MUTANT_NO_LOOK) && !defined(MUTANT_LOOKS_FIRST)
		:: conn[c] == LINKED && at[l] == SAID && down[c]??[REVOKE, eval(l)] ->
			running[c]--;
#ifndef ENDLESS
			todo[c]++;
#endif
			say(REL, l);
			forget(l)
#endif
		:: else ->
#ifdef MUTANT_LOOKS_FIRST
			say_use(l);
#endif
#ifdef MUTANT_QUANTUM_BEGINS_ANEW
			spent[l] = false;
#endif
			at[l] = RUNS;
			start_below();
			check_slots()
		fi;
		l = 0
	}
	:: atomic { // a job ends
		SOME(l, ENDS);
		job_ended();
		if
		:: dead[c] -> forget(l)
		:: !dead[c] && KEEPS(l) -> at[l] = KEPT; got[c]++
		:: !dead[c] && GIVES(l) -> say(REL, l); forget(l)
		fi;
		l = 0
	}
	:: atomic { // it has done its work, or its last job is dead
		!over[c] && !looks && ROOM && running[c] == 0 && (dead[c] || (todo[c] == 0 && got[c] == 0)) ->
		over[c] = true;
		say(GONE, 0);
		conn[c] = IDLE;
		told[c] = 0;
		hot[c] = 0;
		below[c] = NOBODY;
		job_above[c] = NOBODY;
		break
	}
#if DROPS > 0
	:: atomic { drops > 0 && todo[c] > 0 && !looks -> drops--; todo[c]-- }
#endif
#if CLIENT_DEATHS > 0
	:: atomic { // kill -9
		client_deaths > 0 && !dead[c] ->
		client_deaths--;
		dead[c] = true;
		looks = false;
		todo[c] = 0;
		for (l : 0 .. LEASES - 1) {
			if
			:: MINE(l, GOT) || MINE(l, KEPT) -> got[c]--; forget(l)
			:: MINE(l, SAID) || MINE(l, NEXT) -> running[c]--; forget(l)
			:: else
			fi
		}
		l = 0;
#ifdef MUTANT_NO_GUARDIAN
		say(GONE, 0);
		conn[c] = IDLE
#endif
	}
#endif
	od
}

