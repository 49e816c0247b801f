/*
 * summary - the last words of a recording: what was captured, and how right it is.
 *
 * Depends on: profile/quality, wire/session.
 */
#ifndef SERVER_COMMAND_SUMMARY_H
#define SERVER_COMMAND_SUMMARY_H

#include <stdint.h>

struct quality;
struct session_facts;
struct states;

/* A few lines on standard error.  states: of all samples. */
void summary_say(const struct session_facts *facts, const struct states *states);

/* Threads that could not be read, for whatever reason. */
uint64_t summary_failed(const struct quality *quality);
/* 0 of nothing is 0. */
double summary_percent(uint64_t part, uint64_t whole);

#endif /* SERVER_COMMAND_SUMMARY_H */
