#include "sampler/access_checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/python_tick.h"
#include "sampler/process/maps.h"
#include "sampler/process/process.h"
#include "sampler/process/procfs.h"
#include "sampler/process/ptrace_checks.h"
#include "sampler/process/thread_ids.h"

/* Reading a busy thread may fail; it is a fault if it fails this often in a row. */
enum { MAX_SCANS = 20 };

struct scan {
    unsigned threads, failed;
    size_t frames;
    char innermost[120];
};

static const char *file_at(const struct maps *maps, remote_addr addr)
{
    const char *const path = maps_file_at(maps, addr);
    return path ? path : "no file";
}

static enum err_code count_thread(void *context, struct thread *thread, enum err_code failure)
{
    struct scan *const scan = context;
    if (failure)
        scan->failed++;
    else
        scan->frames += thread->stack.count;
    scan->threads++;
    return ERR_OK;
}

static enum err_code add_stacks(struct python *python, struct access_checks *out,
                                struct err *err)
{
    struct scan scan = { .threads = 0 };
    enum err_code rc = ERR_CORRUPT;
    for (int i = 0; i < MAX_SCANS && (rc || scan.failed || !scan.threads); i++) {
        scan = (struct scan){ .threads = 0 };
        rc = python_tick(python, true, count_thread, &scan);
        if (rc == ERR_NOMEM)
            return err_nomem(err);
    }
    if (rc || scan.failed) {
        access_checks_add(out, "stacks", ACCESS_CHECK_BLOCKED,
                          "%u of %u threads cannot be read", scan.failed, scan.threads);
        return err_set(err, rc ? rc : ERR_CORRUPT, "the stacks of its threads cannot be read");
    }
    access_checks_add(out, "stacks", ACCESS_CHECK_OK, "%u thread%s with %zu Python frame%s",
                      scan.threads, scan.threads == 1 ? "" : "s", scan.frames,
                      scan.frames == 1 ? "" : "s");
    const size_t unknown = python_unknown_threads(python);
    if (unknown)
        access_checks_add(out, "threads", ACCESS_CHECK_UNKNOWN,
                          "the kernel confirms no number of %zu thread%s: whether they run is "
                          "unknown",
                          unknown, unknown == 1 ? "" : "s");
    return ERR_OK;
}

static enum err_code add_python(struct process *process, const struct maps *maps,
                                struct access_checks *out, struct err *err)
{
    struct strtab strings;
    struct python *python = NULL;
    enum err_code rc = strtab_init(&strings, err);
    if (rc)
        return rc;
    rc = python_attach(process, RUNTIME_THOROUGH, &strings, &python, err);
    if (rc && rc != ERR_PERM)
        access_checks_add(out, "Python", ACCESS_CHECK_BLOCKED, "%.250s", err->message);
    if (!rc) {
        const struct runtime *const runtime = python_runtime(python);
        access_checks_add(out, "Python", ACCESS_CHECK_OK, "CPython %s in %.200s, found by %s",
                          python_version(python), file_at(maps, runtime->addr),
                          runtime_way_text(runtime->way));
        access_checks_add(
            out, "layout", runtime->layout.validated ? ACCESS_CHECK_OK : ACCESS_CHECK_BYPASSED,
            "%s",
            runtime->layout.validated ? "tested Python version"
                                      : "Python version newer than any tested one");

        const remote_addr chosen = python_anchor(python);
        struct runtime_list list;
        char name[LAYOUT_VERSION_TEXT];
        if (!runtime_find_all(process, &list, NULL))
            for (size_t i = 0; i < list.count; i++) {
                const struct runtime *const other = &list.items[i];
                if (other->addr == chosen)
                    continue;
                layout_name(&other->layout, name);
                access_checks_add(out, "another", ACCESS_CHECK_BYPASSED,
                                  "CPython %s in %.150s, found by %s, %s", name,
                                  file_at(maps, other->addr), runtime_way_text(other->way),
                                  other->evidence.frames ? "runs too, but only one is sampled"
                                                         : "runs nothing");
            }

        rc = add_stacks(python, out, err);
    }
    python_detach(python);
    strtab_deinit(&strings);
    return rc;
}

enum err_code access_checks_of_process(int pid, struct access_checks *out, struct err *err)
{
    struct process process;
    struct maps maps = { .count = 0 };
    struct err own;
    struct err *const why = err ? err : &own;
    enum err_code rc = process_open(&process, pid, why);
    if (rc) {
        access_checks_add(out, "process", ACCESS_CHECK_BLOCKED, "%.250s", why->message);
        return rc;
    }

    /* The checks need not guess: the process is opened and read. */
    const int32_t inside = thread_ids_inner_pid(process.pid);
    const char *const name = *process.executable ? process.executable
                             : process.argc      ? process.argv[0]
                                                 : "a kernel thread, or hidden";
    if (inside != process.pid)
        access_checks_add(out, "process", ACCESS_CHECK_OK,
                          "process %d (%.150s), %d in its own pid namespace", process.pid, name,
                          inside);
    else
        access_checks_add(out, "process", ACCESS_CHECK_OK, "process %d (%.200s)", process.pid,
                          name);

    const enum err_code mapped = maps_read(&maps, process.pid, why);

    const struct mapping *file = NULL;
    for (size_t i = 0; i < maps.count; i++)
        if (maps.items[i].readable && maps.items[i].inode) {
            file = &maps.items[i];
            break;
        }

    /* One byte of the program itself. */
    unsigned char byte;
    const bool is_read =
        file && !memory_read(&process.memory.memory, file->start, &byte, sizeof byte);
    rc = ptrace_checks_of_process(process.pid, is_read, out, why);
    if (!rc) {
        if (!mapped) {
            if (file)
                access_checks_add(out, "memory",
                                  is_read ? ACCESS_CHECK_OK : ACCESS_CHECK_BLOCKED,
                                  "%zu mappings; a byte at %#" PRIx64 " %s", maps.count,
                                  file->start, is_read ? "was read" : "cannot be read");
            else
                access_checks_add(out, "memory", ACCESS_CHECK_BLOCKED,
                                  "no file is mapped: it is a kernel thread, or it is ending");
        } else if (mapped == ERR_PERM)
            access_checks_add(out, "memory", ACCESS_CHECK_BLOCKED,
                              "its mappings cannot be read");
        rc = !mapped || mapped == ERR_PERM ? add_python(&process, &maps, out, why) : mapped;
    }

    maps_deinit(&maps);
    process_close(&process);
    return rc;
}

enum err_code access_checks_of_host(struct access_checks *out, struct err *err)
{
    struct utsname name;
    if (uname(&name) == 0)
        access_checks_add(out, "kernel", ACCESS_CHECK_OK, "%s %s, %s", name.sysname,
                          name.release, name.machine);

    /* If processes of others are hidden, even process 1 is. */
    char state;
    const bool is_hidden = procfs_state(1, &state, NULL);
    struct access_check *const check = access_checks_add(
        out, "/proc", is_hidden ? ACCESS_CHECK_BYPASSED : ACCESS_CHECK_OK, "%s",
        is_hidden ? "processes of other users are hidden (hidepid)"
                  : "all processes of this pid namespace are visible");
    if (is_hidden)
        access_check_remedy(
            check, "sudo mount -o remount,hidepid=0 /proc, or run pyrometer with sudo");

    ptrace_checks_of_host(out);

    /* Without it the profiler cannot know whether a thread runs. */
    SCOPED_FREE char *text = NULL;
    size_t bytes;
    const bool is_there = !procfs_read(getpid(), "schedstat", &text, &bytes, NULL);
    access_checks_add(
        out, "accounting", is_there ? ACCESS_CHECK_OK : ACCESS_CHECK_BYPASSED, "%s",
        is_there
            ? "the kernel accounts for the CPU time of threads"
            : "the kernel does not account for the CPU time of threads (CONFIG_SCHED_INFO): "
              "the state on_cpu is unknown");

    /* Which processes Yama blocks depends on the process, unless it blocks all of them. */
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].state == ACCESS_CHECK_BLOCKED &&
            strcmp(out->items[i].name, "Yama") == 0 &&
            strncmp(out->items[i].found, "kernel.yama.ptrace_scope is 3", 29) != 0)
            out->items[i].state = ACCESS_CHECK_BYPASSED;
    const struct access_check *const blocked = access_checks_first_blocked(out);
    return blocked
               ? err_set(err, ERR_PERM, "no process can be profiled on this host, %.120s: %s",
                         blocked->found, blocked->remedy)
               : ERR_OK;
}
