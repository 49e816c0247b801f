#include "server/sessions/capture_store.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/capture/reader.h"
#include "sampler/foreign/foreign.h"
#include "server/files/files.h"
#include "server/sessions/capture_details.h"
#include "server/sessions/capture_folder.h"
#include "server/sessions/capture_item.h"
#include "server/sessions/steady.h"
#include "server/wire/range_notes.h"

struct captures {
    struct captures_settings settings;
    struct captures_folder folder;
    struct steady steady;
    pthread_mutex_t lock;
    struct captures_item **items; /* by name */
    size_t count, room;
};

static uint64_t changed_ns(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

enum err_code captures_open(const struct captures_settings *settings, struct captures **out,
                            struct err *err)
{
    struct captures *const captures = calloc(1, sizeof *captures);
    if (!captures)
        return err_nomem(err);
    captures->settings = *settings;
    pthread_mutex_init(&captures->lock, NULL);
    const enum err_code rc = captures_folder_open(&captures->folder, settings->folder, err);
    if (rc)
        captures_close(captures);
    else
        *out = captures;
    return rc;
}

void captures_close(struct captures *captures)
{
    if (!captures)
        return;
    for (size_t i = 0; i < captures->count; i++)
        captures_item_destroy(captures->items[i]);
    free(captures->items);
    captures_folder_close(&captures->folder);
    pthread_mutex_destroy(&captures->lock);
    free(captures);
}

const char *captures_folder(const struct captures *captures)
{
    return captures->folder.path;
}

const struct files_folder *captures_files(const struct captures *captures)
{
    return &captures->folder.files;
}

const struct captures_settings *captures_settings(const struct captures *captures)
{
    return &captures->settings;
}

/* -1: no regular file of that name. */
static int open_named(const struct captures *captures, const char *name, struct stat *out)
{
    char file[CAPTURES_FILE_BYTES];
    if (!captures_file_of(name, file))
        return -1;
    SCOPED_FD int fd = files_open(&captures->folder.files, file, FILES_READ);
    return fd >= 0 && fstat(fd, out) == 0 ? scoped_take_fd(&fd) : -1;
}

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
}

static int compare_names(const void *a, const void *b)
{
    const struct captures_item *const *const left = a, *const *const right = b;
    return strcmp((*left)->entry.name, (*right)->entry.name);
}

static struct captures_item *find_item(const struct captures *captures, const char *name)
{
    size_t at;
    LOWER_BOUND(at, captures->count, strcmp(captures->items[at]->entry.name, name) < 0);
    return at < captures->count && strcmp(captures->items[at]->entry.name, name) == 0
               ? captures->items[at]
               : NULL;
}

static struct captures_item *add_item(struct captures *captures, const char *name)
{
    struct captures_item *const item = calloc(1, sizeof *item);
    if (!item || captures->count == CAPTURES_MAX ||
        !VEC_RESERVE(captures->items, captures->room, captures->count + 1)) {
        free(item);
        return NULL;
    }
    snprintf(item->entry.name, sizeof item->entry.name, "%s", name);
    captures->items[captures->count++] = item;
    return item;
}

/* The file with title, note and labels of a capture. */
struct seen_words {
    char name[CAPTURES_NAME_BYTES];
    uint64_t changed_ns;
};

/* One search of the folder. */
struct search {
    struct captures *captures;
    size_t known; /* items that are sorted; those behind were added by this search */
    struct seen_words *words;
    size_t word_count, word_room;
};

static void see_capture(struct search *search, const char *name,
                        const struct files_status *status)
{
    struct captures *const captures = search->captures;
    const struct captures known = { .items = captures->items, .count = search->known };
    struct captures_item *item = find_item(&known, name);
    struct stat st;
    /* A capture that is complete and has not changed is not opened. */
    const bool is_unchanged = item && item->has_end && item->entry.bytes == status->bytes &&
                              item->entry.changed_ns == status->changed_ns &&
                              item->inode == status->inode;
    if (!is_unchanged) {
        SCOPED_FD int fd = open_named(captures, name, &st);
        if (fd >= 0 && !item)
            item = add_item(captures, name);
        if (fd < 0 || !item)
            return;

        /* An entry is read again if its file has changed. */
        struct capture_entry *const entry = &item->entry;
        if (entry->bytes != (uint64_t)st.st_size || entry->changed_ns != changed_ns(&st) ||
            item->inode != st.st_ino)
            capture_item_read(item, fd, captures->settings.hides_arguments);
        entry->bytes = (uint64_t)st.st_size;
        entry->changed_ns = changed_ns(&st);
        item->inode = st.st_ino;
        entry->state = item->has_end   ? CAPTURE_COMPLETE
                       : is_locked(fd) ? CAPTURE_RECORDING
                                       : CAPTURE_CUT;
        if (!item->has_end && *item->failure)
            entry->reason = item->failure;
    }
    item->is_seen = true;
    item->words_seen_ns = 0;
}

static bool see_file(void *context, const char *file, const struct files_status *status)
{
    struct search *const search = context;
    char name[CAPTURES_NAME_BYTES];
    if (captures_name_of(file, name)) {
        see_capture(search, name, status);
    } else if (captures_name_of_words(file, name) &&
               VEC_RESERVE(search->words, search->word_room, search->word_count + 1)) {
        struct seen_words *const words = &search->words[search->word_count++];
        words->changed_ns = status->changed_ns;
        snprintf(words->name, sizeof words->name, "%s", name);
    }
    return true;
}

static enum err_code renew_items(struct captures *captures, struct err *err)
{
    struct search search = { .captures = captures, .known = captures->count };
    for (size_t i = 0; i < captures->count; i++)
        captures->items[i]->is_seen = false;
    if (files_list(&captures->folder.files, see_file, &search) != 0) {
        free(search.words);
        return err_sys(err, errno, "cannot read the folder '%.200s'", captures->folder.path);
    }

    size_t kept = 0;
    for (size_t i = 0; i < captures->count; i++)
        if (captures->items[i]->is_seen)
            captures->items[kept++] = captures->items[i];
        else
            captures_item_destroy(captures->items[i]);
    captures->count = kept;

    if (captures->count > 1)
        qsort(captures->items, captures->count, sizeof(struct captures_item *), compare_names);

    for (size_t i = 0; i < search.word_count; i++) {
        struct captures_item *const item = find_item(captures, search.words[i].name);
        if (item)
            item->words_seen_ns = search.words[i].changed_ns;
    }
    for (size_t i = 0; i < captures->count; i++) {
        struct captures_item *const item = captures->items[i];
        if (item->words_seen_ns != item->words_changed_ns)
            captures_words_read(&captures->folder.files, item->entry.name, &item->entry.words);
        item->words_changed_ns = item->words_seen_ns;
    }

    free(search.words);
    return ERR_OK;
}

static bool has_text(const char *text, const char *search)
{
    return text && strcasestr(text, search) != NULL;
}

static bool has_label(const struct capture_entry *entry, const char *label, bool is_whole)
{
    for (size_t i = 0; i < entry->words.label_count; i++)
        if (is_whole ? strcmp(entry->words.labels[i], label) == 0
                     : has_text(entry->words.labels[i], label))
            return true;
    return false;
}

static bool is_found(const struct capture_entry *entry, const char *search)
{
    bool found = has_text(entry->name, search) || has_text(entry->words.title, search) ||
                 has_text(entry->words.note, search) || has_text(entry->host, search) ||
                 has_label(entry, search, false);
    for (size_t i = 0; i < entry->argc && !found; i++)
        found = has_text(entry->argv[i], search);
    return found;
}

static bool fits_query(const struct capture_entry *entry, const struct captures_query *query)
{
    return (!query->search || is_found(entry, query->search)) &&
           (!query->host || strcmp(entry->host, query->host) == 0) &&
           (!query->label || has_label(entry, query->label, true)) &&
           entry->started_at_ns >= query->from_ns &&
           (query->to_ns == 0 || entry->started_at_ns < query->to_ns);
}

static int compare_age(const void *a, const void *b)
{
    const struct captures_item *const *const left = a, *const *const right = b;
    const struct capture_entry *const x = &(*left)->entry, *const y = &(*right)->entry;
    if (x->started_at_ns != y->started_at_ns)
        return x->started_at_ns < y->started_at_ns ? 1 : -1;
    return strcmp(y->name, x->name);
}

/* The items, newest first; the caller's (free). */
static struct captures_item **by_age(const struct captures *captures)
{
    struct captures_item **const sorted =
        calloc(captures->count + 1, sizeof(struct captures_item *));
    if (sorted && captures->count) {
        memcpy(sorted, captures->items, captures->count * sizeof(struct captures_item *));
        qsort(sorted, captures->count, sizeof(struct captures_item *), compare_age);
    }
    return sorted;
}

enum err_code captures_visit(struct captures *captures, const struct captures_query *query,
                             captures_tell tell, void *context, struct captures_summary *out,
                             struct err *err)
{
    pthread_mutex_lock(&captures->lock);
    enum err_code rc = renew_items(captures, err);
    struct captures_item **const sorted = !rc ? by_age(captures) : NULL;
    if (!rc && !sorted)
        rc = err_nomem(err);
    *out = (struct captures_summary){ 0, 0 };
    for (size_t i = 0; !rc && i < captures->count; i++) {
        out->bytes += sorted[i]->entry.bytes;
        if (!fits_query(&sorted[i]->entry, query))
            continue;
        out->total++;
        tell(context, &sorted[i]->entry);
    }
    free(sorted);
    pthread_mutex_unlock(&captures->lock);
    return rc;
}

static enum err_code no_capture(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "no capture %.64s", name);
}

enum err_code captures_tell_one(struct captures *captures, const char *name, captures_tell tell,
                                void *context, struct err *err)
{
    pthread_mutex_lock(&captures->lock);
    enum err_code rc = renew_items(captures, err);
    const struct captures_item *const item = !rc ? find_item(captures, name) : NULL;
    if (item)
        tell(context, &item->entry);
    else if (!rc)
        rc = no_capture(name, err);
    pthread_mutex_unlock(&captures->lock);
    return rc;
}

enum err_code captures_open_file(struct captures *captures, const char *name, int *fd_out,
                                 uint64_t *bytes_out, uint64_t *changed_ns_out, struct err *err)
{
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    if (fd < 0)
        return no_capture(name, err);
    *bytes_out = (uint64_t)st.st_size;
    if (changed_ns_out)
        *changed_ns_out = changed_ns(&st);
    *fd_out = scoped_take_fd(&fd);
    return ERR_OK;
}

enum err_code captures_check_file(struct captures *captures, const char *name, struct err *err)
{
    pthread_mutex_lock(&captures->lock);
    enum err_code rc = renew_items(captures, err);
    const struct captures_item *const item = !rc ? find_item(captures, name) : NULL;
    if (!rc && !item)
        rc = no_capture(name, err);
    else if (!rc && captures->settings.hides_arguments && !item->entry.has_no_arguments)
        rc = err_set(err, ERR_PERM,
                     "capture %.64s contains arguments of programs, which this server hides "
                     "(--hide-args): export it in another format",
                     name);
    pthread_mutex_unlock(&captures->lock);
    return rc;
}

/* "20260131-100000Z-4711-3f2a" */
static void make_name(int pid, char out[CAPTURES_NAME_BYTES])
{
    char when[17] = "";
    uint16_t random = 0;
    struct tm parts;
    const time_t now = time(NULL);
    (void)!getrandom(&random, sizeof random, 0);
    if (gmtime_r(&now, &parts))
        strftime(when, sizeof when, "%Y%m%d-%H%M%SZ", &parts);
    if (pid > 0)
        snprintf(out, CAPTURES_NAME_BYTES, "%s-%d-%04x", when, pid, (unsigned)random);
    else
        snprintf(out, CAPTURES_NAME_BYTES, "%s-all-%04x", when, (unsigned)random);
}

enum err_code captures_make(struct captures *captures, int pid,
                            char name_out[CAPTURES_NAME_BYTES], int *fd_out, struct err *err)
{
    enum { TRIES = 16 };
    char file[CAPTURES_FILE_BYTES];
    int fd = -1;
    const enum err_code rc = captures_folder_renew(&captures->folder, err);
    if (rc)
        return rc;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        make_name(pid, name_out);
        if (!captures_file_of(name_out, file))
            break;
        fd = files_open(&captures->folder.files, file, FILES_CREATE);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return err_sys(err, errno, "cannot create a capture in '%.200s'",
                       captures->folder.path);
    flock(fd, LOCK_EX);
    *fd_out = fd;
    return ERR_OK;
}

void captures_fail(struct captures *captures, const char *name, int fd, const char *why)
{
    flock(fd, LOCK_UN);
    pthread_mutex_lock(&captures->lock);
    struct captures_item *const item =
        !renew_items(captures, NULL) ? find_item(captures, name) : NULL;
    if (item) {
        snprintf(item->failure, sizeof item->failure, "%s", why);
        item->entry.reason = item->failure;
    }
    pthread_mutex_unlock(&captures->lock);
}

enum err_code captures_spool(struct captures *captures, int *fd_out, struct err *err)
{
    const int fd = files_open(&captures->folder.files, NULL, FILES_UNNAMED);
    if (fd < 0)
        return err_sys(err, errno, "cannot store a file in '%.200s'", captures->folder.path);
    *fd_out = fd;
    return ERR_OK;
}

/* Copies a file that is open; fd_out: a new one of the folder. */
static enum err_code copy_file(struct captures *captures, int fd, int *fd_out, struct err *err)
{
    struct stat st;
    off_t at = 0;
    const enum err_code rc = captures_spool(captures, fd_out, err);
    if (rc)
        return rc;
    const bool is_known = fstat(fd, &st) == 0;
    while (is_known && at < st.st_size) {
        char piece[1 << 16];
        const ssize_t n = pread(fd, piece, sizeof piece, at);
        if (n <= 0 || pwrite(*fd_out, piece, (size_t)n, at) != n)
            break;
        at += n;
    }
    if (is_known && at == st.st_size)
        return ERR_OK;
    close(*fd_out);
    return err_sys(err, errno ? errno : EIO, "cannot store a file in '%.200s'",
                   captures->folder.path);
}

static enum err_code adopt_capture(struct captures *captures, int fd,
                                   const struct capture_words *words,
                                   char name_out[CAPTURES_NAME_BYTES], struct err *err)
{
    char file[CAPTURES_FILE_BYTES];
    struct reader *reader = NULL;
    enum err_code rc = reader_open_fd(fd, &reader, err);
    if (rc)
        return err_wrap(err, rc, "cannot read the upload");
    const int pid = (int)reader_metadata(reader)->pid;
    reader_close(reader);

    enum { TRIES = 16 };
    int linked = -1;
    for (int i = 0; i < TRIES && linked != 0; i++) {
        make_name(pid, name_out);
        if (!captures_file_of(name_out, file))
            break;
        linked = files_link(&captures->folder.files, fd, file);
        if (linked != 0 && errno != EEXIST)
            break;
    }
    rc = linked == 0
             ? ERR_OK
             : err_sys(err, errno, "cannot store a file in '%.200s'", captures->folder.path);

    if (rc || !*words->title)
        return rc;
    rc = captures_words_write(&captures->folder.files, name_out, words, err);
    if (rc && captures_file_of(name_out, file))
        (void)files_remove(&captures->folder.files, file);
    return rc;
}

enum err_code captures_adopt(struct captures *captures, int fd,
                             const struct capture_words *words,
                             char name_out[CAPTURES_NAME_BYTES], struct err *err)
{
    int converted = -1, copied = -1;
    enum err_code rc = foreign_convert(fd, CAPTURES_CONVERT_BYTES, &converted, err);
    if (rc)
        return err_wrap(err, rc, "cannot read the upload");
    if (converted == fd)
        return adopt_capture(captures, fd, words, name_out, err);
    rc = copy_file(captures, converted, &copied, err);
    close(converted);
    if (rc)
        return rc;
    rc = adopt_capture(captures, copied, words, name_out, err);
    close(copied);
    return rc;
}

enum err_code captures_describe(struct captures *captures, const char *name,
                                const struct capture_words *words, struct err *err)
{
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    return fd < 0 ? no_capture(name, err)
                  : captures_words_write(&captures->folder.files, name, words, err);
}

void captures_read_notes(struct captures *captures, const char *name, struct range_notes *out)
{
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    *out = (struct range_notes){ 0 };
    if (fd >= 0)
        captures_notes_read(&captures->folder.files, name, out);
}

enum err_code captures_write_notes(struct captures *captures, const char *name,
                                   const struct range_notes *notes, struct err *err)
{
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    return fd < 0 ? no_capture(name, err)
                  : captures_notes_write(&captures->folder.files, name, notes, err);
}

enum err_code captures_remove(struct captures *captures, const char *name, struct err *err)
{
    char file[CAPTURES_FILE_BYTES];
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    if (fd < 0 || !captures_file_of(name, file))
        return no_capture(name, err);
    if (is_locked(fd))
        return err_set(err, ERR_LIMIT, "capture %s is being recorded", name);
    if (files_remove(&captures->folder.files, file) != 0)
        return err_sys(err, errno, "cannot remove '%s'", file);
    captures_words_remove(&captures->folder.files, name);
    return ERR_OK;
}

size_t captures_tidy(struct captures *captures)
{
    const uint64_t most = captures->settings.keep_bytes;
    size_t removed = 0;
    uint64_t bytes = 0;
    pthread_mutex_lock(&captures->lock);
    const bool knows_age =
        steady_is_trusted(&captures->steady, clock_wall_ns(), clock_boot_ns());
    struct captures_item **const sorted =
        !renew_items(captures, NULL) ? by_age(captures) : NULL;
    for (size_t i = 0; sorted && i < captures->count; i++) {
        const struct capture_entry *const entry = &sorted[i]->entry;
        const uint64_t now_ns = clock_wall_ns(), keep_ns = captures->settings.keep_ns;
        const bool is_too_old = knows_age && keep_ns && entry->changed_ns < now_ns &&
                                now_ns - entry->changed_ns > keep_ns;
        bytes += entry->bytes;
        if (!is_too_old && !(most && bytes > most))
            continue;
        if (captures_remove(captures, entry->name, NULL))
            continue;
        bytes -= entry->bytes;
        removed++;
    }
    free(sorted);
    pthread_mutex_unlock(&captures->lock);
    return removed;
}
