/*
 * headlines - what each process of a list does, in one sentence (report/summary.h), kept from one list to the next.
 *
 * A headline costs a few views of a profile.  So they are made one after another, the oldest first and none twice of the
 * same profile, as long as all together take a fiftieth of the time; a list has those that there are.  Of the continuous
 * session they are of the last minutes, as the rest of what the list says of it.
 *
 * Ownership: the caller's storage; the texts belong to it.
 * Threads: any, between init and deinit; one makes headlines while others read them.
 * Limits: as many as keys are given.
 */
#ifndef SERVER_API_HEADLINES_H
#define SERVER_API_HEADLINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/report/summary.h"

struct sessions;

struct headlines {
    pthread_mutex_t making; /* held by who makes headlines; nobody else changes the table */
    pthread_mutex_t lock;   /* guards the table while it changes */
    struct headline {
        uint64_t key;
        uint64_t made_ns;    /* 0: not yet */
        uint32_t generation; /* of the profile */
        char *text;          /* NULL: there is nothing to say yet */
    } * items;               /* ascending by key */
    size_t count;
    uint64_t free_ns; /* no headline is made before */
};

void headlines_init(struct headlines *headlines);
void headlines_deinit(struct headlines *headlines);

/* The headline of a process in a session. */
uint64_t headlines_key(const char *session, pid_t pid);
/* Makes the oldest headlines of these keys again, and forgets all others. */
void headlines_renew(struct headlines *headlines, struct sessions *sessions,
                     const uint64_t *keys, size_t count);
/* false: there is none. */
bool headlines_find(struct headlines *headlines, uint64_t key,
                    char out[SUMMARY_HEADLINE_BYTES]);

#endif /* SERVER_API_HEADLINES_H */
