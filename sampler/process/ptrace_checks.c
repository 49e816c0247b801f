#define _GNU_SOURCE
#include "sampler/process/ptrace_checks.h"

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

/* From /proc/PID/status. */
struct credentials {
    unsigned uids[3], gids[3]; /* real, effective, saved */
    uint64_t permitted, effective;
    int seccomp;
};

/* Facts that the access checks of one process depend on. */
struct view {
    int pid;
    struct credentials we, it;
    bool same_namespace; /* both have the same user namespace; false also: unknown */
    bool is_elsewhere;   /* its user namespace is known to be another */
    bool reaches;        /* our CAP_SYS_PTRACE is valid in its user namespace */
    bool is_read;        /* the kernel has let us read it */
};

static const char *find_line(const char *status, const char *name)
{
    const char *const at = strstr(status, name);
    return at ? at + strlen(name) : "";
}

/* The remedy depends on who started us, not on the privileges that we have dropped since. */
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

static enum access_check_state blocked_unless(const struct view *view)
{
    return view->reaches || view->is_read ? ACCESS_CHECK_BYPASSED : ACCESS_CHECK_BLOCKED;
}

/* The remedy for a check that CAP_SYS_PTRACE bypasses. */
static void add_capability_remedy(struct access_check *check, const struct view *view)
{
    if (check->state != ACCESS_CHECK_BLOCKED)
        return;
    if (has_capability(&view->we))
        access_check_remedy(
            check, "our CAP_SYS_PTRACE is valid in our user namespace only: run pyrometer "
                   "as root of the host, or of the namespace that the process is in");
    else
        access_check_remedy(check, "%s",
                            was_started_by_root() ? in_container : with_capability);
}

static void add_owner(const struct view *view, struct access_checks *out)
{
    const unsigned uid = getuid(), gid = getgid();
    bool same = true;
    for (int i = 0; i < 3; i++)
        same = same && view->it.uids[i] == uid && view->it.gids[i] == gid;
    if (same) {
        access_checks_add(out, "user", ACCESS_CHECK_OK,
                          "process %d belongs to user %u, as we do", view->pid, uid);
        return;
    }
    struct access_check *check;
    if (view->it.uids[1] != uid)
        check = access_checks_add(out, "user", blocked_unless(view),
                                  "process %d belongs to user %u and you are %u", view->pid,
                                  view->it.uids[1], uid);
    else
        check = access_checks_add(
            out, "user", blocked_unless(view),
            "process %d has another real, effective or saved user or group than "
            "you (user %u, group %u)",
            view->pid, uid, gid);
    add_capability_remedy(check, view);
    if (check->state == ACCESS_CHECK_BLOCKED && view->it.uids[1] != uid &&
        !was_started_by_root() && view->it.uids[1])
        access_check_remedy(
            check, "run pyrometer as that user (sudo -u '#%u' pyrometer ...), or as root",
            view->it.uids[1]);
}

/* The /proc files of a process that is not dumpable belong to root. */
static void add_dumpable(const struct view *view, struct access_checks *out)
{
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/maps", view->pid);
    if (stat(path, &st))
        return;
    if (st.st_uid == view->it.uids[1]) {
        const bool is_listed = view->it.uids[1] != 0;
        access_checks_add(out, "dumpable", is_listed ? ACCESS_CHECK_OK : ACCESS_CHECK_UNKNOWN,
                          "process %d is %s", view->pid,
                          is_listed
                              ? "dumpable"
                              : "owned by root, so /proc does not show whether it is dumpable");
        return;
    }
    add_capability_remedy(
        access_checks_add(out, "dumpable", blocked_unless(view),
                          "process %d is not dumpable (prctl(PR_SET_DUMPABLE), a setuid "
                          "program, or a binary that only root may read)",
                          view->pid),
        view);
}

static void add_privileges(const struct view *view, struct access_checks *out)
{
    const bool is_subset = (view->it.permitted & ~view->we.permitted) == 0;
    if (view->same_namespace && is_subset) {
        access_checks_add(out, "privileges", ACCESS_CHECK_OK,
                          "process %d has no capability that we do not have", view->pid);
        return;
    }

    struct access_check *const check = access_checks_add(
        out, "privileges", blocked_unless(view),
        view->is_elsewhere ? "process %d is in another user namespace"
                           : "process %d has capabilities that we do not have",
        view->pid);
    add_capability_remedy(check, view);
}

static const char *const scopes[] = {
    "0: users may read their own processes",
    "1: only ancestors may read a process",
    "2: reading a process takes CAP_SYS_PTRACE",
    "3: no process may read another",
};

static void add_yama(const struct view *view, struct access_checks *out)
{
    int scope = -1;
    FILE *const f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (f && fscanf(f, "%d", &scope) != 1)
        scope = -1;
    if (f)
        fclose(f);
    if (scope < 0 || scope > 3) {
        access_checks_add(out, "Yama", ACCESS_CHECK_OK, "this kernel has no Yama, or hides it");
        return;
    }
    enum access_check_state state = ACCESS_CHECK_OK;
    if (scope == 3)
        state = view->is_read ? ACCESS_CHECK_BYPASSED : ACCESS_CHECK_BLOCKED;
    else if (scope > 0 && !(scope == 1 && is_descendant(view->pid)))
        state = blocked_unless(view);

    struct access_check *const check =
        access_checks_add(out, "Yama", state, "kernel.yama.ptrace_scope is %s", scopes[scope]);
    if (check->state != ACCESS_CHECK_BLOCKED)
        return;
    if (scope >= 3)
        access_check_remedy(check,
                            "it cannot be lowered while the host runs: start the host with "
                            "kernel.yama.ptrace_scope at 2 or less");
    else if (scope == 2)
        access_check_remedy(check, "%s",
                            was_started_by_root() ? in_container : with_capability);
    else
        access_check_remedy(
            check, "sudo sysctl kernel.yama.ptrace_scope=0, or sudo, or start the program "
                   "with 'pyrometer run'");
}

/* A process may always read itself, unless seccomp forbids the system call. */
static void add_seccomp(struct access_checks *out)
{
    char from = 1, to = 0;
    const struct iovec local = { &to, 1 }, remote = { &from, 1 };
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) {
        access_checks_add(out, "seccomp", ACCESS_CHECK_OK, "process_vm_readv works");
        return;
    }
    const int sys = errno;
    access_check_remedy(
        access_checks_add(out, "seccomp", ACCESS_CHECK_BLOCKED,
                          "process_vm_readv is forbidden here: %s", strerror(sys)),
        "%s",
        sys == ENOSYS ? "use a kernel that was built with CONFIG_CROSS_MEMORY_ATTACH"
                      : "docker run --cap-add=SYS_PTRACE ..., or "
                        "--security-opt seccomp=PROFILE with a profile that allows it");
}

enum err_code ptrace_checks_of_process(int pid, bool is_read, struct access_checks *out,
                                       struct err *err)
{
    struct view view = { .pid = pid, .is_read = is_read };
    enum err_code rc = read_credentials(getpid(), &view.we, err);
    if (!rc)
        rc = read_credentials(pid, &view.it, err);
    if (rc)
        return rc;

    /* A capability is valid in the user namespace it was given in, and in those below. */
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/ns/user", view.pid);
    SCOPED_FD int ours = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    int its = open(path, O_RDONLY | O_CLOEXEC);
    const bool has_none = ours < 0 && errno == ENOENT;
    view.same_namespace = has_none || (its >= 0 && is_same(ours, its));
    /* CAP_SYS_PTRACE lets us open the file unless the process is outside of our user namespace. */
    view.is_elsewhere = !view.same_namespace && (its >= 0 || has_capability(&view.we));
    bool is_below = view.same_namespace;
    for (int i = 0; i < MAX_NAMESPACES && its >= 0 && !is_below; i++) {
        const int parent = ioctl(its, NS_GET_PARENT);
        close(its);
        its = parent;
        is_below = its >= 0 && is_same(ours, its);
    }
    if (its >= 0)
        close(its);
    view.reaches = has_capability(&view.we) && is_below;

    if (view.reaches)
        access_checks_add(
            out, "capability", ACCESS_CHECK_OK, "we have CAP_SYS_PTRACE%s",
            view.same_namespace ? "" : ", and the process is in a user namespace below");
    else if (has_capability(&view.we))
        access_checks_add(
            out, "capability", ACCESS_CHECK_BYPASSED,
            "we have CAP_SYS_PTRACE, but the process is outside of our user namespace");
    else
        access_checks_add(out, "capability", ACCESS_CHECK_BYPASSED,
                          "we do not have CAP_SYS_PTRACE, and need it only where another "
                          "check blocks");

    add_owner(&view, out);
    add_dumpable(&view, out);
    add_privileges(&view, out);
    add_yama(&view, out);
    add_seccomp(out);
    return ERR_OK;
}

static void add_host_namespace(struct access_checks *out)
{
    SCOPED_FREE char *map = NULL;
    size_t bytes;
    unsigned long long inside = 1, outside = 1, count = 0;
    if (procfs_read(getpid(), "uid_map", &map, &bytes, NULL)) {
        access_checks_add(out, "namespace", ACCESS_CHECK_OK,
                          "this kernel has no user namespaces");
        return;
    }
    const bool is_first = sscanf(map, "%llu %llu %llu", &inside, &outside, &count) == 3 &&
                          inside == 0 && outside == 0 && count >= UINT32_MAX;
    access_checks_add(
        out, "namespace", is_first ? ACCESS_CHECK_OK : ACCESS_CHECK_BYPASSED, "%s",
        is_first ? "we are in the host's user namespace"
                 : "we are in a user namespace of our own: only processes in it, or of our "
                   "own user, can be read");
}

void ptrace_checks_of_host(struct access_checks *out)
{
    struct view view = { .same_namespace = true };
    if (read_credentials(getpid(), &view.we, NULL)) {
        access_check_remedy(
            access_checks_add(out, "/proc", ACCESS_CHECK_BLOCKED, "/proc cannot be read"),
            "mount it: mount -t proc proc /proc");
        return;
    }
    view.reaches = has_capability(&view.we);
    struct access_check *const check = access_checks_add(
        out, "capability", view.reaches ? ACCESS_CHECK_OK : ACCESS_CHECK_BYPASSED, "%s",
        view.reaches ? "we have CAP_SYS_PTRACE: processes of all users can be read"
                     : "we do not have CAP_SYS_PTRACE: only our own user's processes can "
                       "be read");
    if (!view.reaches)
        access_check_remedy(check, "%s",
                            was_started_by_root() ? in_container : with_capability);
    add_host_namespace(out);
    view.pid = 0;
    add_yama(&view, out);
    add_seccomp(out);
}

enum err_code ptrace_checks_explain(int pid, struct err *err)
{
    struct access_checks checks = { .count = 0 };
    const enum err_code rc = ptrace_checks_of_process(pid, false, &checks, err);
    if (rc)
        return rc;
    const struct access_check *const blocked = access_checks_first_blocked(&checks);
    if (blocked && strncmp(blocked->found, "process ", strlen("process ")) == 0)
        return err_set(err, ERR_PERM, "%.130s: %s", blocked->found, blocked->remedy);
    if (blocked)
        return err_set(err, ERR_PERM, "process %d cannot be read, %.120s: %s", pid,
                       blocked->found, blocked->remedy);
    return err_set(
        err, ERR_PERM,
        "the kernel refuses to let us read process %d, although no known access check "
        "blocks: a security module (AppArmor, SELinux) may forbid it, see the audit log",
        pid);
}
