#define _GNU_SOURCE
#include "sampler/process/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"

enum { MAX_ANCESTORS = 64, MAX_NAMESPACES = 33 };

static const char with_capability[] =
    "run pyrometer with sudo, or give it the capability: sudo setcap cap_sys_ptrace=ep "
    "\"$(command -v pyrometer)\"";
static const char in_container[] =
    "start the container with it: docker run --cap-add=SYS_PTRACE ..., or kubectl debug -it POD "
    "--target=CONTAINER --profile=sysadmin";

/* What /proc/PID/status says of who a process is. */
struct credentials {
    unsigned uids[3], gids[3]; /* real, effective, saved */
    uint64_t permitted, effective;
    int seccomp;
};

/* What lies between us and one process. */
struct view {
    int pid;
    struct credentials we, it;
    bool same_namespace; /* of users; false also where that may not be asked */
    bool is_elsewhere;   /* it is known to be in another */
    bool reaches;        /* our CAP_SYS_PTRACE counts there */
};

static const char *find_line(const char *status, const char *name)
{
    const char *const at = strstr(status, name);
    return at ? at + strlen(name) : "";
}

/* What the user may do about it depends on who that is, not on what we have become since. */
static bool was_started_by_root(void)
{
    return getauxval(AT_EUID) == 0;
}

static void read_ids(const char *status, const char *name, unsigned out[3])
{
    char *end;
    const char *at = find_line(status, name);
    for (int i = 0; i < 3; i++, at = end)
        out[i] = (unsigned)strtoul(at, &end, 10);
}

static enum err_code read_credentials(int pid, struct credentials *out, struct err *err)
{
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    const enum err_code rc = procfs_read(pid, "status", &status, &bytes, err);
    if (rc)
        return rc;
    read_ids(status, "\nUid:", out->uids);
    read_ids(status, "\nGid:", out->gids);
    out->permitted = strtoull(find_line(status, "\nCapPrm:"), NULL, 16);
    out->effective = strtoull(find_line(status, "\nCapEff:"), NULL, 16);
    out->seccomp = (int)strtol(find_line(status, "\nSeccomp:"), NULL, 10);
    return ERR_OK;
}

static bool has_capability(const struct credentials *credentials)
{
    return credentials->effective >> CAP_SYS_PTRACE & 1;
}

static bool is_same(int fd, int other)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

/* A capability counts in the user namespace it was given in and in those below. */
static void look_at_namespaces(struct view *view)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/ns/user", view->pid);
    SCOPED_FD int ours = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    int its = open(path, O_RDONLY | O_CLOEXEC);
    /* Hidden from us: then the capability, if we have it, does not count there. */
    const bool has_none = ours < 0 && errno == ENOENT;
    view->same_namespace = has_none || (its >= 0 && is_same(ours, its));
    /* To ask takes the capability: with it one is refused only elsewhere. */
    view->is_elsewhere = !view->same_namespace && (its >= 0 || has_capability(&view->we));
    bool is_below = view->same_namespace;
    for (int i = 0; i < MAX_NAMESPACES && its >= 0 && !is_below; i++) {
        const int parent = ioctl(its, NS_GET_PARENT);
        close(its);
        its = parent;
        is_below = its >= 0 && is_same(ours, its);
    }
    if (its >= 0)
        close(its);
    view->reaches = has_capability(&view->we) && is_below;
}

/* -1: this kernel has no Yama. */
static int yama_scope(void)
{
    int scope;
    FILE *const f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (!f)
        return -1;
    if (fscanf(f, "%d", &scope) != 1)
        scope = -1;
    fclose(f);
    return scope;
}

static bool is_descendant(int pid)
{
    struct procfs_identity identity;
    for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
        if (procfs_identify(pid, &identity, NULL))
            return false;
        pid = identity.parent;
        if (pid == getpid())
            return true;
    }
    return false;
}

static enum gate_state shut_unless(const struct view *view)
{
    return view->reaches ? GATE_PASSED : GATE_SHUT;
}

/* What opens a gate that CAP_SYS_PTRACE leads past. */
static void tell_capability(struct gate *gate, const struct view *view)
{
    if (gate->state != GATE_SHUT)
        return;
    if (has_capability(&view->we))
        gate_remedy(gate, "our CAP_SYS_PTRACE counts in our user namespace only: run pyrometer "
                          "as root of the host, or of the namespace that the process is in");
    else
        gate_remedy(gate, "%s", was_started_by_root() ? in_container : with_capability);
}

static void add_capability(const struct view *view, struct gates *out)
{
    if (view->reaches)
        gates_add(out, "capability", GATE_OPEN, "we have CAP_SYS_PTRACE%s",
                  view->same_namespace ? "" : ", and the process is in a user namespace below");
    else if (has_capability(&view->we))
        gates_add(out, "capability", GATE_PASSED,
                  "we have CAP_SYS_PTRACE, but the process is outside of our user namespace");
    else
        gates_add(out, "capability", GATE_PASSED,
                  "we do not have CAP_SYS_PTRACE, and need it only past a shut gate");
}

static void add_owner(const struct view *view, struct gates *out)
{
    const unsigned uid = getuid(), gid = getgid();
    bool same = true;
    for (int i = 0; i < 3; i++)
        same = same && view->it.uids[i] == uid && view->it.gids[i] == gid;
    if (same) {
        gates_add(out, "user", GATE_OPEN, "process %d belongs to user %u, as we do", view->pid,
                  uid);
        return;
    }
    struct gate *gate;
    if (view->it.uids[1] != uid)
        gate = gates_add(out, "user", shut_unless(view),
                         "process %d belongs to user %u and you are %u", view->pid,
                         view->it.uids[1], uid);
    else
        gate = gates_add(out, "user", shut_unless(view),
                         "process %d has another real, effective or saved user or group than "
                         "you (user %u, group %u)",
                         view->pid, uid, gid);
    tell_capability(gate, view);
    if (gate->state == GATE_SHUT && view->it.uids[1] != uid && !was_started_by_root() &&
        view->it.uids[1])
        gate_remedy(gate,
                    "run pyrometer as that user (sudo -u '#%u' pyrometer ...), or as root",
                    view->it.uids[1]);
}

/* The files of a process that is not dumpable belong to root, whoever it is. */
static void add_dumpable(const struct view *view, struct gates *out)
{
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/maps", view->pid);
    if (stat(path, &st))
        return;
    if (st.st_uid == view->it.uids[1]) {
        const bool is_told = view->it.uids[1] != 0;
        gates_add(
            out, "dumpable", is_told ? GATE_OPEN : GATE_UNKNOWN, "process %d is %s", view->pid,
            is_told ? "dumpable" : "root's, and those do not show whether they are dumpable");
        return;
    }
    tell_capability(gates_add(out, "dumpable", shut_unless(view),
                              "process %d is not dumpable (prctl(PR_SET_DUMPABLE), a setuid "
                              "program, or a binary that only root may read)",
                              view->pid),
                    view);
}

static void add_privileges(const struct view *view, struct gates *out)
{
    const bool is_subset = (view->it.permitted & ~view->we.permitted) == 0;
    if (view->same_namespace && is_subset) {
        gates_add(out, "privileges", GATE_OPEN,
                  "process %d has no capability that we do not have", view->pid);
        return;
    }
    /* How many we lack depends on how many we have given up since we were started. */
    struct gate *const gate =
        gates_add(out, "privileges", shut_unless(view),
                  view->is_elsewhere ? "process %d is in another user namespace than we are"
                                     : "process %d has capabilities that we do not have",
                  view->pid);
    tell_capability(gate, view);
}

static const char *const scopes[] = {
    "0: a user may read the processes of its own",
    "1: only ancestors may read a process",
    "2: only with CAP_SYS_PTRACE",
    "3: nobody may read a process",
};

static void tell_yama(struct gate *gate, int scope)
{
    if (gate->state != GATE_SHUT)
        return;
    if (scope >= 3)
        gate_remedy(gate, "it cannot be lowered while the host runs: start the host with "
                          "kernel.yama.ptrace_scope at 2 or less");
    else if (scope == 2)
        gate_remedy(gate, "%s", was_started_by_root() ? in_container : with_capability);
    else
        gate_remedy(gate,
                    "sudo sysctl kernel.yama.ptrace_scope=0, or sudo, or start the program "
                    "with 'pyrometer run'");
}

static void add_yama(const struct view *view, struct gates *out)
{
    const int scope = yama_scope();
    if (scope < 0 || scope > 3) {
        gates_add(out, "Yama", GATE_OPEN, "this kernel has no Yama, or hides it");
        return;
    }
    enum gate_state state = GATE_OPEN;
    if (scope == 3)
        state = GATE_SHUT;
    else if (scope > 0 && !(scope == 1 && is_descendant(view->pid)))
        state = shut_unless(view);
    tell_yama(gates_add(out, "Yama", state, "kernel.yama.ptrace_scope is %s", scopes[scope]),
              scope);
}

/* Everybody may read oneself, unless the call itself is forbidden. */
static void add_seccomp(struct gates *out)
{
    char from = 1, to = 0;
    const struct iovec local = { &to, 1 }, remote = { &from, 1 };
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) {
        gates_add(out, "seccomp", GATE_OPEN, "process_vm_readv works");
        return;
    }
    const int sys = errno;
    gate_remedy(gates_add(out, "seccomp", GATE_SHUT, "process_vm_readv is forbidden here: %s",
                          strerror(sys)),
                "%s",
                sys == ENOSYS ? "use a kernel that was built with CONFIG_CROSS_MEMORY_ATTACH"
                              : "docker run --cap-add=SYS_PTRACE ..., or "
                                "--security-opt seccomp=PROFILE with a profile that allows it");
}

enum err_code permission_of_process(int pid, struct gates *out, struct err *err)
{
    struct view view = { .pid = pid };
    enum err_code rc = read_credentials(getpid(), &view.we, err);
    if (!rc)
        rc = read_credentials(pid, &view.it, err);
    if (rc)
        return rc;
    look_at_namespaces(&view);
    add_capability(&view, out);
    add_owner(&view, out);
    add_dumpable(&view, out);
    add_privileges(&view, out);
    add_yama(&view, out);
    add_seccomp(out);
    return ERR_OK;
}

static void add_host_namespace(struct gates *out)
{
    SCOPED_FREE char *map = NULL;
    size_t bytes;
    unsigned long long inside = 1, outside = 1, count = 0;
    if (procfs_read(getpid(), "uid_map", &map, &bytes, NULL)) {
        gates_add(out, "namespace", GATE_OPEN, "this kernel has no user namespaces");
        return;
    }
    const bool is_first = sscanf(map, "%llu %llu %llu", &inside, &outside, &count) == 3 &&
                          inside == 0 && outside == 0 && count >= UINT32_MAX;
    gates_add(out, "namespace", is_first ? GATE_OPEN : GATE_PASSED, "%s",
              is_first
                  ? "we are in the host's user namespace"
                  : "we are in a user namespace of our own: only processes in it, or of our "
                    "own user, can be read");
}

void permission_of_host(struct gates *out)
{
    struct view view = { .same_namespace = true };
    if (read_credentials(getpid(), &view.we, NULL)) {
        gate_remedy(gates_add(out, "/proc", GATE_SHUT, "/proc cannot be read"),
                    "mount it: mount -t proc proc /proc");
        return;
    }
    view.reaches = has_capability(&view.we);
    struct gate *const gate = gates_add(
        out, "capability", view.reaches ? GATE_OPEN : GATE_PASSED, "%s",
        view.reaches ? "we have CAP_SYS_PTRACE: processes of all users can be read"
                     : "we do not have CAP_SYS_PTRACE: only our own user's processes can "
                       "be read");
    if (!view.reaches)
        gate_remedy(gate, "%s", was_started_by_root() ? in_container : with_capability);
    add_host_namespace(out);
    view.pid = 0;
    add_yama(&view, out);
    add_seccomp(out);
}

enum err_code permission_explain(int pid, struct err *err)
{
    struct gates gates = { .count = 0 };
    const enum err_code rc = permission_of_process(pid, &gates, err);
    if (rc)
        return rc;
    const struct gate *const shut = gates_first_shut(&gates);
    if (shut && strncmp(shut->found, "process ", strlen("process ")) == 0)
        return err_set(err, ERR_PERM, "%.130s: %s", shut->found, shut->remedy);
    if (shut)
        return err_set(err, ERR_PERM, "process %d cannot be read, %.120s: %s", pid, shut->found,
                       shut->remedy);
    return err_set(
        err, ERR_PERM,
        "the kernel refuses to let us read process %d, though every gate that we know "
        "is open: a security module (AppArmor, SELinux) may forbid it, see the audit log",
        pid);
}
