#define _GNU_SOURCE
#include "sampler/kernel/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/vec.h"

/* An address beyond the last function by more than this is in none. */
enum { MAX_FUNCTION_BYTES = 1 << 20 };

struct kallsyms {
    int fd; /* -1: it could not be opened, or was read */
    int open_errno;
    pthread_mutex_t lock;
    /* Guarded by the lock until it was read. */
    bool is_read;
    struct err why; /* ERR_OK: the names are there */
    struct symbol {
        uint64_t addr;
        uint32_t name; /* in `text` */
    } * items;
    size_t count, room;
    char *text;
    size_t bytes, text_room;
};

enum err_code kallsyms_create(const char *path, struct kallsyms **out, struct err *err)
{
    struct kallsyms *const kallsyms = calloc(1, sizeof *kallsyms);
    if (!kallsyms)
        return err_nomem(err);
    pthread_mutex_init(&kallsyms->lock, NULL);
    kallsyms->fd = open(path, O_RDONLY | O_CLOEXEC);
    kallsyms->open_errno = errno;
    *out = kallsyms;
    return ERR_OK;
}

void kallsyms_destroy(struct kallsyms *kallsyms)
{
    if (!kallsyms)
        return;
    if (kallsyms->fd >= 0)
        close(kallsyms->fd);
    pthread_mutex_destroy(&kallsyms->lock);
    free(kallsyms->items);
    free(kallsyms->text);
    free(kallsyms);
}

static int compare_symbols(const void *a, const void *b)
{
    const struct symbol *const first = a, *const second = b;
    return (first->addr > second->addr) - (first->addr < second->addr);
}

/* Takes a line such as "ffffffff8123 t vfs_read", with the name of its module behind, if it names a function. */
static enum err_code take_line(struct kallsyms *kallsyms, const char *line)
{
    char *end;
    const uint64_t addr = strtoull(line, &end, 16);
    if (*end != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ' || !addr)
        return ERR_OK;
    const char *const name = end + 3;
    const size_t length = strcspn(name, "\t\n ");
    if (!length || length > KALLSYMS_MAX_NAME || kallsyms->count == KALLSYMS_MAX)
        return ERR_OK;
    if (!VEC_RESERVE(kallsyms->items, kallsyms->room, kallsyms->count + 1) ||
        !VEC_RESERVE(kallsyms->text, kallsyms->text_room, kallsyms->bytes + length + 1))
        return ERR_NOMEM;
    kallsyms->items[kallsyms->count++] = (struct symbol){ addr, (uint32_t)kallsyms->bytes };
    memcpy(kallsyms->text + kallsyms->bytes, name, length);
    kallsyms->bytes += length;
    kallsyms->text[kallsyms->bytes++] = '\0';
    return ERR_OK;
}

static enum err_code read_lines(struct kallsyms *kallsyms, struct err *err)
{
    FILE *const file = kallsyms->fd >= 0 ? fdopen(kallsyms->fd, "r") : NULL;
    if (!file)
        return err_sys(err, kallsyms->fd >= 0 ? errno : kallsyms->open_errno,
                       "/proc/kallsyms cannot be read");
    kallsyms->fd = -1;
    char *line = NULL;
    size_t room = 0;
    enum err_code rc = ERR_OK;
    while (!rc && getline(&line, &room, file) > 0)
        rc = take_line(kallsyms, line);
    free(line);
    fclose(file);
    if (rc)
        return err_nomem(err);
    /* All addresses are 0 where the kernel hides them. */
    if (!kallsyms->count)
        return err_set(err, ERR_PERM,
                       "the kernel hides its addresses: kernel.kptr_restrict is 2, or "
                       "CAP_SYSLOG is missing");
    qsort(kallsyms->items, kallsyms->count, sizeof *kallsyms->items, compare_symbols);
    return ERR_OK;
}

enum err_code kallsyms_read(struct kallsyms *kallsyms, struct err *err)
{
    pthread_mutex_lock(&kallsyms->lock);
    if (!kallsyms->is_read)
        kallsyms->why.code = read_lines(kallsyms, &kallsyms->why);
    kallsyms->is_read = true;
    pthread_mutex_unlock(&kallsyms->lock);
    return kallsyms->why.code ? err_set(err, kallsyms->why.code, "%s", kallsyms->why.message)
                              : ERR_OK;
}

const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr)
{
    size_t at;
    LOWER_BOUND(at, kallsyms->count, kallsyms->items[at].addr <= addr);
    if (!at || addr - kallsyms->items[at - 1].addr >= MAX_FUNCTION_BYTES)
        return NULL;
    return kallsyms->text + kallsyms->items[at - 1].name;
}
