#include "sampler/core.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/process/core_file.h"
#include "sampler/process/stored_process.h"

struct session_core {
    struct core_file *file;
    char *path;
    struct session_core_facts facts;
};

/* Signals that end a process with a core. */
static const struct {
    int number;
    const char *name;
} signals[] = {
    { SIGQUIT, "SIGQUIT" }, { SIGILL, "SIGILL" },   { SIGTRAP, "SIGTRAP" },
    { SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },
    { SIGSEGV, "SIGSEGV" }, { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" },
    { SIGSYS, "SIGSYS" },
};

static const char *name_signal(int number)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return NULL;
}

static void find_facts(struct session_core *core)
{
    const struct core_notes *const notes = core_file_notes(core->file);
    const struct core_thread *const first = core_file_thread(core->file, notes->first_tid);
    struct session_core_facts *const facts = &core->facts;
    *facts = (struct session_core_facts){
        .file = core->path,
        .number = core_file_process(core->file)->number,
        .pid = notes->pid,
        .command = core_file_process(core->file)->command,
        .tid = notes->first_tid,
        .signal = notes->has_signal ? notes->signal
                  : first           ? first->signal
                                    : 0,
    };
    /* Debuggers stop a process by SIGTRAP, and by signals that end no process. */
    if (notes->is_by_debugger && facts->signal == SIGTRAP)
        facts->signal = 0;
    facts->signal_name = name_signal(facts->signal);
    if (!facts->signal_name) {
        facts->signal = 0;
        return;
    }
    facts->was_killed = !notes->is_by_debugger;
    facts->has_addr = notes->has_signal && notes->signal_code > 0 &&
                      notes->signal_code < SI_KERNEL &&
                      (facts->signal == SIGSEGV || facts->signal == SIGBUS ||
                       facts->signal == SIGILL || facts->signal == SIGFPE);
    facts->addr = notes->fault_addr;
    if (notes->has_signal && notes->signal_code <= 0 && notes->sender > 0)
        facts->sender = notes->sender;
    facts->is_own =
        notes->has_signal && (notes->signal_code > 0 || facts->sender == facts->pid);
}

enum err_code session_core_open(const char *path, const char *executable,
                                struct session_core **out, struct err *err)
{
    struct session_core *const core = calloc(1, sizeof *core);
    if (!core)
        return err_nomem(err);
    core->path = strdup(path);
    const enum err_code rc =
        core->path ? core_file_open(path, executable, &core->file, err) : err_nomem(err);
    if (rc) {
        session_core_close(core);
        return rc;
    }
    find_facts(core);
    *out = core;
    return ERR_OK;
}

void session_core_close(struct session_core *core)
{
    if (!core)
        return;
    core_file_close(core->file);
    free(core->path);
    free(core);
}

const struct session_core_facts *session_core_facts(const struct session_core *core)
{
    return &core->facts;
}

static bool write_cut(const struct session_core *core, char out[SESSION_CORE_WARNING_BYTES])
{
    const uint64_t bytes = core_file_cut_bytes(core->file);
    if (bytes)
        snprintf(out, SESSION_CORE_WARNING_BYTES,
                 "the core is truncated: its last %" PRIu64
                 " bytes are missing, and what they held cannot be shown",
                 bytes);
    return bytes != 0;
}

static bool write_files(const struct session_core *core, enum core_backing_state state,
                        const char *what, char out[SESSION_CORE_WARNING_BYTES])
{
    const char *first = "";
    char others[48] = "";
    const size_t count = core_file_count(core->file, state, &first);
    if (count > 1)
        snprintf(others, sizeof others, " and %zu other files", count - 1);
    if (count)
        snprintf(out, SESSION_CORE_WARNING_BYTES,
                 "%.200s%s %s: name the program that ran with --executable", first, others,
                 what);
    return count != 0;
}

bool session_core_warning(const struct session_core *core, size_t index,
                          char out[SESSION_CORE_WARNING_BYTES])
{
    static const struct {
        enum core_backing_state state;
        const char *what;
    } files[] = {
        { CORE_BACKING_ABSENT, "cannot be opened here" },
        { CORE_BACKING_OTHER, "changed since the core was written" },
        { CORE_BACKING_UNKNOWN,
          "cannot be compared with the core, which lacks its first page" },
    };
    if (write_cut(core, out) && index-- == 0)
        return true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (write_files(core, files[i].state, files[i].what, out) && index-- == 0)
            return true;
    return false;
}
