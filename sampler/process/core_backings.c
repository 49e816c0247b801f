#define _GNU_SOURCE
#include "sampler/process/core_backings.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/open_files.h"
#include "sampler/base/python_command.h"
#include "sampler/base/scoped.h"
#include "sampler/process/file_below.h"

/* The part of a file that distinguishes it from others, and at least so much of it. */
enum { IDENTITY_BYTES = 4096, IDENTITY_LEAST = sizeof(Elf64_Ehdr) };
/* For those that are open for a short time. */
enum { LEAVE_FILES = 16 };

static int by_path(const void *a, const void *b, void *mapped)
{
    const struct core_mapped *const all = mapped;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const int order = strcmp(all[x].path, all[y].path);
    return order ? order : (x > y) - (x < y);
}

/* Sorted by their paths, the parts of one file follow each other, the lowest first. */
enum err_code core_backings_init(struct core_backings *backings,
                                 const struct core_segments *segments,
                                 const struct core_notes *notes, uid_t owner, struct err *err)
{
    *backings = (struct core_backings){
        .segments = segments, .notes = notes, .owner = owner, .given_fd = -1
    };
    pthread_mutex_init(&backings->mutex, NULL);
    SCOPED_FREE uint32_t *order = calloc(notes->mapped_count + 1, sizeof *order);
    backings->items = calloc(notes->mapped_count + 1, sizeof *backings->items);
    backings->of_mapped = calloc(notes->mapped_count + 1, sizeof *backings->of_mapped);
    if (!order || !backings->items || !backings->of_mapped)
        return err_nomem(err);
    for (uint32_t i = 0; i < notes->mapped_count; i++)
        order[i] = i;
    qsort_r(order, notes->mapped_count, sizeof *order, by_path, notes->mapped);
    for (size_t i = 0; i < notes->mapped_count; i++) {
        const struct core_mapped *const mapped = &notes->mapped[order[i]];
        struct core_backing *const last = &backings->items[backings->count];
        if (i == 0 || strcmp(last[-1].path, mapped->path) != 0) {
            *last = (struct core_backing){ .path = mapped->path, .fd = -1 };
            backings->count++;
        }
        struct core_backing *const backing = &backings->items[backings->count - 1];
        if (mapped->offset == 0 && !backing->start)
            backing->start = mapped->start;
        backings->of_mapped[order[i]] = (uint32_t)(backings->count - 1);
    }
    const struct core_mapped *const program =
        notes->program_headers ? core_notes_find(notes, notes->program_headers) : NULL;
    backings->program =
        program ? backings->of_mapped[program - notes->mapped] : backings->count;
    return ERR_OK;
}

void core_backings_deinit(struct core_backings *backings)
{
    for (size_t i = 0; i < backings->count; i++)
        if (backings->items[i].fd >= 0)
            close(backings->items[i].fd);
    if (backings->given_fd >= 0)
        close(backings->given_fd);
    free(backings->items);
    free(backings->of_mapped);
    pthread_mutex_destroy(&backings->mutex);
}

size_t core_backings_index(const struct core_backings *backings,
                           const struct core_mapped *mapped)
{
    return backings->of_mapped[mapped - backings->notes->mapped];
}

/* The dynamic linker writes into the dynamic section, which is in the first page of few files. */
static void clear_dynamic(unsigned char page[IDENTITY_BYTES])
{
    Elf64_Ehdr header;
    memcpy(&header, page, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        const uint64_t at = header.e_phoff + i * sizeof segment;
        if (header.e_phoff > IDENTITY_BYTES || at + sizeof segment > IDENTITY_BYTES)
            return;
        memcpy(&segment, page + at, sizeof segment);
        if (segment.p_type != PT_DYNAMIC || segment.p_offset >= IDENTITY_BYTES ||
            segment.p_offset < sizeof header + header.e_phnum * sizeof segment)
            continue;
        const uint64_t left = IDENTITY_BYTES - segment.p_offset;
        memset(page + segment.p_offset, 0,
               (size_t)(segment.p_filesz < left ? segment.p_filesz : left));
    }
}

/* Does the file begin as the one that was mapped?  UNKNOWN: the core lacks that page. */
static enum core_backing_state compare_file(const struct core_backings *backings,
                                            const struct core_backing *backing, int fd)
{
    unsigned char dumped[IDENTITY_BYTES] = { 0 }, stored[IDENTITY_BYTES] = { 0 };
    const size_t bytes = backing->start ? core_segments_copy(backings->segments, backing->start,
                                                             dumped, sizeof dumped)
                                        : 0;
    /* Zeros follow the end of a file in its last page. */
    const ssize_t n = pread(fd, stored, bytes < IDENTITY_LEAST ? SELFMAG : bytes, 0);
    if (bytes < IDENTITY_LEAST)
        return n == SELFMAG && memcmp(stored, ELFMAG, SELFMAG) == 0 ? CORE_BACKING_UNKNOWN
                                                                    : CORE_BACKING_DATA;
    if (n < IDENTITY_LEAST)
        return CORE_BACKING_OTHER;
    clear_dynamic(dumped);
    clear_dynamic(stored);
    return memcmp(dumped, stored, bytes) == 0 ? CORE_BACKING_OPEN : CORE_BACKING_OTHER;
}

/* Is the file that the user has named this one? */
static bool is_given(const struct core_backings *backings, const struct core_backing *backing)
{
    const enum core_backing_state state = compare_file(backings, backing, backings->given_fd);
    return state == CORE_BACKING_OPEN ||
           (state == CORE_BACKING_UNKNOWN &&
            strcmp(python_command_last_part(backing->path), backings->given_name) == 0);
}

/* Finds the file of a mapping, once. */
static void open_backing(struct core_backings *backings, struct core_backing *backing)
{
    SCOPED_FD int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    SCOPED_FD int fd = -1;
    const bool is_program = backing == backings->items + backings->program;
    char first[SELFMAG];
    const bool has_first =
        backing->start &&
        core_segments_copy(backings->segments, backing->start, first, sizeof first) == SELFMAG;
    const bool is_elf = has_first ? memcmp(first, ELFMAG, SELFMAG) == 0 : is_program;
    backing->state = is_elf ? CORE_BACKING_ABSENT : CORE_BACKING_DATA;
    if (backings->given_fd >= 0 && is_given(backings, backing)) {
        backing->fd = fcntl(backings->given_fd, F_DUPFD_CLOEXEC, 0);
        backing->state = backing->fd < 0 ? CORE_BACKING_ABSENT : CORE_BACKING_OPEN;
        return;
    }
    if (*backing->path != '/' || root_fd < 0 || !open_files_are_left(LEAVE_FILES) ||
        file_below_open(root_fd, backing->path, backings->owner, &fd) != FILE_BELOW_OPENED)
        return;
    backing->state =
        is_elf || !has_first ? compare_file(backings, backing, fd) : CORE_BACKING_DATA;
    if (backing->state == CORE_BACKING_OPEN)
        backing->fd = scoped_take_fd(&fd);
}

int core_backings_fd(struct core_backings *backings, const struct core_mapped *mapped)
{
    struct core_backing *const backing =
        &backings->items[core_backings_index(backings, mapped)];
    pthread_mutex_lock(&backings->mutex);
    if (backing->state == CORE_BACKING_UNTRIED)
        open_backing(backings, backing);
    const int fd = backing->fd;
    pthread_mutex_unlock(&backings->mutex);
    return fd;
}

size_t core_backings_count(struct core_backings *backings, enum core_backing_state state,
                           const char **first_out)
{
    size_t count = 0;
    pthread_mutex_lock(&backings->mutex);
    for (size_t i = backings->count; i-- > 0;)
        if (backings->items[i].state == state) {
            *first_out = backings->items[i].path;
            count++;
        }
    pthread_mutex_unlock(&backings->mutex);
    return count;
}

/* Opening a FIFO or a device does something. */
enum err_code core_backings_open_named(const char *path, int flags, int *fd_out,
                                       struct stat *st, struct err *err)
{
    SCOPED_FD int path_fd = open(path, O_PATH | O_CLOEXEC | flags);
    if (path_fd < 0 || fstat(path_fd, st) != 0)
        return err_sys(err, errno, "cannot open %s", path);
    if (S_ISLNK(st->st_mode))
        return err_set(err, ERR_INVALID, "%s is a symbolic link: name the file itself", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_INVALID, "%s is not a regular file", path);
    if (file_below_open_again(path_fd, fd_out) != FILE_BELOW_OPENED)
        return err_sys(err, errno, "cannot open %s", path);
    return ERR_OK;
}

enum err_code core_backings_give(struct core_backings *backings, const char *path,
                                 const char *name, struct err *err)
{
    struct stat st;
    char link[32], real[PATH_MAX];
    const enum err_code rc = core_backings_open_named(path, 0, &backings->given_fd, &st, err);
    if (rc)
        return rc;
    /* The name may be that of a symbolic link. */
    snprintf(link, sizeof link, "/proc/self/fd/%d", backings->given_fd);
    const ssize_t length = readlink(link, real, sizeof real - 1);
    real[length > 0 ? length : 0] = '\0';
    snprintf(backings->given_name, sizeof backings->given_name, "%s",
             python_command_last_part(real));
    for (size_t i = 0; i < backings->count; i++)
        if (is_given(backings, &backings->items[i]))
            return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "%.90s is not the program of %.90s, which ran %.90s: name that build of it",
                   path, name,
                   backings->program < backings->count ? backings->items[backings->program].path
                                                       : backings->notes->name);
}
