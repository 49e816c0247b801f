/*
 * stats - a line on standard error every second: how sampling goes right now.
 *
 * On a terminal the line is written over itself; elsewhere each is a line of its own.
 *
 * Threads: the main one.
 * Depends on: profile, wire/session, usage.
 */
#ifndef SERVER_COMMAND_OUTPUT_STATS_H
#define SERVER_COMMAND_OUTPUT_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_info;

enum { STATS_LINE_BYTES = 320 };

struct stats {
    bool is_terminal;
    bool is_open;        /* a line without an end stands on the terminal */
    uint64_t due_ns;     /* CLOCK_MONOTONIC, of the next line; 0: not begun */
    uint64_t said_ns;    /* of the last line */
    uint64_t said_ticks; /* counted until then */
    double said_cpu_s;
    double least_hz, most_hz; /* of any second so far; most 0: none yet */
};

void stats_init(struct stats *stats);

/* Milliseconds until the next line is due. */
int stats_wait_ms(const struct stats *stats, uint64_t now_ns);

/* Writes the line if it is due. */
void stats_say(struct stats *stats, const struct session_info *info, uint64_t now_ns);

/* Ends an open line, so that something else may be said. */
void stats_end(struct stats *stats);

/* The line itself: what happened since the last one, and the shares of the whole. */
void stats_format(struct stats *stats, const struct session_info *info, double cpu_s,
                  uint64_t now_ns, char out[STATS_LINE_BYTES]);

#endif /* SERVER_COMMAND_OUTPUT_STATS_H */
