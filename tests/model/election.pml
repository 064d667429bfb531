// election: a model of how the slot server of a pool comes and goes, checked exhaustively by spin.
//
// Whoever finds nobody to connect to tries to take the lock (flock(2)), without waiting for it: if somebody has it, all begins again
// after a while. With the lock it makes the socket, under another name, which it renames to the name of the socket, and starts a server,
// which inherits socket and lock, and keeps the lock for life. The server ends by itself when it has no clients: it unlinks the name, closes
// its socket, and then gives the lock back. Whoever had connected but has had no WELCOME sees the end of file and tries again.
// A server is also found by another name, which nobody can remove. One whose first name leads to another server ends at once, and its
// clients go over to that.
//
// Servers and clients may be killed at any moment: the kernel gives their locks back and closes their sockets. A name that
// leads to no listening socket refuses, as one that is not there.
//
// MUTANT_... are deliberate bugs, each of which must be found out (tests/model/run).

#ifndef CLIENTS
#define CLIENTS 2             // at most 3
#endif
#ifndef SERVER_DEATHS
#define SERVER_DEATHS 1
#endif
#ifndef CLIENT_DEATHS
#define CLIENT_DEATHS 1
#endif
#ifndef LEAVINGS
#define LEAVINGS 1            // of servers that nobody needs for a while
#endif
#ifndef REMOVALS
#define REMOVALS 0            // of the name, by anybody
#endif
#define SERVERS 6             // that are ever started, at most
#define NOBODY 255

mtype = { UNBORN, BORN, LISTENS, LEAVES, GONE };
mtype server[SERVERS] = UNBORN;
byte nservers;
byte name = NOBODY;           // the server that it leads to
byte second = NOBODY;         // and this one

// A lock is free when all are gone who have it open: the elector, and the server that it has started.
bool elects[CLIENTS], inherits[SERVERS];

byte to[CLIENTS] = NOBODY;    // the server that the client is connected to
bool welcome[CLIENTS], served[CLIENTS], dead[CLIENTS];

byte server_deaths = SERVER_DEATHS, client_deaths = CLIENT_DEATHS, leavings = LEAVINGS, removals = REMOVALS;

#define IS_LOCKED (elects[0] || elects[1] || elects[2 % CLIENTS] || inherits[0] || inherits[1] || inherits[2] || inherits[3] || inherits[4] || inherits[5])
#define HAS_CLIENT(s) (to[0] == (s) || to[1] == (s) || to[2 % CLIENTS] == (s))
#define IS_ALIVE(s) (server[s] != UNBORN && server[s] != GONE)
// It can be connected to from when its socket is there, before it runs.
#define ACCEPTS(s) (server[s] == BORN || server[s] == LISTENS)
#define CAN_CONNECT ((name != NOBODY && ACCEPTS(name)) || (name == NOBODY && second != NOBODY && ACCEPTS(second)))

inline ends(s) {
	server[s] = GONE;
	inherits[s] = false;
	second = (second == s -> NOBODY : second);
	for (k : 0 .. CLIENTS - 1) { // end of file
		to[k] = (to[k] == s -> NOBODY : to[k])
	}
	k = 0
}

proctype serve(byte s) {
	byte k;
end:
	do
	:: atomic { server[s] == GONE -> break }
	:: atomic {
		server[s] == BORN ->
		second = (second == NOBODY -> s : second);
		server[s] = LISTENS;
		for (k : 0 .. SERVERS - 1) {
			assert(k == s || server[k] != LISTENS) // never two that grant
		}
		k = 0
	}
#ifdef MUTANT_LOCK_IS_NOT_KEPT
	:: atomic { server[s] == LISTENS && inherits[s] -> inherits[s] = false }
#endif
	:: atomic { server[s] == LISTENS && to[0] == s && !welcome[0] -> welcome[0] = true }
	:: atomic { server[s] == LISTENS && to[1] == s && !welcome[1] -> welcome[1] = true }
#if CLIENTS > 2
	:: atomic { server[s] == LISTENS && to[2] == s && !welcome[2] -> welcome[2] = true }
#endif
	:: atomic { server[s] == LISTENS && name != s && name != NOBODY -> server[s] = LEAVES }
	:: atomic { // nobody was there for a while, as far as it has seen
		server[s] == LISTENS && leavings > 0 && !(HAS_CLIENT(s) && (welcome[0] || welcome[1] || welcome[2 % CLIENTS])) ->
		leavings--;
		name = (name == s -> NOBODY : name);
		server[s] = LEAVES
	}
	:: atomic { server[s] == LEAVES -> ends(s) }
	od
}

inline try_to_connect() {
	if
	:: dead[c] -> goto killed
	:: !dead[c] && name != NOBODY && ACCEPTS(name) -> to[c] = name
	:: !dead[c] && name == NOBODY && second != NOBODY && ACCEPTS(second) -> to[c] = second
	:: else
	fi
}

proctype client(byte c) {
	byte k;
again:
	atomic { try_to_connect() }
	if
	:: to[c] != NOBODY -> goto connected
	:: else
	fi;
	atomic { // it looks again and again
		if
		:: dead[c] -> goto killed
		:: !dead[c] && CAN_CONNECT -> goto again
		:: !dead[c] && !IS_LOCKED -> elects[c] = true
		fi
	}
	atomic {
		if
		:: dead[c] -> goto killed
		:: else ->
			for (k : 0 .. SERVERS - 1) {
				assert(server[k] != BORN && server[k] != LISTENS) // nobody starts one that is not needed
			}
			k = 0;
			assert(nservers < SERVERS);
			server[nservers] = BORN;
			name = nservers;
#ifndef MUTANT_LOCK_IS_NOT_INHERITED
			inherits[nservers] = true;
#endif
			nservers++;
			run serve(nservers - 1)
		fi
	}
	elects[c] = false;
	goto again;
connected:
	atomic {
		if
		:: dead[c] -> goto killed
#ifdef MUTANT_END_OF_FILE_IS_FINAL
		:: !dead[c] && to[c] == NOBODY && !welcome[c] -> elects[c] = false; goto killed
#else
		:: !dead[c] && to[c] == NOBODY -> elects[c] = false; welcome[c] = false; goto again
#endif
		:: !dead[c] && to[c] != NOBODY && welcome[c] -> elects[c] = false
		fi
	}
	atomic { // its jobs run, or the server dies, and it needs another
		if
		:: dead[c] -> goto killed
		:: !dead[c] && to[c] == NOBODY -> welcome[c] = false; goto again
		:: !dead[c] && to[c] != NOBODY -> to[c] = NOBODY; welcome[c] = false; served[c] = true
		fi
	}
killed:
	skip
}

proctype killer() {
	byte c, k;
end:
	do
	:: atomic {
		client_deaths > 0 ->
		if
		:: c = 0
		:: c = 1
		fi;
		client_deaths--;
		dead[c] = !served[c];
		elects[c] = false;
		to[c] = NOBODY;
		welcome[c] = false;
		c = 0
	}
	:: atomic {
		if
		:: server_deaths > 0 && IS_ALIVE(0) -> c = 0
		:: server_deaths > 0 && IS_ALIVE(1) -> c = 1
		:: server_deaths > 0 && IS_ALIVE(2) -> c = 2
		:: server_deaths > 0 && IS_ALIVE(3) -> c = 3
		fi;
		server_deaths--;
		ends(c);
		c = 0
	}
	:: atomic { removals > 0 && name != NOBODY -> removals--; name = NOBODY }
	od
}

// Nothing moves any more: all that live were served, and nothing is held that nobody needs.
proctype watcher() {
	byte i;
	timeout;
	d_step {
		for (i : 0 .. CLIENTS - 1) {
			assert(served[i] || dead[i]);
			assert(!elects[i])
		}
		for (i : 0 .. SERVERS - 1) {
			assert(server[i] == UNBORN || server[i] == GONE || server[i] == LISTENS)
		}
	}
}

init {
	byte i;
	atomic {
		for (i : 0 .. CLIENTS - 1) {
			run client(i)
		}
		run killer();
		run watcher();
		i = 0
	}
}
