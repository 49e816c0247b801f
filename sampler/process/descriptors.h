/*
 * descriptors - what an open file descriptor of another process is, and who is at the other end of a
 * socket.
 *
 * The kernel names them in /proc/PID/fd.  An answer is used again for DESCRIPTORS_FRESH_NS: by then the
 * number may be another file's.  The peer of a socket stands in a table of all sockets of its network
 * namespace, which is read once for a socket, and takes at most a fiftieth of the time on a CPU.
 *
 *     "10.0.0.5:5432"        the other end, for the side that connected
 *     "clients of :8000"     the side that was connected to: its peers are too many to name
 *     "unix:/run/pg.sock"    of a UNIX socket that has a path; others, and those whose path is disputed: "unix"
 *
 * Of a name, the kernel is asked what is behind it: a file, a named pipe or a device.  Nothing is opened, and nothing asked of
 * the file system, which may be one that does not answer.
 *
 * Ownership: descriptors_destroy accepts NULL.
 * Threads: one at a time.
 * Limits: DESCRIPTORS_MAX_LINES lines of a table, DESCRIPTORS_PEER_BYTES bytes of a peer.
 */
#ifndef SAMPLER_PROCESS_DESCRIPTORS_H
#define SAMPLER_PROCESS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { DESCRIPTORS_PEER_BYTES = 64, DESCRIPTORS_MAX_LINES = 1 << 14 };

#define DESCRIPTORS_FRESH_NS 20000000ull

enum descriptor_kind {
    DESCRIPTOR_UNKNOWN,
    DESCRIPTOR_SOCKET,
    DESCRIPTOR_PIPE,
    DESCRIPTOR_FILE,
    DESCRIPTOR_TERMINAL,
    DESCRIPTOR_PROCESS, /* a pidfd */
    DESCRIPTOR_EVENTS,  /* eventfd, timerfd, signalfd, inotify, ... */
    DESCRIPTOR_GPU,     /* a device of NVIDIA's or AMD's driver */
    DESCRIPTOR_DEVICE,  /* another device, or a file that the kernel makes up */
};

struct descriptors;

MUST_CHECK enum err_code descriptors_create(struct descriptors **out, struct err *err);
void descriptors_destroy(struct descriptors *descriptors);

/* *peer_out: good until the next call; "" if it is not a socket, or unknown. */
enum descriptor_kind descriptors_find(struct descriptors *descriptors, int pid, int fd,
                                      uint64_t now_ns, const char **peer_out);

/* The peer that a line of /proc/PID/net/tcp, or tcp6, shows for a socket.  false: the line is of another one. */
bool descriptors_read_line(const char *line, uint64_t inode, char out[DESCRIPTORS_PEER_BYTES]);
/* Reads a line of /proc/PID/net/unix. Unprintable characters of the path become '?'. */
bool descriptors_read_unix_line(const char *line, uint64_t inode,
                                char out[DESCRIPTORS_PEER_BYTES]);
/* The meaning of a link in /proc/PID/fd; of a socket, its inode. */
enum descriptor_kind descriptors_read_link(const char *text, uint64_t *inode_out);

#endif /* SAMPLER_PROCESS_DESCRIPTORS_H */
