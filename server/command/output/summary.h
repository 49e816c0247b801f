/*
 * summary - the last words of a recording: what was captured, and how right it is.
 *
 * Depends on: profile/quality, wire/session.
 */
#ifndef SERVER_COMMAND_OUTPUT_SUMMARY_H
#define SERVER_COMMAND_OUTPUT_SUMMARY_H

#include <stdint.h>

struct session_info;
struct states;

/* A few lines on standard error.  states: of all samples. */
void summary_say(const struct session_info *info, const struct states *states);

#endif /* SERVER_COMMAND_OUTPUT_SUMMARY_H */
