#define _GNU_SOURCE
#include "sampler/process/process_scan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/procfs.h"

void pid_list_deinit(struct pid_list *list)
{
    free(list->items);
    *list = (struct pid_list){ 0 };
}

enum err_code pid_list_add(struct pid_list *list, int pid)
{
    if (list->count == PROCESS_SCAN_MAX_PIDS)
        return ERR_LIMIT;
    if (!VEC_RESERVE(list->items, list->room, list->count + 1))
        return ERR_NOMEM;
    list->items[list->count++] = pid;
    return ERR_OK;
}

/* Adds the entries of a folder that are numbers. */
static enum err_code add_entries(const char *path, struct pid_list *out)
{
    DIR *const folder = opendir(path);
    const struct dirent *entry = NULL;
    enum err_code rc = ERR_OK;
    if (!folder)
        return err_code_of_errno(errno);
    while (!rc && (entry = readdir(folder))) {
        const char *const name = entry->d_name;
        char *end = NULL;
        const long pid = strtol(name, &end, 10);
        if (*name >= '1' && *name <= '9' && *end == '\0' && pid <= INT_MAX)
            rc = pid_list_add(out, (int)pid);
    }
    closedir(folder);
    return rc;
}

enum err_code process_scan_all(struct pid_list *out, struct err *err)
{
    const enum err_code rc = add_entries("/proc", out);
    return rc ? err_set(err, rc, "cannot list the processes of this host") : ERR_OK;
}

enum process_scan_method process_scan_method(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)gettid());
    return access(path, R_OK) == 0 ? PROCESS_SCAN_CHILD_LISTS : PROCESS_SCAN_PARENTS;
}

static enum err_code add_words(const char *text, struct pid_list *out)
{
    enum err_code rc = ERR_OK;
    while (!rc) {
        char *end = NULL;
        const long pid = strtol(text, &end, 10);
        if (end == text)
            break;
        if (pid > 0 && pid <= INT_MAX)
            rc = pid_list_add(out, (int)pid);
        text = end;
    }
    return rc;
}

static int compare_pids(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

enum err_code process_scan_children(enum process_scan_method method, const int *parents,
                                    size_t count, struct pid_list *out)
{
    enum err_code rc = ERR_OK;
    if (method == PROCESS_SCAN_PARENTS) {
        struct pid_list all = { 0 };
        struct procfs_identity identity;
        int *const sorted = malloc((count ? count : 1) * sizeof *sorted);
        rc = sorted ? process_scan_all(&all, NULL) : ERR_NOMEM;
        if (sorted && count) {
            memcpy(sorted, parents, count * sizeof *sorted);
            qsort(sorted, count, sizeof *sorted, compare_pids);
        }
        for (size_t i = 0; i < all.count && !rc; i++)
            if (!procfs_identify(all.items[i], &identity, NULL) &&
                bsearch(&identity.parent, sorted, count, sizeof *sorted, compare_pids))
                rc = pid_list_add(out, all.items[i]);
        pid_list_deinit(&all);
        free(sorted);
        return rc;
    }
    for (size_t i = 0; i < count && !rc; i++) {
        /* A child is in the list of the thread that forked it. */
        const int parent = parents[i];
        char path[64];
        struct pid_list tids = { 0 };
        snprintf(path, sizeof path, "/proc/%d/task", parent);
        rc = add_entries(path, &tids);
        for (size_t j = 0; j < tids.count && !rc; j++) {
            SCOPED_FREE char *text = NULL;
            size_t bytes;
            snprintf(path, sizeof path, "task/%d/children", tids.items[j]);
            if (!procfs_read(parent, path, &text, &bytes, NULL))
                rc = add_words(text, out);
        }
        pid_list_deinit(&tids);
        rc = rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
    }
    return rc;
}
