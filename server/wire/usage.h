/*
 * usage - what this program itself costs: CPU time and memory, since it started.
 */
#ifndef SERVER_WIRE_USAGE_H
#define SERVER_WIRE_USAGE_H

#include <stdint.h>

struct usage {
    double cpu_user_s, cpu_sys_s;
    uint64_t rss_bytes;      /* 0: not known */
    uint64_t rss_peak_bytes; /* 0: not known */
};

void usage_read(struct usage *out);

#endif /* SERVER_WIRE_USAGE_H */
