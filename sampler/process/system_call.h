/*
 * system_call - the system call that a thread waits in, and what kind of call that is.
 */
#ifndef SAMPLER_PROCESS_SYSTEM_CALL_H
#define SAMPLER_PROCESS_SYSTEM_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct system_call {
    int32_t number;   /* 0 is a call, too */
    bool is_known;    /* the thread waits, and in a system call */
    bool has_polled;  /* the next two are known */
    int32_t polled;   /* of a call that polls one descriptor: it */
    int16_t events;   /* and what it is polled for */
    bool is_timed;    /* of a futex: the wait ends after a time; only system_call_read knows */
    uint64_t args[2]; /* the first ones */
    uint64_t sp, ip;  /* of the thread; 0: unknown */
};

enum call_kind {
    CALL_OTHER,
    CALL_SLEEP,
    CALL_EVENTS,  /* waits for events of many descriptors */
    CALL_POLL,    /* poll(descriptors, how many) */
    CALL_SELECT,  /* select(how many, ...) */
    CALL_READ,    /* from the descriptor that is its first argument */
    CALL_WRITE,   /* to it */
    CALL_RECEIVE, /* the same, only of sockets */
    CALL_SEND,
    CALL_ACCEPT,
    CALL_DISK,
    CALL_OPEN, /* a file by its name */
    CALL_LOCK,
    CALL_QUEUE,
    CALL_CHILD,
    CALL_CONTROL, /* of the device that is its first argument */
    CALL_FUTEX,   /* a lock, a condition, ... */
};

enum call_kind system_call_kind(int32_t number);

/* Does a stop of the waiting thread end the call, with EINTR?  The kernel continues other calls.  Source: signal(7),
 * "Interruption of system calls and library functions by stop signals". */
bool system_call_ends_by_a_stop(int32_t number);

/* Reads the text of /proc/PID/task/TID/syscall: "running", or the number, the arguments, the stack pointer
 * and the instruction; -1 instead of a number: the thread waits, but not in a call. */
void system_call_read(const char *text, struct system_call *out);

#endif /* SAMPLER_PROCESS_SYSTEM_CALL_H */
