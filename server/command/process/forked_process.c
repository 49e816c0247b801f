#include "server/command/process/forked_process.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/access/capabilities.h"
#include "server/command/process/exit.h"
#include "server/command/process/syscall_filter.h"

enum err_code forked_process_start(void (*run)(int socket), const char *what, int *socket_out,
                                   struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket");
    const pid_t pid = fork();
    if (pid == 0) {
        run(ends[1]);
        _exit(EXIT_FAILED);
    }
    const int sys = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_sys(err, sys, "cannot start %s", what);
    }
    *socket_out = ends[0];
    return ERR_OK;
}

enum err_code forked_process_drop_rights(enum identity_role role, uint64_t capabilities,
                                         unsigned calls, struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot set no_new_privs");
    capabilities_bound(0);
    enum err_code rc = identity_become(role, err);
    if (!rc && !capabilities_keep(capabilities))
        rc = err_sys(err, errno, "cannot drop capabilities");
    if (!rc && prctl(PR_SET_DUMPABLE, !syscall_filter_is_built(), 0, 0, 0) != 0)
        rc = err_sys(err, errno, "cannot protect the memory of this process");
    if (!rc)
        rc = syscall_filter_install(calls, err);
    return rc == ERR_UNSUPPORTED ? ERR_OK : rc;
}
