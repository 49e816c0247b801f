/*
 * usage - what this process has used so far.
 *
 * Units: seconds of CPU, bytes.
 */
#ifndef SAMPLER_BASE_USAGE_H
#define SAMPLER_BASE_USAGE_H

#include <stdint.h>

struct process_usage {
    double cpu_user_s, cpu_sys_s;
    uint64_t rss_bytes, rss_peak_bytes; /* 0: not known */
};

void process_usage_read(struct process_usage *out);

#endif /* SAMPLER_BASE_USAGE_H */
