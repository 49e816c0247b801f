/*
 * units - numbers as people write them on a command line.
 *
 * Depends on: libc.
 */
#ifndef SERVER_COMMAND_OPTIONS_UNITS_H
#define SERVER_COMMAND_OPTIONS_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "100", "100hz", "10khz", "1.5k", "1mhz"; false: not a rate, or not within 1 Hz to 1 MHz. */
bool units_rate(const char *text, double *hz_out);

/* "10", "0.5", "500ms", "10s", "2m", "1h"; false: not a duration, or not above 0. */
bool units_duration(const char *text, uint64_t *ns_out);

/* "5", "0.5", "5%"; false: not a percentage, or not above 0 and up to 100. */
bool units_percent(const char *text, double *percent_out);

/* "64mib", "256M", "1.5g", "1048576"; false: not a size, or not within 1 MiB to 1 TiB.  K, M and
 * G are powers of 1024, with or without "iB" or "B". */
bool units_size(const char *text, size_t *bytes_out);

#endif /* SERVER_COMMAND_OPTIONS_UNITS_H */
