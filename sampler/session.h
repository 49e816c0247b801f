/*
 * session - attaches to Python processes, samples them, and has their profile.
 *
 * A session samples one process or several: the named ones, or all of the host, and with
 * options.subprocesses the processes that they start.  session_start finds the interpreters before
 * it returns, so a wrong pid is an error of the call.  Then the session's thread samples until the
 * duration is over, the last target has ended, or session_stop is called.  The profile stays readable
 * until session_destroy.
 *
 * Every process is asked for before it joins, whoever named or found it, and leaves when it is permitted
 * no longer (permission.h).
 *
 * Ownership: the session owns its thread and its profile.
 * Threads: all functions may be called from any thread, start and destroy from one at a time.
 * Errors of start: ERR_GONE no such process, ERR_NOT_PYTHON no interpreter found, ERR_PERM,
 * ERR_UNSUPPORTED an unknown version, ERR_INVALID an option out of range, or a mode that needs a
 * state which the interpreter does not show; with SESSION_ENGINE_KERNEL those of session_check_engine.
 */
#ifndef SAMPLER_SESSION_H
#define SAMPLER_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/base/lock_use.h"
#include "sampler/capture/target_record.h"
#include "sampler/owner.h"
#include "sampler/profile/context.h"
#include "sampler/profile/measure.h"
#include "sampler/profile/profile.h"

struct kernel_engine_pool;
struct session;
struct sink;

#define SESSION_MIN_RATE_HZ 1.0
#define SESSION_MAX_RATE_HZ 1e6

/* The most targets of a session at a time. */
#define SESSION_MAX_PROCESSES 256

/* Which samples the session keeps; others are not counted as samples. */
#define SESSION_MODES(X)                                          \
    X(WALL, "wall")           /* all of them */                   \
    X(CPU, "cpu")             /* threads that run */              \
    X(GIL, "gil")             /* the thread that holds the GIL */ \
    X(EXCEPTION, "exception") /* threads that handle an exception */

enum session_mode {
#define X(name, text) SESSION_MODE_##name,
    SESSION_MODES(X)
#undef X
};

/* How stacks show asyncio tasks. */
#define SESSION_ASYNC(X)                                                     \
    X(OFF, "off")         /* stacks are those of threads */                  \
    X(RUNNING, "running") /* a stack begins with the awaiters of its task */ \
    X(ALL, "all")         /* and waiting tasks are samples too */

enum session_async {
#define X(name, text) SESSION_ASYNC_##name,
    SESSION_ASYNC(X)
#undef X
};

/* Native code in stacks. */
#define SESSION_NATIVE(X)                                                           \
    X(OFF, "off")   /* the C function that Python calls, where its name is known */ \
    X(LEAF, "leaf") /* and where other C code runs or calls back */                 \
    X(FULL, "full") /* all native frames; the remote engine: of threads that it has stopped */

enum session_native {
#define X(name, text) SESSION_NATIVE_##name,
    SESSION_NATIVE(X)
#undef X
};

/* Engines that read the stacks. */
#define SESSION_ENGINES(X)                                                      \
    X(AUTO, "auto")     /* the kernel engine where it can run, or the remote */ \
    X(KERNEL, "kernel") /* a BPF program, where the target runs */              \
    X(REMOTE, "remote") /* from outside, in the target's memory */

enum session_engine {
#define X(name, text) SESSION_ENGINE_##name,
    SESSION_ENGINES(X)
#undef X
};

/* The default of options.max_stop_percent. */
#define SESSION_MAX_STOP_PERCENT 1.0

/* When the remote engine stops threads to read them. */
#define SESSION_STOPS(X)                                                             \
    X(AUTO, "auto") /* running ones, where reading moving ones would be uncertain */ \
    X(NEVER, "never")                                                                \
    X(ALWAYS, "always") /* all, at each tick */

enum session_stop {
#define X(name, text) SESSION_STOP_##name,
    SESSION_STOPS(X)
#undef X
};

/* Variables of frames, which are never in captures. */
#define SESSION_LOCALS(X)               \
    X(OFF, "off")                       \
    X(NAMES, "names")   /* and types */ \
    X(VALUES, "values") /* of built-in types */

enum session_locals_mode {
#define X(name, text) SESSION_LOCALS_##name,
    SESSION_LOCALS(X)
#undef X
};

struct session_options {
    pid_t pids[SESSION_MAX_PROCESSES]; /* each once */
    size_t pid_count;
    bool all;          /* instead of pids: every Python process that can be read */
    bool waits;        /* continue after the last target has ended, for session_join */
    pid_t adopter;     /* with subprocesses: follow what becomes its child, too; 0: none */
    bool subprocesses; /* sample descendants too, those that exist and new ones */
    double rate_hz;
    uint64_t duration_ns; /* 0: until the last target ends */
    uint64_t
        since_ns; /* from then on (CLOCK_MONOTONIC) ticks are due, though none is taken yet; 0: from the start on */
    bool all_threads; /* false: only the main thread of the main interpreter */
    enum session_mode mode;
    measure_set measures; /* what is counted; other measures than time need the kernel engine */
    enum session_native native;
    bool kernel_frames;   /* what threads do in the kernel; the kernel engine alone shows it */
    bool no_gc;           /* leave out the mark of the garbage collector */
    bool hides_arguments; /* keep only the first word of each command line */
    bool opcodes;         /* record the instruction beside the line */
    enum session_async async;
    /* Name of the ContextVar whose value says what a thread works for (profile/context.h); "": none. */
    char context[CONTEXT_MAX_VARIABLE];
    bool tasks_each;   /* read tasks at every tick, at any cost */
    bool tasks_beside; /* tasks are read, and stacks of threads stay whole */
    bool
        threads_in_turn; /* ticks that cannot read all threads read them in turn, not a random part */
    bool locks;          /* read what threads wait for and hold at every tick, at any cost */
    uint32_t least_ticks; /* session_stop ends it after so many, or 2 s; 0: at once */
    /* Read the variables of each thread once, when it first stands still, at any cost. */
    enum session_locals_mode locals;
    enum session_engine engine;         /* once it has started: the one that samples */
    struct kernel_engine_pool *engines; /* session_open_engines; NULL: there are none */
    enum session_stop stop;             /* of the remote engine */
    double max_stop_percent;            /* with AUTO, of a thread's time; 0: the default */
    size_t memory_bytes;                /* for the profile; 0: no bound */
    double max_cpu_percent;             /* of one core, for the profiler; 0: no budget */
    const struct sink *sink;            /* receives every sample; NULL: none */
    bool drops_samples;                 /* the sink keeps them, the profile only tables */
    const atomic_bool *is_cancelled;    /* cancels session_start; NULL: never */
};

#define SESSION_STATES(X)   \
    X(STARTING, "starting") \
    X(RUNNING, "running")   \
    X(PAUSED, "paused")     \
    X(ENDED, "ended")       \
    X(FAILED, "failed")

enum session_state {
#define X(name, text) SESSION_##name,
    SESSION_STATES(X)
#undef X
};

enum { SESSION_MAX_ENGINE_REASON = 199 };

/* Reasons that need no other word: of most targets, and of a session that session_stop ended. */
#define SESSION_EXITED  "the target exited"
#define SESSION_STOPPED "stopped"

struct session_status {
    enum session_state state;
    char reason[256]; /* a sentence once ended or failed, else "" */
    /* Why AUTO took the remote engine, else "". */
    char engine_reason[SESSION_MAX_ENGINE_REASON + 1];
    /* Why there are no kernel frames though they were wanted, else "". */
    char kernel_reason[SESSION_MAX_ENGINE_REASON + 1];
    uint64_t started_at_ns; /* since 1970 */
    uint64_t ended_at_ns;   /* since 1970, 0: not yet */
    uint64_t elapsed_ns;
    double rate_hz;      /* current: the requested rate, or what the CPU budget allows */
    double requested_hz; /* requested by session_set_rate; 0: that of the options */
    bool records_native; /* since session_record_native, whatever the options say */
};

/* Further processes are sampled but not listed. */
enum { SESSION_MAX_LISTED = SESSION_MAX_PROCESSES };

struct session_processes {
    uint64_t joined;  /* processes that have been sampled */
    uint64_t running; /* of these, now */
    uint64_t over;    /* Python processes left out because of SESSION_MAX_PROCESSES */
    uint64_t
        short_of_files; /* processes, Python or not, left out because too many files are open */
    uint64_t
        denied; /* processes that cannot be read, or do not show the state that the mode keeps */
    uint64_t not_permitted; /* processes, Python or not, that permission.h refuses */
};

/* A process that functions come from; its descriptors never refer to another process. */
struct session_origin {
    pid_t pid;
    int pidfd;
    int space_fd;         /* its memory; reads as empty once it executes another program */
    uint64_t mapped_addr; /* an address that is mapped until then */
    struct owner owner;   /* when it joined the session */
};

enum { SESSION_MAX_TASKS = 1 << 14 };

/* An asyncio task at the last reading; times are since the start of the session. */
struct session_task {
    pid_t pid;
    int32_t tid;      /* of the thread that runs its event loop; 0: unknown */
    uint64_t address; /* of the object */
    uint32_t name;    /* str_id of the profile; 0: it has no name */
    uint64_t number;  /* then it is named "Task-NUMBER"; 0: unknown */
    uint32_t
        node; /* of the profile: where it waits, below all its awaiters; its mark if it runs */
    bool is_running;
    bool is_moving;    /* it changed during the reading; its node is its mark */
    uint64_t seen_ns;  /* first seen */
    uint64_t since_ns; /* its frames are the same since then */
    uint32_t first_awaiter, awaiter_count;
};

struct session_tasks {
    struct session_task *items;
    size_t count;
    uint32_t *awaiters; /* by index of items */
    size_t awaiter_count;
    uint64_t at_ns; /* of the reading */
    bool is_cut;    /* there were more */
};

enum {
    SESSION_MAX_LOCK_THREADS = 1 << 14,
    SESSION_MAX_LOCKS = 256,
    SESSION_LOCK_LINES = 8,
};

/* The locks of a thread, or of a task, when it was last found at rest. */
struct session_lock_thread {
    pid_t pid;
    int32_t tid; /* native, on this host */
    uint32_t first_use, use_count;
    uint64_t from_ns,
        to_ns; /* the first and the last of the readings that found it in one and the
                                same wait, since the start of the session */
    uint64_t
        switches; /* how often it has begun to wait until then; 0: unknown, as in a session of another process */
    struct lock_task task;
};

/* A line at which threads waited for a lock, or held it meanwhile. */
struct session_lock_line {
    str_id function, file;
    int32_t line;          /* 0: unknown */
    struct lock_text text; /* that names the lock */
    uint64_t waited_ns;
};

/* An object that threads have waited for; times are since the start of the session. */
struct session_lock {
    pid_t pid;
    str_id type;
    uint64_t object;            /* its address */
    uint64_t waited_ns;         /* of all threads together */
    uint64_t held_ns;           /* of these, while the holder was known */
    uint64_t longest_ns;        /* of one wait */
    uint64_t waits;             /* that were seen */
    uint64_t first_ns, last_ns; /* readings at which a thread waited */
    uint32_t waiting;           /* threads at the last reading */
    uint32_t waiter_count, holder_count;
    struct session_lock_line waiters[SESSION_LOCK_LINES], holders[SESSION_LOCK_LINES];
};

struct session_locks {
    struct session_lock_thread *threads; /* by pid, tid and task */
    size_t thread_count;
    struct lock_use *
        uses; /* of a thread the waits first, then the innermost held one; texts of the profile */
    size_t use_count;
    uint64_t read_ns; /* the last reading, since the start of the session; 0: none yet */
    struct session_lock *items;
    size_t count;
    uint64_t measured_ns;         /* the readings stand for so much time */
    uint64_t dropped, dropped_ns; /* locks beyond SESSION_MAX_LOCKS, and their waited_ns */
};

enum { SESSION_MAX_LOCALS_THREADS = 1 << 14, SESSION_MAX_LOCALS_BYTES = 16 << 20 };

/* A thread whose variables have been read. */
struct session_locals_thread {
    pid_t pid;
    int32_t tid;   /* native, on this host */
    uint32_t node; /* of the profile: that of the sample that they belong to; 0: none yet */
    size_t from, bytes; /* of its frames (frame_variables.h) */
};

struct session_locals {
    struct session_locals_thread *threads;
    size_t count;
    unsigned char *frames;
    size_t frame_bytes;
    uint64_t left_out; /* threads that there was no room for */
};

/* Was the program built with the kernel engine? */
bool session_has_kernel_engine(void);

/* Kernel engines for as many sessions at a time, which must end before session_close_engines.  Needs
 * CAP_BPF and CAP_PERFMON here, not later.  If the kernel refuses, there are fewer or none, and
 * session_check_engine says why.  NULL is fine to close. */
MUST_CHECK enum err_code session_open_engines(size_t count, struct kernel_engine_pool **out,
                                              struct err *err);
void session_close_engines(struct kernel_engine_pool *engines);
/* Checks that a session with these options could have a kernel engine now. ERR_INVALID: the
 * options ask for what it cannot do; ERR_PERM, ERR_UNSUPPORTED: there is none; ERR_LIMIT: all
 * are in use. */
MUST_CHECK enum err_code session_check_engine(const struct session_options *options,
                                              struct err *err);

MUST_CHECK enum err_code session_start(const struct session_options *options,
                                       struct session **out, struct err *err);
/* Stops and joins if needed.  NULL is fine. */
void session_destroy(struct session *session);
/* Ends sampling; does not wait for the thread. */
void session_stop(struct session *session);
void session_pause(struct session *session, bool paused);

/* Adds a process to a running session, at the next tick.  The process must not be a target
 * already, and the session must not follow processes itself (subprocesses).  Errors as those of
 * start. */
MUST_CHECK enum err_code session_join(struct session *session, pid_t pid, struct err *err);
/* Takes effect within a quarter of a second.  ERR_INVALID: out of range. */
MUST_CHECK enum err_code session_set_rate(struct session *session, double rate_hz,
                                          struct err *err);
/* From now on native stacks are recorded, too (SESSION_NATIVE_FULL), within a quarter of a second.  ERR_UNSUPPORTED: not on
 * this processor. */
MUST_CHECK enum err_code session_record_native(struct session *session, struct err *err);
/* As options.max_cpu_percent, clamped to its range. */
void session_set_max_cpu(struct session *session, double percent);

void session_status(struct session *session, struct session_status *out);
/* The first process of the session; its to_ns and reason are in session_target_at only. */
const struct session_target *session_target(const struct session *session);
/* Copies the process that joined the session as number `index`; false: there is none, or it came
 * after SESSION_MAX_LISTED others. */
bool session_target_at(const struct session *session, size_t index, struct session_target *out);
void session_processes(const struct session *session, struct session_processes *out);
/* The process of profile_function.origin; also after the session has ended, while the process runs.
 * Close with session_origin_close.  ERR_GONE: it has ended or executes another program. */
MUST_CHECK enum err_code session_origin(struct session *session, profile_origin number,
                                        struct session_origin *out, struct err *err);
void session_origin_close(struct session_origin *origin);
/* Equal for processes that had the same owner when they joined. */
unsigned session_origin_owner(profile_origin number);
const struct session_options *session_options(const struct session *session);
struct profile *session_profile(struct session *session);
/* A descriptor that becomes readable when sampling has ended; owned by the session. */
int session_end_fd(const struct session *session);

/* A copy of the tasks at the last reading; none without options.async.  Free with
 * session_tasks_deinit. */
MUST_CHECK enum err_code session_tasks(struct session *session, struct session_tasks *out,
                                       struct err *err);
MUST_CHECK enum err_code session_tasks_copy(const struct session_tasks *from,
                                            struct session_tasks *out, struct err *err);
void session_tasks_deinit(struct session_tasks *tasks);

/* A copy of the locks at the last reading.  Free with session_locks_deinit. */
MUST_CHECK enum err_code session_locks(struct session *session, struct session_locks *out,
                                       struct err *err);
MUST_CHECK enum err_code session_locks_copy(const struct session_locks *from,
                                            struct session_locks *out, struct err *err);
void session_locks_deinit(struct session_locks *locks);

/* A copy of the variables that have been read so far.  Free with session_locals_deinit. */
MUST_CHECK enum err_code session_locals(struct session *session, struct session_locals *out,
                                        struct err *err);
MUST_CHECK enum err_code session_locals_copy(const struct session_locals *from,
                                             struct session_locals *out, struct err *err);
void session_locals_deinit(struct session_locals *locals);

/* By value (base/enum_text.h). */
extern const char *const session_engine_texts[];
extern const char *const session_native_texts[];
extern const char *const session_stop_texts[];
extern const char *const session_mode_texts[];
extern const char *const session_async_texts[];
extern const char *const session_locals_texts[];
extern const char *const session_state_texts[];

#endif /* SAMPLER_SESSION_H */
