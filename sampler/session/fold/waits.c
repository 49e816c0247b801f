#include "sampler/session/fold/waits.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/process/memory.h"
#include "sampler/process/procfs.h"
#include "sampler/process/system_call.h"
#include "sampler/session/fold/wait_site.h"

#define OTHER_PEERS "other peers"

struct waits {
    struct profile *profile;
    bool names_peers;
    struct descriptors *descriptors;
    str_id no_file;
    size_t count;
    struct known_wait {
        enum wait_cause cause;
        char detail[WAITS_MAX_DETAIL];
        frame_id frame;
    } items[WAITS_MAX +
            2 * WAIT_CAUSE_COUNT]; /* each cause alone and with OTHER_PEERS has room */
};

enum err_code waits_create(struct profile *profile, bool names_peers, struct waits **out,
                           struct err *err)
{
    struct waits *const waits = calloc(1, sizeof *waits);
    if (!waits)
        return err_nomem(err);
    waits->profile = profile;
    waits->names_peers = names_peers;
    enum err_code rc = strtab_intern(profile_strings(profile), "~", 1, &waits->no_file, err);
    if (!rc)
        rc = descriptors_create(&waits->descriptors, err);
    if (rc)
        waits_destroy(waits);
    else
        *out = waits;
    return rc;
}

void waits_destroy(struct waits *waits)
{
    if (!waits)
        return;
    descriptors_destroy(waits->descriptors);
    free(waits);
}

/* The cause of a call that reads from or writes to a descriptor. */
static enum wait_cause cause_of_transfer(enum descriptor_kind kind, bool reads)
{
    switch (kind) {
    case DESCRIPTOR_SOCKET: return reads ? WAIT_NETWORK_READ : WAIT_NETWORK_WRITE;
    case DESCRIPTOR_PIPE: return WAIT_PIPE;
    case DESCRIPTOR_FILE: return WAIT_DISK;
    case DESCRIPTOR_TERMINAL: return WAIT_TERMINAL;
    case DESCRIPTOR_PROCESS: return WAIT_CHILD;
    case DESCRIPTOR_EVENTS: return WAIT_EVENT_LOOP;
    case DESCRIPTOR_GPU: return WAIT_GPU;
    case DESCRIPTOR_DEVICE:
    case DESCRIPTOR_UNKNOWN: break;
    }
    return WAIT_UNKNOWN;
}

/* The cause of a call that waits for events, as an event loop does. */
static enum wait_cause cause_of_events(const struct wait_site *site)
{
    return site->child || site->connection ? WAIT_PIPE : WAIT_EVENT_LOOP;
}

static enum wait_cause cause_of_call(const struct system_call *call,
                                     const struct wait_site *site, enum descriptor_kind kind)
{
    switch (system_call_kind(call->number)) {
    case CALL_SLEEP: return WAIT_SLEEP;
    case CALL_EVENTS: return cause_of_events(site);
    case CALL_POLL: {
        /* A socket with a timeout polls itself before it reads.  No poll waits for a file on a disk: what looks like
         * one has events.  One of a device may wait for what that computes. */
        if (call->args[1] == 0)
            return WAIT_SLEEP;
        const enum wait_cause cause = call->has_polled && kind != DESCRIPTOR_FILE
                                          ? cause_of_transfer(kind, call->events & POLLIN)
                                          : WAIT_UNKNOWN;
        if (kind == DESCRIPTOR_DEVICE && !site->selector)
            return WAIT_UNKNOWN;
        if (site->selector && cause != WAIT_PIPE && cause != WAIT_CHILD && cause != WAIT_GPU)
            return cause_of_events(site);
        return cause ? cause : cause_of_events(site);
    }
    case CALL_SELECT: return call->args[0] == 0 ? WAIT_SLEEP : cause_of_events(site);
    case CALL_READ: return cause_of_transfer(kind, true);
    case CALL_WRITE: return cause_of_transfer(kind, false);
    case CALL_RECEIVE: return WAIT_NETWORK_READ;
    case CALL_SEND: return WAIT_NETWORK_WRITE;
    case CALL_ACCEPT: return WAIT_EVENT_LOOP;
    case CALL_DISK: return WAIT_DISK;
    case CALL_OPEN: return kind == DESCRIPTOR_PIPE ? WAIT_PIPE : WAIT_DISK;
    case CALL_LOCK: return WAIT_LOCK;
    case CALL_QUEUE: return WAIT_QUEUE;
    case CALL_CHILD: return WAIT_CHILD;
    case CALL_CONTROL: return kind == DESCRIPTOR_GPU ? WAIT_GPU : WAIT_UNKNOWN;
    case CALL_FUTEX:
        if (site->joins && site->is_main)
            return WAIT_THREADS;
        if (site->event && site->at_head)
            return WAIT_SLEEP;
        if (site->condition)
            return WAIT_QUEUE;
        if (site->lock)
            return WAIT_LOCK;
        if (site->is_native || (site->worker && site->in_native != VALUE_NO))
            return WAIT_WORKER;
        /* Between two instructions, only the interpreter itself waits. */
        return site->is_known && site->in_native == VALUE_NO ? WAIT_GIL : WAIT_UNKNOWN;
    case CALL_OTHER: break;
    }
    return WAIT_UNKNOWN;
}

enum wait_cause waits_cause(const struct system_call *call, const struct wait_site *site,
                            const struct wait_descriptor *descriptor)
{
    const enum wait_cause cause =
        call->is_known ? cause_of_call(call, site, descriptor->kind) : WAIT_UNKNOWN;
    if (!site->worker && !(site->gets && site->at_head))
        return cause;
    const bool is_for_work = cause == WAIT_QUEUE || cause == WAIT_LOCK || cause == WAIT_PIPE ||
                             cause == WAIT_EVENT_LOOP || cause == WAIT_SLEEP;
    return is_for_work ? WAIT_WORKER : cause;
}

/* The descriptor that the call names; -1: none. */
static int descriptor_of(const struct system_call *call)
{
    switch (system_call_kind(call->number)) {
    case CALL_READ:
    case CALL_WRITE:
    case CALL_RECEIVE:
    case CALL_CONTROL:
    case CALL_SEND: return (int)call->args[0];
    case CALL_POLL: return call->has_polled ? call->polled : -1;
    case CALL_OTHER:
    case CALL_SLEEP:
    case CALL_EVENTS:
    case CALL_SELECT:
    case CALL_ACCEPT:
    case CALL_DISK:
    case CALL_OPEN:
    case CALL_LOCK:
    case CALL_QUEUE:
    case CALL_CHILD:
    case CALL_FUTEX: break;
    }
    return -1;
}

/* Does a thread that opens a file wait until somebody else opens the other end of the named pipe?  The kernel names the
 * function in which the thread sleeps. */
static bool waits_for_other_end(int pid, int tid)
{
    char file[48];
    SCOPED_FREE char *function = NULL;
    size_t bytes;
    snprintf(file, sizeof file, "task/%d/wchan", tid);
    return !procfs_read(pid, file, &function, &bytes, NULL) &&
           (strncmp(function, "wait_for_partner", strlen("wait_for_partner")) == 0 ||
            strncmp(function, "fifo_open", strlen("fifo_open")) == 0);
}

/* memory: of the process that waits; NULL: it cannot be read. */
static wait_id find_wait(struct waits *waits, enum wait_cause cause, const char *detail,
                         const struct memory *memory)
{
    for (size_t i = 0; i < waits->count; i++)
        if (waits->items[i].cause == cause && strcmp(waits->items[i].detail, detail) == 0)
            return (wait_id)i + 1;
    if (*detail && waits->count >= WAITS_MAX && strcmp(detail, OTHER_PEERS) != 0)
        return find_wait(waits, cause, OTHER_PEERS, memory);
    if (*detail && memory && memory_confirm(memory))
        return 0;

    struct known_wait *const item = &waits->items[waits->count];
    char name[WAIT_MAX_NAME];
    str_id name_id;
    function_id function;
    *item = (struct known_wait){ .cause = cause };
    strncpy(item->detail, detail, sizeof item->detail - 1);
    wait_name(cause, item->detail, name);
    enum err_code rc =
        strtab_intern(profile_strings(waits->profile), name, strlen(name), &name_id, NULL);
    if (!rc)
        rc = profile_function(waits->profile, name_id, waits->no_file, 0, &function, NULL);
    if (!rc)
        rc = profile_frame(waits->profile, function, 0, &item->frame, NULL);
    waits->count += !rc;
    return rc ? 0 : (wait_id)waits->count;
}

wait_id waits_find(struct waits *waits, int pid, int tid, struct memory *memory,
                   const struct system_call *call, const struct wait_site *site,
                   uint64_t now_ns)
{
    struct system_call whole = *call;
    struct wait_descriptor descriptor = { DESCRIPTOR_UNKNOWN, "" };
    if (!call->is_known)
        return 0;

    struct pollfd polled;
    if (!whole.has_polled && memory && system_call_kind(whole.number) == CALL_POLL &&
        whole.args[1] == 1 && !memory_read(memory, whole.args[0], &polled, sizeof polled)) {
        whole.has_polled = true;
        whole.polled = polled.fd;
        whole.events = polled.events;
    }

    const int fd = descriptor_of(&whole);
    if (fd >= 0)
        descriptor.kind =
            descriptors_find(waits->descriptors, pid, fd, now_ns, &descriptor.peer);
    else if (system_call_kind(call->number) == CALL_OPEN && waits_for_other_end(pid, tid))
        descriptor.kind = DESCRIPTOR_PIPE;
    const enum wait_cause cause = waits_cause(&whole, site, &descriptor);
    const bool has_peer =
        waits->names_peers && (cause == WAIT_NETWORK_READ || cause == WAIT_NETWORK_WRITE);
    return cause ? find_wait(waits, cause, has_peer ? descriptor.peer : "", memory) : 0;
}

wait_id waits_plain(struct waits *waits, enum wait_cause cause)
{
    return find_wait(waits, cause, "", NULL);
}

enum wait_cause waits_cause_of(const struct waits *waits, wait_id wait)
{
    return wait ? waits->items[wait - 1].cause : WAIT_UNKNOWN;
}

bool waits_lacks_peer(const struct waits *waits, wait_id wait)
{
    const struct known_wait *const item = wait ? &waits->items[wait - 1] : NULL;
    return item && waits->names_peers && !*item->detail &&
           (item->cause == WAIT_NETWORK_READ || item->cause == WAIT_NETWORK_WRITE);
}

node_id waits_node(struct waits *waits, wait_id wait, node_id node)
{
    node_id out;
    if (!wait || profile_node(waits->profile, node, waits->items[wait - 1].frame, &out, NULL))
        return node;
    return out;
}
