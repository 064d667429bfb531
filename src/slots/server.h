// The slot server of a pool: a small process that says who may use which slot, and executes nothing.
//
// Whoever finds none starts one (slots/client.c). It serves all clients of the pool, in one thread, and ends when none was there
// for some seconds. When it dies, the clients start another and tell it what they hold.
//
// NAME.lock is its life: it has the lock as long as it lives, and in the file stand its epoch and how many clients it has, for
// who comes after it.

#ifndef FAIRPAR_SLOTS_SERVER_H
#define FAIRPAR_SLOTS_SERVER_H

// The first argument that makes main() call slot_server_main() before anything else. Behind it: the descriptors of the lock and of
// the socket that listens, the directory, the name, the number of slots, and "time" or "turns".
#define SLOT_SERVER_ARG "--internal-slot-server"
enum { SLOT_SERVER_ARGS = 8 }; // with the program's name

// The program of the server; returns its exit status.
int slot_server_main(int argc, char *argv[]);

#endif
