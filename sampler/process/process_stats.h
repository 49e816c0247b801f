/*
 * process_stats - the resources, owner, container and pod of a process, as /proc shows them to every user.
 *
 * Units: bytes; clock ticks since boot, and of CPU time.
 */
#ifndef SAMPLER_PROCESS_PROCESS_STATS_H
#define SAMPLER_PROCESS_PROCESS_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct process_stats {
    char state; /* 'Z': a zombie */
    int parent;
    uint32_t threads;
    uint64_t minor_faults, cpu_ticks; /* of all its threads */
    uint64_t start_ticks;
    uint64_t rss_bytes;
    uint64_t code_start, stack_start; /* change at exec; 0 or 1: hidden from us */
};

/* Reads one small file.  ERR_GONE: no such process. */
MUST_CHECK enum err_code process_stats_read(int pid, struct process_stats *out,
                                            struct err *err);
/* Parses the text of /proc/PID/stat. ERR_CORRUPT: not such a text. */
MUST_CHECK enum err_code process_stats_parse(const char *stat, struct process_stats *out);
/* Are both of one process, and of one program in it? */
bool process_stats_same_program(const struct process_stats *a, const struct process_stats *b);

/* The real user id, also of a process that is not dumpable. */
MUST_CHECK enum err_code process_stats_user(int pid, unsigned *uid_out, struct err *err);

enum {
    CONTAINER_ID_BYTES = 80,
    CONTAINER_NAME_BYTES = 32,
    POD_UID_BYTES = 40,
    POD_BYTES = 320
};

/* A folder of each pod of a node, NAMESPACE_NAME_UID; the kubelet makes them. */
#define POD_FOLDER "/var/log/pods"
/* Variables that name the pod of this process, by the downward API, to those that share its
 * processes. */
#define POD_NAME_VARIABLE      "PYROMETER_POD"
#define POD_NAMESPACE_VARIABLE "PYROMETER_NAMESPACE"

struct container {
    char id[CONTAINER_ID_BYTES]; /* "": in no container */
    /* The runtime that made it: docker, libpod, cri-containerd; "": unknown. */
    char name[CONTAINER_NAME_BYTES];
    char pod_uid[POD_UID_BYTES]; /* "": the control group names no pod */
    char pod[POD_BYTES]; /* "NAMESPACE/NAME" of Kubernetes, else the UID; "": in no pod */
};

/* Reads /proc/PID/cgroup; if that cannot be read, the process counts as in no container. */
void container_of(int pid, struct container *out);
/* Fills in all but `pod` from the text of the file: the id is the last run of 32 or more hex
 * digits in a line. */
void container_parse(const char *cgroup, struct container *out);
/* Fills in `pod` from `pod_uid` and that folder, or from the environment. */
void container_name_pod(const char *folder, struct container *container);

#endif /* SAMPLER_PROCESS_PROCESS_STATS_H */
