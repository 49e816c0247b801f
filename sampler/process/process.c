#define _GNU_SOURCE
#include "sampler/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/first_word.h"
#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"
#include "sampler/process/service_context.h"
#include "sampler/process/stored_process.h"

static enum err_code read_command(struct process *process, struct err *err)
{
    SCOPED_FREE char *text = NULL;
    size_t bytes, count = 0;
    enum err_code rc = procfs_read(process->pid, "cmdline", &text, &bytes, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < bytes; i++)
        count += text[i] == '\0';
    count += bytes && text[bytes - 1] != '\0';
    process->argv = calloc(count + 1, sizeof *process->argv);
    for (const char *at = text; process->argv && process->argc < count;
         at += strlen(at) + 1, process->argc++)
        if (!(process->argv[process->argc] = strdup(at)))
            break;
    if (!process->argv || process->argc != count)
        return err_nomem(err);
    for (; process->argc > 1 && *process->argv[process->argc - 1] == '\0'; process->argc--) {
        free(process->argv[process->argc - 1]);
        process->argv[process->argc - 1] = NULL;
    }
    return ERR_OK;
}

/* The kernel laid the command line out as words without gaps, and above them, where the stack starts, their number and
 * pointers to each.  A program that writes a title over the words leaves the number as it was. */
static bool has_title(struct process *process)
{
    struct procfs_identity identity;
    SCOPED_FREE char *text = NULL;
    size_t bytes = 0, count = 0, word = 0;
    uint64_t argc = 0;
    struct memory *const memory = &process->memory.memory;
    if (procfs_identify(process->pid, &identity, NULL) || !identity.stack_start ||
        !identity.arguments_start ||
        procfs_read(process->pid, "cmdline", &text, &bytes, NULL) || bytes == 0 ||
        memory_read_u64(memory, identity.stack_start, &argc))
        return false;
    for (size_t i = 0; i < bytes; i++)
        count += text[i] == '\0';
    if (argc != count || text[bytes - 1] != '\0')
        return true;
    SCOPED_FREE uint64_t *words = calloc(count, sizeof *words);
    if (!words ||
        memory_read(memory, identity.stack_start + sizeof argc, words, count * sizeof *words))
        return false;
    for (size_t at = 0; at < bytes; at += strlen(text + at) + 1)
        if (words[word++] != identity.arguments_start + at)
            return true;
    return false;
}

/* The command line of a stored process has no quotes. */
static enum err_code open_stored(struct process *process, const struct stored_process *stored,
                                 struct err *err)
{
    SCOPED_FREE char *command = strdup(stored->command);
    const size_t most = command ? strlen(command) / 2 + 1 : 0;
    char *rest = NULL;
    process->pidfd = -1;
    process->executable = strdup(stored->program);
    process->argv = calloc(most + 1, sizeof *process->argv);
    bool is_well = command && process->executable && process->argv;
    for (char *word = is_well ? strtok_r(command, " ", &rest) : NULL; word && is_well;
         word = strtok_r(NULL, " ", &rest)) {
        is_well = (process->argv[process->argc] = strdup(word)) != NULL;
        process->argc += is_well;
    }
    process_memory_init(&process->memory, process->pid);
    if (is_well)
        return ERR_OK;
    process_close(process);
    return err_nomem(err);
}

enum err_code process_open(struct process *process, int pid, struct err *err)
{
    const struct stored_process *const stored = stored_process_find(pid);
    char space[32];
    memset(process, 0, sizeof *process);
    process->pid = pid;
    process->space_fd = -1;
    if (stored)
        return open_stored(process, stored, err);
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process->pidfd < 0 && errno == ESRCH)
        return err_set(err, ERR_GONE, "no process %d", pid);
    /* A thread's id gives EINVAL until Linux 6.8, then ENOENT. */
    if (process->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
        return err_set(err, ERR_GONE, "%d is not a process (it may be a thread)", pid);
    char state;
    enum err_code rc = procfs_state(pid, &state, err);
    if (!rc && (state == 'Z' || state == 'X'))
        rc = err_set(err, ERR_GONE, "process %d has already ended (it is a zombie)", pid);
    if (!rc)
        rc = procfs_start_time(pid, &process->start_time, err);
    /* The memory is opened before the command line is read: while that is not empty, both are of the same program. */
    snprintf(space, sizeof space, "/proc/%d/mem", pid);
    process->space_fd = rc ? -1 : open(space, O_RDONLY | O_CLOEXEC);
    if (!rc)
        rc = read_command(process, err);
    if (rc) {
        process_close(process);
        return rc;
    }
    /* Kernel threads and processes of other users have no readable link; not an error here. */
    if (procfs_executable(pid, &process->executable, NULL))
        process->executable = strdup("");
    process_memory_init(&process->memory, pid);
    return ERR_OK;
}

void process_close(struct process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    if (process->space_fd >= 0)
        close(process->space_fd);
    for (size_t i = 0; process->argv && i < process->argc; i++)
        free(process->argv[i]);
    free(process->argv);
    free(process->executable);
    memset(process, 0, sizeof *process);
    process->pidfd = process->space_fd = -1;
}

void process_find_service(struct process *process)
{
    process->has_title = has_title(process);
    service_of(process->pid, &process->service);
    service_read_context(process->pid, &process->memory.memory, &process->service);
}

void process_hide_arguments(struct process *process)
{
    char *const executable =
        process->has_title && process->argc > 0 ? strdup(process->executable) : NULL;
    memset(&process->service, 0, sizeof process->service);
    for (size_t i = 1; i < process->argc; i++) {
        free(process->argv[i]);
        process->argv[i] = NULL;
    }
    if (process->argc > 0)
        process->argc = first_word_keep(process->argc, process->argv[0]);
    if (executable) {
        free(process->argv[0]);
        process->argv[0] = executable;
    }
}

bool process_has_exited(const struct process *process)
{
    if (process->pidfd >= 0) {
        struct pollfd p = { .fd = process->pidfd, .events = POLLIN };
        return poll(&p, 1, 0) == 1;
    }
    if (process->memory.stored)
        return false;
    uint64_t start_time;
    char state;
    return procfs_start_time(process->pid, &start_time, NULL) ||
           start_time != process->start_time || procfs_state(process->pid, &state, NULL) ||
           state == 'Z';
}

static bool has_space(const struct process *process, remote_addr mapped_addr)
{
    char byte;
    return process->space_fd < 0 || pread(process->space_fd, &byte, 1, (off_t)mapped_addr) != 0;
}

bool process_runs(const struct process *process, remote_addr mapped_addr)
{
    return !process_has_exited(process) && has_space(process, mapped_addr);
}

enum process_fate process_fate(const struct process *process, remote_addr mapped_addr)
{
    enum { WAITS = 200, WAIT_NS = 1000000 };
    if (process_has_exited(process))
        return PROCESS_EXITED;
    if (has_space(process, mapped_addr))
        return PROCESS_RUNS;
    /* The address space that was opened is empty: exec has replaced it, or the process exits, and has released it already. */
    for (int i = 0; i < WAITS && !process_has_exited(process); i++) {
        SCOPED_FREE char *text = NULL;
        size_t bytes;
        if (!procfs_read(process->pid, "maps", &text, &bytes, NULL) && bytes > 0)
            return PROCESS_REPLACED;
        nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
    }
    return PROCESS_EXITED;
}
