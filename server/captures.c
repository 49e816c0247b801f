#include "server/captures.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "sampler/capture/facts.h"
#include "sampler/capture/format.h"
#include "sampler/capture/reader.h"
#include "server/captures_words.h"

enum { FILE_BYTES = CAPTURES_NAME_BYTES + 8 };

/* One file, as far as it has been looked into. */
struct item {
    struct capture_entry entry;
    ino_t inode;
    uint64_t words_changed_ns;
    char *texts; /* of the entry */
    const char **argv;
    char fault[160];
    bool has_end, is_seen;
};

struct captures {
    struct captures_settings settings;
    char folder[PATH_MAX];
    int fd;
    pthread_mutex_t lock;
    struct item **items; /* by name */
    size_t count, room;
};

void captures_path_of(int fd, char out[CAPTURES_PATH_BYTES])
{
    snprintf(out, CAPTURES_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* Letters, digits, '-', '_', and '.' within: nothing that leads anywhere else. */
static bool is_name(const char *name, size_t length)
{
    if (length == 0 || length >= CAPTURES_NAME_BYTES || *name == '.')
        return false;
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return true;
}

static bool file_of(const char *name, char out[FILE_BYTES])
{
    if (!is_name(name, strlen(name)))
        return false;
    snprintf(out, FILE_BYTES, "%.*s.%s", CAPTURES_NAME_BYTES - 1, name, CAPTURE_EXTENSION);
    return true;
}

/* NAME of "NAME.pyro"; false: another file. */
static bool name_of(const char *file, char out[CAPTURES_NAME_BYTES])
{
    const char *const dot = strrchr(file, '.');
    if (!dot || strcmp(dot + 1, CAPTURE_EXTENSION) != 0 || !is_name(file, (size_t)(dot - file)))
        return false;
    snprintf(out, CAPTURES_NAME_BYTES, "%.*s", (int)(dot - file), file);
    return true;
}

static uint64_t changed_ns(const struct stat *st)
{
    return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static enum err_code usual_folder(char out[PATH_MAX], struct err *err)
{
    const char *const state = getenv("XDG_STATE_HOME");
    const char *const home = getenv("HOME");
    if (state && *state == '/')
        snprintf(out, PATH_MAX, "%s/pyrometer", state);
    else if (home && *home == '/')
        snprintf(out, PATH_MAX, "%s/.local/state/pyrometer", home);
    else
        return err_set(err, ERR_INVALID, "there is no home folder: say --data DIR");
    return ERR_OK;
}

/* With all above it. */
static enum err_code make_folder(char path[PATH_MAX], struct err *err)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        const int rc = mkdir(path, 0700);
        const int sys = errno;
        *at = '/';
        if (rc != 0 && sys != EEXIST && sys != EROFS && sys != EACCES)
            return err_sys(err, sys, "cannot make the folder '%s'", path);
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make the folder '%s'", path);
    return ERR_OK;
}

static enum err_code open_folder(struct captures *captures, struct err *err)
{
    captures->fd = open(captures->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (captures->fd < 0)
        return err_sys(err, errno, "cannot open the folder '%s'", captures->folder);
    if (faccessat(captures->fd, ".", W_OK | X_OK, 0) != 0)
        return err_sys(err, errno, "cannot write into the folder '%s'", captures->folder);
    return ERR_OK;
}

enum err_code captures_open(const struct captures_settings *settings, struct captures **out,
                            struct err *err)
{
    struct captures *const captures = calloc(1, sizeof *captures);
    enum err_code rc = ERR_OK;
    if (!captures)
        return err_set(err, ERR_NOMEM, "no memory for the list of captures");
    captures->settings = *settings;
    captures->fd = -1;
    pthread_mutex_init(&captures->lock, NULL);
    if (settings->folder)
        snprintf(captures->folder, sizeof captures->folder, "%s", settings->folder);
    else
        rc = usual_folder(captures->folder, err);
    if (rc == ERR_OK)
        rc = make_folder(captures->folder, err);
    if (rc == ERR_OK)
        rc = open_folder(captures, err);
    if (rc != ERR_OK)
        captures_close(captures);
    else
        *out = captures;
    return rc;
}

static void free_item(struct item *item)
{
    if (item) {
        free(item->texts);
        free(item->argv);
    }
    free(item);
}

void captures_close(struct captures *captures)
{
    if (!captures)
        return;
    for (size_t i = 0; i < captures->count; i++)
        free_item(captures->items[i]);
    free(captures->items);
    if (captures->fd >= 0)
        close(captures->fd);
    pthread_mutex_destroy(&captures->lock);
    free(captures);
}

const char *captures_folder(const struct captures *captures)
{
    return captures->folder;
}

const struct captures_settings *captures_settings(const struct captures *captures)
{
    return &captures->settings;
}

/* -1: no regular file of that name. */
static int open_named(const struct captures *captures, const char *name, struct stat *out)
{
    char file[FILE_BYTES];
    if (!file_of(name, file))
        return -1;
    SCOPED_FD int fd =
        openat(captures->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, out) != 0 || !S_ISREG(out->st_mode))
        return -1;
    return scoped_take_fd(&fd);
}

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
}

/* Copies a text to *at, which moves behind it. */
static const char *keep(char **at, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *const kept = memcpy(*at, text, bytes);
    *at += bytes;
    return kept;
}

static size_t text_bytes(const struct capture_facts *facts)
{
    size_t bytes = strlen(facts->executable) + strlen(facts->python) + strlen(facts->host) +
                   strlen(facts->user) + strlen(facts->reason) + 5;
    for (size_t i = 0; i < facts->argv.count; i++)
        bytes += strlen(facts->argv.items[i]) + 1;
    return bytes;
}

static void take_texts(struct item *item, const struct capture_facts *facts)
{
    struct capture_entry *const entry = &item->entry;
    char *at = item->texts = malloc(text_bytes(facts));
    item->argv = calloc(facts->argv.count + 1, sizeof *item->argv);
    if (!at || !item->argv)
        return;
    entry->executable = keep(&at, facts->executable);
    entry->python = keep(&at, facts->python);
    entry->host = keep(&at, facts->host);
    entry->user = keep(&at, facts->user);
    entry->reason = keep(&at, facts->reason);
    for (size_t i = 0; i < facts->argv.count; i++)
        item->argv[i] = keep(&at, facts->argv.items[i]);
    entry->argc = facts->argv.count;
    entry->argv = item->argv;
}

/* Facts of the start, and of the end where there is one. */
static void take_facts(struct item *item, const struct capture_facts *facts)
{
    struct capture_entry *const entry = &item->entry;
    entry->pid = facts->pid;
    entry->started_at_ns = facts->started_at_ns;
    entry->ended_at_ns = facts->ended_at_ns;
    entry->elapsed_ns = facts->elapsed_ns;
    entry->rate_hz = (double)facts->rate_uhz / 1e6;
    take_texts(item, facts);
}

static void look_into(struct item *item, int fd)
{
    char path[CAPTURES_PATH_BYTES];
    struct err err = { 0 };
    struct capture_entry *const entry = &item->entry;
    struct reader *reader = NULL;
    free(item->texts);
    free(item->argv);
    item->texts = NULL;
    item->argv = NULL;
    item->has_end = false;
    entry->fault = NULL;
    entry->argc = 0;
    entry->executable = entry->python = entry->host = entry->user = entry->reason = "";
    captures_path_of(fd, path);
    if (reader_open(path, &reader, &err) != ERR_OK) {
        snprintf(item->fault, sizeof item->fault, "%.*s", (int)sizeof item->fault - 1,
                 err.message);
        entry->fault = item->fault;
        return;
    }
    take_facts(item, reader_facts(reader));
    item->has_end = reader_has_end(reader);
    reader_close(reader);
}

static int compare_names(const void *a, const void *b)
{
    const struct item *const *const left = a, *const *const right = b;
    return strcmp((*left)->entry.name, (*right)->entry.name);
}

static struct item *find_item(const struct captures *captures, const char *name)
{
    size_t low = 0, high = captures->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(captures->items[middle]->entry.name, name);
        if (order == 0)
            return captures->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* What has changed since is looked into again. */
static void renew_item(const struct captures *captures, struct item *item, int fd,
                       const struct stat *st)
{
    char words[CAPTURES_NAME_BYTES + 8];
    struct stat beside;
    struct capture_entry *const entry = &item->entry;
    if (entry->bytes != (uint64_t)st->st_size || entry->changed_ns != changed_ns(st) ||
        item->inode != st->st_ino)
        look_into(item, fd);
    entry->bytes = (uint64_t)st->st_size;
    entry->changed_ns = changed_ns(st);
    item->inode = st->st_ino;
    snprintf(words, sizeof words, "%s.json", entry->name);
    const uint64_t words_ns = fstatat(captures->fd, words, &beside, AT_SYMLINK_NOFOLLOW) == 0
                                  ? changed_ns(&beside)
                                  : 0;
    if (words_ns != item->words_changed_ns)
        captures_words_read(captures->fd, entry->name, &entry->words);
    item->words_changed_ns = words_ns;
    entry->state = item->has_end   ? CAPTURE_COMPLETE
                   : is_locked(fd) ? CAPTURE_RECORDING
                                   : CAPTURE_CUT;
    item->is_seen = true;
}

static struct item *add_item(struct captures *captures, const char *name)
{
    struct item *const item = calloc(1, sizeof *item);
    if (!item || captures->count == CAPTURES_MAX) {
        free(item);
        return NULL;
    }
    if (captures->count == captures->room) {
        const size_t room = captures->room ? captures->room * 2 : 64;
        struct item **const more = realloc(captures->items, room * sizeof(struct item *));
        if (!more) {
            free(item);
            return NULL;
        }
        captures->items = more;
        captures->room = room;
    }
    snprintf(item->entry.name, sizeof item->entry.name, "%s", name);
    captures->items[captures->count++] = item;
    return item;
}

/* `known` of the items are sorted; those behind were added by this very look. */
static void see_file(struct captures *captures, const char *file, struct captures *known)
{
    char name[CAPTURES_NAME_BYTES];
    struct stat st;
    if (!name_of(file, name))
        return;
    SCOPED_FD int fd = open_named(captures, name, &st);
    if (fd < 0)
        return;
    known->items = captures->items;
    struct item *item = find_item(known, name);
    if (!item)
        item = add_item(captures, name);
    if (item)
        renew_item(captures, item, fd, &st);
}

static void forget_unseen(struct captures *captures)
{
    size_t kept = 0;
    for (size_t i = 0; i < captures->count; i++)
        if (captures->items[i]->is_seen)
            captures->items[kept++] = captures->items[i];
        else
            free_item(captures->items[i]);
    captures->count = kept;
}

static enum err_code renew(struct captures *captures, struct err *err)
{
    struct captures known = { .count = captures->count };
    const int fd = openat(captures->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        const int sys = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(err, sys, "cannot read the folder '%.200s'", captures->folder);
    }
    for (size_t i = 0; i < captures->count; i++)
        captures->items[i]->is_seen = false;
    for (const struct dirent *entry; (entry = readdir(folder));)
        see_file(captures, entry->d_name, &known);
    closedir(folder);
    forget_unseen(captures);
    if (captures->count > 1)
        qsort(captures->items, captures->count, sizeof(struct item *), compare_names);
    return ERR_OK;
}

static bool has(const char *text, const char *search)
{
    return text && strcasestr(text, search) != NULL;
}

static bool has_label(const struct capture_entry *entry, const char *label, bool is_whole)
{
    for (size_t i = 0; i < entry->words.label_count; i++)
        if (is_whole ? strcmp(entry->words.labels[i], label) == 0
                     : has(entry->words.labels[i], label))
            return true;
    return false;
}

static bool is_found(const struct capture_entry *entry, const char *search)
{
    bool found = has(entry->name, search) || has(entry->words.title, search) ||
                 has(entry->words.note, search) || has(entry->host, search) ||
                 has_label(entry, search, false);
    for (size_t i = 0; i < entry->argc && !found; i++)
        found = has(entry->argv[i], search);
    return found;
}

static bool fits(const struct capture_entry *entry, const struct captures_query *query)
{
    return (!query->search || is_found(entry, query->search)) &&
           (!query->host || strcmp(entry->host, query->host) == 0) &&
           (!query->label || has_label(entry, query->label, true)) &&
           entry->started_at_ns >= query->from_ns &&
           (query->to_ns == 0 || entry->started_at_ns < query->to_ns);
}

static int compare_age(const void *a, const void *b)
{
    const struct item *const *const left = a, *const *const right = b;
    const struct capture_entry *const x = &(*left)->entry, *const y = &(*right)->entry;
    if (x->started_at_ns != y->started_at_ns)
        return x->started_at_ns < y->started_at_ns ? 1 : -1;
    return strcmp(y->name, x->name);
}

/* The items, newest first; the caller's (free). */
static struct item **by_age(const struct captures *captures)
{
    struct item **const sorted = calloc(captures->count + 1, sizeof(struct item *));
    if (sorted && captures->count) {
        memcpy(sorted, captures->items, captures->count * sizeof(struct item *));
        qsort(sorted, captures->count, sizeof(struct item *), compare_age);
    }
    return sorted;
}

enum err_code captures_visit(struct captures *captures, const struct captures_query *query,
                             captures_tell tell, void *context, struct captures_summary *out,
                             struct err *err)
{
    pthread_mutex_lock(&captures->lock);
    enum err_code rc = renew(captures, err);
    struct item **const sorted = rc == ERR_OK ? by_age(captures) : NULL;
    if (rc == ERR_OK && !sorted)
        rc = err_set(err, ERR_NOMEM, "no memory for a list of captures");
    *out = (struct captures_summary){ 0, 0 };
    for (size_t i = 0; rc == ERR_OK && i < captures->count; i++) {
        out->bytes += sorted[i]->entry.bytes;
        if (!fits(&sorted[i]->entry, query))
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
    enum err_code rc = renew(captures, err);
    const struct item *const item = rc == ERR_OK ? find_item(captures, name) : NULL;
    if (item)
        tell(context, &item->entry);
    else if (rc == ERR_OK)
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

/* "20260131-100000-4711-3f2a" */
static void make_name(int pid, char out[CAPTURES_NAME_BYTES])
{
    char when[16] = "";
    uint16_t random = 0;
    struct tm parts;
    const time_t now = time(NULL);
    (void)!getrandom(&random, sizeof random, 0);
    if (gmtime_r(&now, &parts))
        strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts);
    if (pid > 0)
        snprintf(out, CAPTURES_NAME_BYTES, "%s-%d-%04x", when, pid, (unsigned)random);
    else
        snprintf(out, CAPTURES_NAME_BYTES, "%s-all-%04x", when, (unsigned)random);
}

/* The folder may have been removed; the descriptor then becomes that of a new one. */
static void renew_folder(struct captures *captures)
{
    struct stat st;
    if (fstat(captures->fd, &st) != 0 || st.st_nlink > 0 ||
        make_folder(captures->folder, NULL) != ERR_OK)
        return;
    SCOPED_FD int fd = open(captures->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)dup3(fd, captures->fd, O_CLOEXEC);
}

enum err_code captures_make(struct captures *captures, int pid,
                            char name_out[CAPTURES_NAME_BYTES], int *fd_out, struct err *err)
{
    enum { TRIES = 16 };
    char file[FILE_BYTES];
    int fd = -1;
    renew_folder(captures);
    for (int i = 0; i < TRIES && fd < 0; i++) {
        make_name(pid, name_out);
        if (!file_of(name_out, file))
            break;
        fd = openat(captures->fd, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return err_sys(err, errno, "cannot make a capture in '%.200s'", captures->folder);
    flock(fd, LOCK_EX);
    *fd_out = fd;
    return ERR_OK;
}

enum err_code captures_spool(struct captures *captures, int *fd_out, struct err *err)
{
    const int fd = openat(captures->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot put a file into '%.200s'", captures->folder);
    *fd_out = fd;
    return ERR_OK;
}

static enum err_code link_file(struct captures *captures, int fd, int pid,
                               char name_out[CAPTURES_NAME_BYTES], struct err *err)
{
    enum { TRIES = 16 };
    char file[FILE_BYTES], path[CAPTURES_PATH_BYTES];
    int rc = -1;
    captures_path_of(fd, path);
    for (int i = 0; i < TRIES && rc != 0; i++) {
        make_name(pid, name_out);
        if (!file_of(name_out, file))
            break;
        rc = linkat(AT_FDCWD, path, captures->fd, file, AT_SYMLINK_FOLLOW);
        if (rc != 0 && errno != EEXIST)
            break;
    }
    return rc == 0 ? ERR_OK
                   : err_sys(err, errno, "cannot put a file into '%.200s'", captures->folder);
}

enum err_code captures_adopt(struct captures *captures, int fd,
                             const struct capture_words *words,
                             char name_out[CAPTURES_NAME_BYTES], struct err *err)
{
    char path[CAPTURES_PATH_BYTES];
    struct reader *reader = NULL;
    captures_path_of(fd, path);
    enum err_code rc = reader_open(path, &reader, err);
    if (rc != ERR_OK)
        return rc;
    const int pid = (int)reader_facts(reader)->pid;
    reader_close(reader);
    rc = link_file(captures, fd, pid, name_out, err);
    return rc == ERR_OK && *words->title
               ? captures_words_write(captures->fd, name_out, words, err)
               : rc;
}

enum err_code captures_describe(struct captures *captures, const char *name,
                                const struct capture_words *words, struct err *err)
{
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    return fd < 0 ? no_capture(name, err)
                  : captures_words_write(captures->fd, name, words, err);
}

enum err_code captures_remove(struct captures *captures, const char *name, struct err *err)
{
    char file[FILE_BYTES];
    struct stat st;
    SCOPED_FD int fd = open_named(captures, name, &st);
    if (fd < 0 || !file_of(name, file))
        return no_capture(name, err);
    if (is_locked(fd))
        return err_set(err, ERR_LIMIT, "capture %s is being recorded", name);
    if (unlinkat(captures->fd, file, 0) != 0)
        return err_sys(err, errno, "cannot remove '%s'", file);
    captures_words_remove(captures->fd, name);
    return ERR_OK;
}

static bool is_too_old(const struct captures *captures, const struct capture_entry *entry)
{
    const uint64_t now_ns = clock_wall_ns();
    return captures->settings.keep_ns && entry->changed_ns < now_ns &&
           now_ns - entry->changed_ns > captures->settings.keep_ns;
}

size_t captures_tidy(struct captures *captures)
{
    const uint64_t most = captures->settings.keep_bytes;
    size_t removed = 0;
    uint64_t bytes = 0;
    pthread_mutex_lock(&captures->lock);
    struct item **const sorted = renew(captures, NULL) == ERR_OK ? by_age(captures) : NULL;
    for (size_t i = 0; sorted && i < captures->count; i++) {
        const struct capture_entry *const entry = &sorted[i]->entry;
        bytes += entry->bytes;
        if (!is_too_old(captures, entry) && !(most && bytes > most))
            continue;
        if (captures_remove(captures, entry->name, NULL) != ERR_OK)
            continue;
        bytes -= entry->bytes;
        removed++;
    }
    free(sorted);
    pthread_mutex_unlock(&captures->lock);
    return removed;
}
