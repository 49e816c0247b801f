#include "server/command/process/file_process.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/base/pulse.h"
#include "server/access/identity.h"
#include "server/command/process/descriptors.h"
#include "server/command/process/exit.h"
#include "server/command/process/forked_process.h"
#include "server/command/process/landlock.h"
#include "server/command/process/syscall_filter.h"
#include "server/files/file_server.h"
#include "server/files/files.h"
#include "server/files/folders.h"

bool file_process_is_needed(void)
{
    return identity_is_chosen() && folders_count() > 0;
}

static enum err_code drop_rights(struct err *err)
{
    /* Landlock asks for it. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");

    /* Its folders, as this process knows them. */
    char paths[FOLDERS_MAX][32];
    struct landlock_folder folders[FOLDERS_MAX];
    for (size_t i = 0; i < folders_count(); i++) {
        snprintf(paths[i], sizeof paths[i], "/proc/self/fd/%d", folders_at(i)->fd);
        folders[i] = (struct landlock_folder){ paths[i], LANDLOCK_WRITE };
    }
    const enum err_code limited = landlock_limit(folders, folders_count(), err);
    if (limited && limited != ERR_UNSUPPORTED)
        return limited;
    const uint64_t kept = (uint64_t)1 << CAP_SETUID | (uint64_t)1 << CAP_SETGID;
    return forked_process_drop_rights(IDENTITY_FILES, kept, SYSCALLS_FILES, err);
}

/* The kernel forgets it whenever this process becomes somebody else for files.  false: the parent has ended. */
static bool end_with(pid_t parent)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent;
}

noreturn void file_process_run(int socket, struct pulse *pulse)
{
    struct err err = { 0 };
    sigset_t all;
    struct pollfd wanted = { .fd = socket, .events = POLLIN };
    const pid_t parent = getppid();
    /* Signals are for the whole program, which ends this process when it ends. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "pyrometer-file", 0, 0, 0);
    if (drop_rights(&err)) {
        say("the file process: %s", err.message);
        _exit(EXIT_FAILED);
    }
    pulse_take(pulse);
    while (end_with(parent)) {
        if (poll(&wanted, 1, -1) > 0 && !file_server_answer(socket))
            break;
        pulse_take(pulse);
    }
    _exit(EXIT_DONE);
}

static void run_alone(int socket)
{
    int kept[1 + FOLDERS_MAX] = { socket };
    const size_t count = folders_count();
    for (size_t i = 0; i < count; i++)
        kept[1 + i] = folders_at(i)->fd;
    if (!descriptors_keep(kept, 1 + count))
        _exit(EXIT_FAILED);
    for (size_t i = 0; i < count; i++)
        folders_move(i, DESCRIPTORS_FIRST + 1 + (int)i);
    file_process_run(DESCRIPTORS_FIRST, NULL);
}

enum err_code file_process_start(struct err *err)
{
    int socket;
    const enum err_code rc = forked_process_start(run_alone, "the file process", &socket, err);
    if (!rc)
        files_use(socket);
    return rc;
}
