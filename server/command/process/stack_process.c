#include "server/command/process/stack_process.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/access/capabilities.h"
#include "server/access/identity.h"
#include "server/command/process/descriptors.h"
#include "server/command/process/exit.h"
#include "server/command/process/syscall_filter.h"
#include "server/sessions/kernel_stacks.h"

#define BIT(capability) ((uint64_t)1 << (capability))

/* The kernel asks for the first when a stack is opened, and for the second when it is read; others' files open with the third. */
static const uint64_t NEEDED =
    BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);

static enum err_code drop_rights(struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    capabilities_bound(0);
    enum err_code rc = identity_become(IDENTITY_STACKS, err);
    if (!rc && !capabilities_keep(NEEDED))
        rc = err_sys(err, errno, "cannot drop capabilities");
    if (!rc && prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) != 0)
        rc = err_sys(err, errno, "cannot protect the memory of this process");
    if (!rc)
        rc = syscall_filter_install(SYSCALLS_ANY, err);
    return rc == ERR_UNSUPPORTED ? ERR_OK : rc;
}

static noreturn void run(int socket)
{
    const int kept[] = { socket };
    struct err err = { 0 };
    sigset_t all;
    /* Signals are for the whole program. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "pyrometer-stack", 0, 0, 0);
    if (!descriptors_keep(kept, 1))
        _exit(EXIT_FAILED);
    if (drop_rights(&err) != ERR_OK) {
        say("the stack process: %s", err.message);
        _exit(EXIT_FAILED);
    }
    while (kernel_stacks_answer(DESCRIPTORS_FIRST)) {
    }
    _exit(EXIT_DONE);
}

enum err_code stack_process_start(struct err *err)
{
    int ends[2];
    uint64_t held = 0;
    /* Without CAP_SYS_PTRACE the program keeps what it has (privilege.h). */
    if (!capabilities_held(&held) || (held & NEEDED) != NEEDED)
        return ERR_OK;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket");
    const pid_t pid = fork();
    if (pid == 0)
        run(ends[1]);
    const int sys = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_sys(err, sys, "cannot start the stack process");
    }
    kernel_stacks_use(ends[0]);
    return ERR_OK;
}
