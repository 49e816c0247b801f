#include "server/command/process/stack_process.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "server/access/capabilities.h"
#include "server/command/process/descriptors.h"
#include "server/command/process/exit.h"
#include "server/command/process/forked_process.h"
#include "server/command/process/syscall_filter.h"
#include "server/sessions/kernel_stacks.h"

#define BIT(capability) ((uint64_t)1 << (capability))

/* The kernel asks for the first when a stack is opened, and for the second when it is read; others' files open with the third. */
static const uint64_t NEEDED =
    BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);

static void run(int socket)
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
    if (forked_process_drop_rights(IDENTITY_STACKS, NEEDED, SYSCALLS_ANY, &err)) {
        say("the stack process: %s", err.message);
        _exit(EXIT_FAILED);
    }
    while (kernel_stacks_answer(DESCRIPTORS_FIRST)) {
    }
    _exit(EXIT_DONE);
}

enum err_code stack_process_start(struct err *err)
{
    uint64_t held = 0;
    /* Without CAP_SYS_PTRACE the program keeps what it has (privilege.h). */
    if (!capabilities_held(&held) || (held & NEEDED) != NEEDED)
        return ERR_OK;
    int socket;
    const enum err_code rc = forked_process_start(run, "the stack process", &socket, err);
    if (!rc)
        kernel_stacks_use(socket);
    return rc;
}
