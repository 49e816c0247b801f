/*
 * run_summary - prints about a session to standard error: that sampling has started, a line every
 * second (--realtime-stats, or on a terminal its progress), and one line with the result at the end.
 * Before that, lines say what makes the result wrong or incomplete; without trouble there are none.
 *
 * On a terminal each line overwrites the previous one, and progress is removed at the end.
 *
 * Ownership: plain data.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H
#define SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct session_info;
struct states;
struct written;

struct run_summary {
    bool is_terminal;
    bool is_open;     /* the line on the terminal has no line end yet */
    bool is_progress; /* and is removed */
    uint64_t began_ns;
    uint64_t due_ns;          /* CLOCK_MONOTONIC, of the next line; 0: not begun */
    uint64_t last_ns;         /* of the last line */
    uint64_t last_ticks;      /* number of ticks at the last line */
    double last_cpu_s;        /* CPU time of the profiler at the last line */
    double least_hz, most_hz; /* between two lines; most_hz 0: none yet */
};

void run_summary_say_start(struct session *session);

void run_summary_begin(struct run_summary *summary);
/* Milliseconds until the next line is due. */
int run_summary_wait_ms(const struct run_summary *summary, uint64_t now_ns);
/* Writes the line if it is due. */
void run_summary_say_line(struct run_summary *summary, const struct session_info *info,
                          uint64_t now_ns);
/* Prints the line for a user who waits for the end: time, samples, rate, quality. */
void run_summary_say_progress(struct run_summary *summary, const struct session_info *info,
                              uint64_t now_ns);
/* Ends an open line, so that other messages start on a new line. */
void run_summary_end_line(struct run_summary *summary);

/* Writes why shares may be off: uncertain or missing samples, stops that come late.  Nothing if they are not. */
void run_summary_say_quality(const struct session_info *info);

/* The session is one of this process.  states: of all samples.  written: the files. */
void run_summary_say_end(const struct session_info *info, const struct states *states,
                         const struct written *written);

#endif /* SERVER_COMMAND_OUTPUT_RUN_SUMMARY_H */
