/*
 * sampler - the public face: attach to a Python process, sample it, give its profile.
 *
 * A session is of one process or of several: those named, all that there are, and with
 * options.subprocesses whatever they start.  sampler_start finds the interpreters before it returns,
 * so that a wrong pid is an error of the call; then a thread of its own samples until the duration is
 * over, the last process has ended, or sampler_stop is called.  A process that ends before ends only
 * itself.  The profile stays readable until sampler_destroy.
 *
 * Ownership: the sampler owns its thread and its profile.
 * Threads: all functions may be called from any thread, start and destroy from one at a time.
 * Errors of start: ERR_GONE no such process, ERR_NOT_PYTHON no interpreter found, ERR_PERM,
 * ERR_UNSUPPORTED a version we cannot read, ERR_INVALID an option out of range, or a mode of which
 * the interpreter does not tell who is in it.
 * Depends on: profile, base.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/owner.h"
#include "sampler/profile/profile.h"

struct sampler;
struct sink;

#define SAMPLER_MIN_RATE_HZ 1.0
#define SAMPLER_MAX_RATE_HZ 1e6

/* Sampled at the same time in one session. */
#define SAMPLER_MAX_PROCESSES 256

/* Which samples are kept; what is not kept is not counted as a sample. */
#define SAMPLER_MODES(X)                                          \
    X(WALL, "wall")           /* all of them */                   \
    X(CPU, "cpu")             /* threads on a CPU */              \
    X(GIL, "gil")             /* the thread that holds the GIL */ \
    X(EXCEPTION, "exception") /* threads that handle an exception */

enum sampler_mode {
#define X(name, text) SAMPLER_MODE_##name,
    SAMPLER_MODES(X)
#undef X
};

/* What is made of asyncio tasks. */
#define SAMPLER_ASYNC(X)                                                \
    X(OFF, "off")         /* stacks are those of threads */             \
    X(RUNNING, "running") /* a stack begins with who awaits its task */ \
    X(ALL, "all")         /* and waiting tasks are samples, too */

enum sampler_async {
#define X(name, text) SAMPLER_ASYNC_##name,
    SAMPLER_ASYNC(X)
#undef X
};

struct sampler_options {
    pid_t pids[SAMPLER_MAX_PROCESSES]; /* each once */
    size_t pid_count;
    bool all;          /* instead of pids: every Python process that we may read */
    bool waits;        /* go on when the last process has ended: others may join */
    bool adopts;       /* with subprocesses: our own children are of the family */
    pid_t helper;      /* a child of ours that never is; 0: none */
    bool subprocesses; /* children too, and theirs, from now on and those that are there */
    double rate_hz;
    uint64_t duration_ns; /* 0: until the last target ends */
    bool all_threads;     /* false: only the main thread of the main interpreter */
    enum sampler_mode mode;
    bool native;          /* mark where C code runs or calls back */
    bool no_gc;           /* leave out the mark of the garbage collector */
    bool hides_arguments; /* keep only the first word of each command line */
    bool opcodes;         /* record the instruction beside the line */
    enum sampler_async async;
    bool tasks_each;         /* look at tasks whenever at threads, whatever that costs */
    bool blocking;           /* stop the target's threads for each look */
    size_t memory_bytes;     /* for what is kept; 0: no bound */
    double max_cpu_percent;  /* of one core, for ourselves; 0: no budget */
    const struct sink *sink; /* told of every sample until the end; NULL: none */
    const atomic_bool
        *is_cancelled; /* ends sampler_start, and nothing begins; NULL: nobody does */
};

#define SAMPLER_STATES(X)   \
    X(STARTING, "starting") \
    X(RUNNING, "running")   \
    X(PAUSED, "paused")     \
    X(ENDED, "ended")       \
    X(FAILED, "failed")

enum sampler_state {
#define X(name, text) SAMPLER_##name,
    SAMPLER_STATES(X)
#undef X
};

struct sampler_status {
    enum sampler_state state;
    char reason[256];       /* a sentence once ended or failed, else "" */
    uint64_t started_at_ns; /* since 1970 */
    uint64_t ended_at_ns;   /* since 1970, 0: not yet */
    uint64_t elapsed_ns;
    double rate_hz;   /* aimed at now: what was asked for, unless the CPU budget lowered it */
    double wanted_hz; /* asked for last; 0: that of the options */
};

/* One process of a session.  Strings live as long as the sampler. */
struct sampler_target {
    pid_t pid;
    pid_t parent; /* that is followed too; 0: none */
    size_t argc;
    const char *const *argv;
    const char *executable;
    const char *python; /* "3.11.2" */
    bool validated;     /* false: a version newer than any we know */
    uint64_t from_ns;   /* since the session began: sampled from then on */
    uint64_t to_ns;     /* until then; 0: still */
    const char *reason; /* a sentence once it has ended, else NULL */
};

/* What is kept of processes beyond is their samples. */
enum { SAMPLER_MAX_TOLD = SAMPLER_MAX_PROCESSES };

struct sampler_processes {
    uint64_t joined;  /* processes that have been sampled */
    uint64_t running; /* of these, now */
    uint64_t over;    /* Python processes left out, as SAMPLER_MAX_PROCESSES ran already */
    uint64_t denied;  /* processes that cannot be read, or do not tell what the mode keeps */
};

/* A process that functions come from, held so that it cannot come to mean another. */
struct sampler_origin {
    pid_t pid;
    int pidfd;
    int space_fd;         /* its memory: reads as empty once it is another program */
    uint64_t mapped_addr; /* where it is not empty before */
    struct owner owner;   /* when it joined the session */
};

enum { SAMPLER_MAX_TASKS = 1 << 14 };

/* An asyncio task, as it was seen last; times are since the session began. */
struct sampler_task {
    pid_t pid;
    int32_t tid;     /* of the thread that runs its event loop; 0: unknown */
    uint32_t name;   /* str_id of the profile; 0: it has been given none */
    uint64_t number; /* in the name it has then, "Task-3"; 0: unknown */
    uint32_t
        node; /* of the profile: where it waits, below all who await it; of a running one its mark */
    bool is_running;
    bool is_moving;    /* it changed while it was looked at, and its node is its mark */
    uint64_t seen_ns;  /* first */
    uint64_t since_ns; /* it stands where it stands */
    uint32_t first_awaiter, awaiter_count;
};

struct sampler_tasks {
    struct sampler_task *items;
    size_t count;
    uint32_t *awaiters; /* by index of items */
    size_t awaiter_count;
    uint64_t at_ns; /* of the look */
    bool is_cut;    /* there were more */
};

MUST_CHECK enum err_code sampler_start(const struct sampler_options *options,
                                       struct sampler **out, struct err *err);
/* Stops and joins if needed.  NULL is fine. */
void sampler_destroy(struct sampler *sampler);
/* Asks the thread to end and returns at once. */
void sampler_stop(struct sampler *sampler);
void sampler_pause(struct sampler *sampler, bool paused);

/* Adds a process to a session that runs, soon; that it is not in it is for the caller to know, and
 * that the session does not follow processes itself (subprocesses).  Errors as those of start. */
MUST_CHECK enum err_code sampler_join(struct sampler *sampler, pid_t pid, struct err *err);
/* Within a quarter of a second.  ERR_INVALID: out of range. */
MUST_CHECK enum err_code sampler_set_rate(struct sampler *sampler, double rate_hz,
                                          struct err *err);
/* As options.max_cpu_percent; out of range is cut. */
void sampler_set_max_cpu(struct sampler *sampler, double percent);

void sampler_status(struct sampler *sampler, struct sampler_status *out);
/* The first process of the session; its to_ns and reason are in sampler_target_at only. */
const struct sampler_target *sampler_target(const struct sampler *sampler);
/* Copies the process that joined the session as number `index`; false: there is none, or it came
 * after SAMPLER_MAX_TOLD others. */
bool sampler_target_at(const struct sampler *sampler, size_t index, struct sampler_target *out);
void sampler_processes(const struct sampler *sampler, struct sampler_processes *out);
/* The process of profile_function.origin; also after the session has ended, while the process runs.
 * sampler_origin_close it.  ERR_GONE: it has ended, or is another program now. */
MUST_CHECK enum err_code sampler_origin(struct sampler *sampler, profile_origin number,
                                        struct sampler_origin *out, struct err *err);
void sampler_origin_close(struct sampler_origin *origin);
/* Equal for processes that had the same owner when they joined. */
unsigned sampler_origin_owner(profile_origin number);
const struct sampler_options *sampler_options(const struct sampler *sampler);
struct profile *sampler_profile(struct sampler *sampler);
/* A descriptor that becomes readable when sampling has ended; owned by the sampler. */
int sampler_end_fd(const struct sampler *sampler);

/* A copy of the tasks seen last; none unless options.async asks for them.  sampler_tasks_deinit it. */
MUST_CHECK enum err_code sampler_tasks(struct sampler *sampler, struct sampler_tasks *out,
                                       struct err *err);
void sampler_tasks_deinit(struct sampler_tasks *tasks);

/* By value (base/enum_text.h). */
extern const char *const sampler_mode_texts[];
extern const char *const sampler_async_texts[];
extern const char *const sampler_state_texts[];

#endif /* SAMPLER_SAMPLER_H */
