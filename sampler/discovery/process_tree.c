#define _GNU_SOURCE
#include "sampler/process_tree.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/process_scan.h"
#include "sampler/process/process_stats.h"
#include "sampler/process/procfs.h"

enum { MAX_RANK = 1 << 24 };

static int by_number(const void *left, const void *right)
{
    const pid_t a = *(const pid_t *)left, b = *(const pid_t *)right;
    return (a > b) - (a < b);
}

/* Sorts the list and keeps each process once; one may become a child of another root while the trees are read. */
static size_t sort_once(pid_t *items, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(items, count, sizeof *items, by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || items[i] != items[i - 1])
            items[kept++] = items[i];
    return kept;
}

enum err_code process_tree_list(const pid_t *roots, size_t count, pid_t **out,
                                size_t *count_out, struct err *err)
{
    const enum process_scan_method method = process_scan_method();
    struct pid_list list = { 0 };
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc; i++)
        rc = pid_list_add(&list, roots[i]);
    size_t from = 0;
    for (int i = 0; i < PROCESS_TREE_GENERATIONS && from < list.count && !rc; i++) {
        struct pid_list children = { 0 };
        rc = process_scan_children(method, list.items + from, list.count - from, &children);
        from = list.count;
        for (size_t k = 0; k < children.count && list.count < PROCESS_TREE_MAX && !rc; k++)
            rc = pid_list_add(&list, children.items[k]);
        pid_list_deinit(&children);
    }
    if (rc) {
        pid_list_deinit(&list);
        return err_set(err, rc, "cannot list the children of a process");
    }
    *count_out = sort_once(list.items, list.count);
    *out = list.items;
    return ERR_OK;
}

/* false: it has none, or it cannot be read. */
static bool has_command(pid_t pid, process_command_filter *is_wanted, const void *context)
{
    SCOPED_FREE char *text = NULL;
    size_t bytes = 0;
    if (procfs_read(pid, "cmdline", &text, &bytes, NULL) || bytes < 2)
        return false;
    bytes = bytes < PROCESS_TREE_COMMAND ? bytes : PROCESS_TREE_COMMAND;
    for (size_t i = 0; i + 1 < bytes; i++)
        text[i] = text[i] ? text[i] : ' ';
    text[bytes - 1] = '\0';
    return is_wanted(context, text);
}

enum err_code process_find_commands(process_command_filter *is_wanted, const void *context,
                                    pid_t **out, size_t *count_out, struct err *err)
{
    struct pid_list list = { 0 };
    size_t kept = 0;
    const enum err_code rc = process_scan_all(&list, err);
    if (rc) {
        pid_list_deinit(&list);
        return rc;
    }
    for (size_t i = 0; i < list.count && kept < PROCESS_TREE_MAX; i++)
        if (list.items[i] != getpid() && has_command(list.items[i], is_wanted, context))
            list.items[kept++] = list.items[i];
    *count_out = sort_once(list.items, kept);
    *out = list.items;
    return ERR_OK;
}

/* -1: no number of few digits. */
static int32_t read_rank(const char *text)
{
    char *end = NULL;
    const long rank = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && rank < MAX_RANK ? (int32_t)rank : -1;
}

/* Nothing else of the environment is kept. */
static int32_t find_rank(pid_t pid)
{
    static const char global[] = "RANK=", local[] = "LOCAL_RANK=";
    char *environment = NULL;
    size_t bytes = 0;
    int32_t rank = -1, local_rank = -1;
    if (procfs_read(pid, "environ", &environment, &bytes, NULL))
        return -1;
    for (const char *at = environment; at < environment + bytes; at += strlen(at) + 1) {
        if (strncmp(at, global, sizeof global - 1) == 0)
            rank = read_rank(at + sizeof global - 1);
        else if (strncmp(at, local, sizeof local - 1) == 0)
            local_rank = read_rank(at + sizeof local - 1);
    }
    explicit_bzero(environment, bytes);
    free(environment);
    return rank >= 0 ? rank : local_rank;
}

/* Empty if the thread does not wait, or the kernel does not say. */
static bool read_wait(pid_t pid, pid_t tid, char *out, size_t room)
{
    SCOPED_FREE char *text = NULL;
    char file[48];
    size_t bytes;
    *out = '\0';
    snprintf(file, sizeof file, "task/%d/wchan", (int)tid);
    if (procfs_read(pid, file, &text, &bytes, NULL))
        return false;
    if (strcmp(text, "0") != 0)
        snprintf(out, room, "%.*s", (int)strcspn(text, "\n"), text);
    return true;
}

/* The kernel compares the two: what a process maps is the same after fork, too. */
static pid_t find_memory_owner(pid_t pid)
{
    struct procfs_identity identity;
    if (procfs_identify(pid, &identity, NULL) || identity.state == 'Z' ||
        syscall(SYS_kcmp, pid, identity.parent, KCMP_VM, 0, 0) != 0)
        return 0;
    return identity.parent;
}

static process_facts_reader *provided; /* NULL: this process reads them */

void process_facts_provide(process_facts_reader *read)
{
    provided = read;
}

enum err_code process_facts_read(pid_t pid, struct process_facts *out)
{
    if (provided)
        return provided(pid, out);
    char name[PROCFS_COMM_BYTES];
    *out = (struct process_facts){ .state = '?', .rank = -1 };
    const enum err_code rc = procfs_thread_name(pid, pid, name, NULL);
    if (rc == ERR_GONE)
        return rc;
    if (!rc)
        snprintf(out->name, sizeof out->name, "%s", name);
    (void)!procfs_state(pid, &out->state, NULL);
    (void)read_wait(pid, pid, out->wait, sizeof out->wait);
    out->rank = find_rank(pid);
    out->memory_of = find_memory_owner(pid);
    return ERR_OK;
}

bool process_rss(pid_t pid, uint64_t *bytes_out)
{
    struct process_stats stats;
    if (process_stats_read(pid, &stats, NULL))
        return false;
    *bytes_out = stats.rss_bytes;
    return true;
}

enum err_code process_kernel_stack(pid_t pid, pid_t tid, char out[PROCESS_TREE_STACK_BYTES])
{
    SCOPED_FREE char *text = NULL;
    char file[48];
    size_t bytes;
    snprintf(file, sizeof file, "task/%d/stack", (int)tid);
    *out = '\0';
    if (!procfs_read(pid, file, &text, &bytes, NULL)) {
        /* The names of "[<0>] futex_wait+0x7c/0xf0" are kept. */
        size_t used = 0;
        char *rest = NULL;
        *out = '\0';
        for (char *at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
            const char *const name = strstr(at, "] ") ? strstr(at, "] ") + 2 : at;
            const size_t length = strcspn(name, "+");
            if (used + length + 2 > PROCESS_TREE_STACK_BYTES)
                break;
            memcpy(out + used, name, length);
            used += length;
            out[used++] = '\n';
            out[used] = '\0';
        }

        return ERR_OK;
    }
    if (!read_wait(pid, tid, out, PROCESS_TREE_STACK_BYTES - 1))
        return ERR_PERM;
    if (*out)
        strcat(out, "\n");
    return ERR_OK;
}

bool process_thread_waits(pid_t pid, pid_t tid, uint64_t *out)
{
    static const char field[] = "\nvoluntary_ctxt_switches:";
    SCOPED_FREE char *text = NULL;
    char file[48];
    size_t bytes;
    snprintf(file, sizeof file, "task/%d/status", (int)tid);
    if (procfs_read(pid, file, &text, &bytes, NULL))
        return false;
    const char *const at = strstr(text, field);
    if (at)
        *out = strtoull(at + sizeof field - 1, NULL, 10);
    return at != NULL;
}
