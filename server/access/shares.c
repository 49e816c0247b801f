#include "server/access/shares.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "sampler/base/trusted_path.h"
#include "server/files/files.h"

#define FILE_MARK "pyrometer-shares 1"
#define ENDING    ".XXXXXX" /* of a new file */

enum { LINE_BYTES = 512 };

struct entry {
    struct share share;
    uint64_t
        over_ns; /* of clock_boot_ns: then it is over, whatever the wall clock says; 0: never */
    struct digest token, cookie;
};

struct shares {
    pthread_mutex_t lock;
    char *file;             /* NULL: not kept */
    struct trusted_path at; /* where it is; folder_fd -1: there is no such folder */
    uint32_t last_id;
    size_t count;
    struct entry entries[SHARES_MAX];
};

/* The wall clock may be set back, which must not let anybody in for longer; and where it is set
 * forward, a share is over too soon rather than too late. */
static bool is_over(const struct entry *entry, uint64_t now_ns)
{
    return (entry->share.expires_at_ns != 0 && entry->share.expires_at_ns <= now_ns) ||
           (entry->over_ns != 0 && entry->over_ns <= clock_boot_ns());
}

/* From now on it has what is left, at most as much as it was given. */
static void set_over(struct entry *entry, uint64_t now_ns)
{
    const struct share *const share = &entry->share;
    const uint64_t from_ns = now_ns > share->created_at_ns ? now_ns : share->created_at_ns;
    const uint64_t left_ns =
        share->expires_at_ns > from_ns ? share->expires_at_ns - from_ns : 0;
    entry->over_ns = share->expires_at_ns ? clock_boot_ns() + left_ns : 0;
}

static void drop_entry(struct shares *shares, size_t at)
{
    shares->count--;
    memmove(&shares->entries[at], &shares->entries[at + 1],
            (shares->count - at) * sizeof *shares->entries);
}

static void drop_expired(struct shares *shares)
{
    const uint64_t now_ns = clock_wall_ns();
    for (size_t i = shares->count; i-- > 0;)
        if (is_over(&shares->entries[i], now_ns))
            drop_entry(shares, i);
}

/* ID MADE EXPIRES TOKEN COOKIE NAME, the name to the end of the line. */
static bool read_entry(const char *line, struct entry *out)
{
    char token[2 * DIGEST_BYTES + 2], cookie[2 * DIGEST_BYTES + 2];
    int end = 0;
    memset(out, 0, sizeof *out);
    if (sscanf(line, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %65s %65s%n", &out->share.id,
               &out->share.created_at_ns, &out->share.expires_at_ns, token, cookie,
               &end) != 5 ||
        line[end] != ' ' || strlen(line + end + 1) > SHARES_MAX_NAME)
        return false;
    snprintf(out->share.name, sizeof out->share.name, "%s", line + end + 1);
    set_over(out, clock_wall_ns());
    return out->share.id > 0 && digest_parse(token, &out->token) &&
           digest_parse(cookie, &out->cookie);
}

static bool read_line(FILE *file, char line[LINE_BYTES])
{
    if (!fgets(line, LINE_BYTES, file))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool read_entries(struct shares *shares, FILE *file)
{
    char line[LINE_BYTES];
    if (!read_line(file, line) || sscanf(line, FILE_MARK " %" SCNu32, &shares->last_id) != 1)
        return false;
    while (read_line(file, line))
        if (shares->count == SHARES_MAX || !read_entry(line, &shares->entries[shares->count++]))
            return false;
    return ferror(file) == 0;
}

/* Finds the folder of the file, which stays open.  The file itself may be no link: a change replaces it. */
static enum err_code find_folder(struct shares *shares, struct err *err)
{
    char folder[PATH_MAX];
    const char *const slash = strrchr(shares->file, '/');
    const char *const name = slash ? slash + 1 : shares->file;
    const size_t length = (size_t)(name - shares->file);
    if (length + 1 >= sizeof folder || strlen(name) + sizeof ENDING > sizeof shares->at.name)
        return err_set(err, ERR_LIMIT, "the path of --shares is too long");
    snprintf(folder, sizeof folder, "%.*s.", (int)length, shares->file);
    const enum err_code rc = trusted_path_find(folder, &shares->at, err);
    snprintf(shares->at.name, sizeof shares->at.name, "%s", name);
    return rc;
}

static enum err_code read_file(struct shares *shares, struct err *err)
{
    struct err why = { 0 };
    SCOPED_FD int fd = -1;
    enum err_code rc = find_folder(shares, &why);
    if (!rc)
        rc = trusted_path_open_at(&shares->at, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0, &fd, &why);
    if (rc && why.sys == ENOENT)
        return ERR_OK;
    /* A file that another user has put there would let that user in. */
    if (!rc)
        rc = trusted_path_check(&shares->at, fd, &why);
    FILE *const file = !rc ? fdopen(fd, "r") : NULL;
    if (!file)
        return err_set(err, !rc ? ERR_SYS : rc, "cannot read the shared links in '%.200s': %s",
                       shares->file, !rc ? strerror(errno) : why.message);
    (void)scoped_take_fd(&fd);
    const bool is_fine = read_entries(shares, file);
    fclose(file);
    drop_expired(shares);
    return is_fine ? ERR_OK
                   : err_set(err, ERR_CORRUPT, "'%.200s' is not a file of shared links",
                             shares->file);
}

/* A folder that is not there is no answer to the client's question. */
static enum err_code cannot_write(const struct shares *shares, int sys, struct err *err)
{
    err_sys(err, sys, "cannot write the shared links to '%.200s'", shares->file);
    if (err)
        err->code = ERR_SYS;
    return ERR_SYS;
}

static enum err_code write_whole(const struct shares *shares, int fd, struct err *err)
{
    FILE *const file = fdopen(fd, "w");
    if (!file) {
        const int sys = errno;
        close(fd);
        return cannot_write(shares, sys, err);
    }

    char token[2 * DIGEST_BYTES + 1], cookie[2 * DIGEST_BYTES + 1];
    fprintf(file, FILE_MARK " %" PRIu32 "\n", shares->last_id);
    for (size_t i = 0; i < shares->count; i++) {
        const struct entry *const entry = &shares->entries[i];
        if (*entry->share.shared.session)
            continue;
        digest_format(&entry->token, token);
        digest_format(&entry->cookie, cookie);
        fprintf(file, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %s %s %s\n", entry->share.id,
                entry->share.created_at_ns, entry->share.expires_at_ns, token, cookie,
                entry->share.name);
    }

    const bool is_fine = fflush(file) == 0 && fsync(fileno(file)) == 0;
    const int sys = errno;
    if (fclose(file) != 0 || !is_fine)
        return cannot_write(shares, is_fine ? errno : sys, err);
    return ERR_OK;
}

/* A reader, and a crash, finds the old file or the new one. */
static enum err_code keep_file(struct shares *shares, struct err *err)
{
    char name[NAME_MAX + 1];
    struct err why = { 0 };
    if (!shares->file)
        return ERR_OK;
    if (shares->at.folder_fd < 0 && find_folder(shares, &why))
        return cannot_write(shares, why.sys, err);
    const struct files_folder folder = files_in(shares->at.folder_fd);
    snprintf(name, sizeof name, "%.*s" ENDING, (int)(sizeof name - sizeof ENDING),
             shares->at.name);
    const int fd = files_create(&folder, name);
    if (fd < 0)
        return cannot_write(shares, errno, err);
    enum err_code rc = write_whole(shares, fd, err);
    if (!rc && files_rename(&folder, name, shares->at.name) != 0)
        rc = cannot_write(shares, errno, err);
    if (rc)
        (void)files_remove(&folder, name);
    return rc;
}

enum err_code shares_create(const char *file, struct shares **out, struct err *err)
{
    struct shares *const shares = calloc(1, sizeof *shares);
    if (!shares)
        return err_nomem(err);
    pthread_mutex_init(&shares->lock, NULL);
    shares->at.folder_fd = -1;
    shares->file = file ? strdup(file) : NULL;
    enum err_code rc = file && !shares->file ? err_nomem(err) : ERR_OK;
    if (!rc && file)
        rc = read_file(shares, err);
    if (!rc)
        *out = shares;
    else
        shares_destroy(shares);
    return rc;
}

void shares_destroy(struct shares *shares)
{
    if (!shares)
        return;
    pthread_mutex_destroy(&shares->lock);
    if (shares->at.folder_fd >= 0)
        close(shares->at.folder_fd);
    free(shares->file);
    free(shares);
}

enum err_code shares_cookie(const char *token, char out[DIGEST_SECRET_LENGTH + 1],
                            struct err *err)
{
    char text[DIGEST_SECRET_LENGTH + 32];
    struct digest digest;
    const int length =
        snprintf(text, sizeof text, "pyrometer-cookie:%.*s", DIGEST_SECRET_LENGTH, token);
    const enum err_code rc = digest_make(text, (size_t)length, &digest, err);
    if (!rc)
        digest_format(&digest, out);
    return rc;
}

enum err_code shares_add(struct shares *shares, const char *name, uint64_t expires_at_ns,
                         const struct share_scope *shared, struct share *out,
                         char token_out[DIGEST_SECRET_LENGTH + 1], struct err *err)
{
    struct entry entry = { .share = { .created_at_ns = clock_wall_ns(),
                                      .expires_at_ns = expires_at_ns } };

    /* One line of the file, whatever it is called. */
    snprintf(entry.share.name, SHARES_MAX_NAME + 1, "%s", name);
    for (char *c = entry.share.name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';

    if (shared)
        entry.share.shared = *shared;
    set_over(&entry, entry.share.created_at_ns);

    char cookie[DIGEST_SECRET_LENGTH + 1];
    enum err_code rc = digest_secret(token_out, err);
    if (!rc)
        rc = shares_cookie(token_out, cookie, err);
    if (!rc)
        rc = digest_make(token_out, strlen(token_out), &entry.token, err);
    if (!rc)
        rc = digest_make(cookie, strlen(cookie), &entry.cookie, err);

    if (rc)
        return rc;
    pthread_mutex_lock(&shares->lock);

    drop_expired(shares);
    if (shares->count == SHARES_MAX) {
        rc = err_set(err, ERR_LIMIT, "there are %d shared links already: revoke one",
                     SHARES_MAX);
    } else {
        entry.share.id = ++shares->last_id;
        shares->entries[shares->count++] = entry;
        rc = keep_file(shares, err);
        if (rc)
            shares->count--;
    }

    pthread_mutex_unlock(&shares->lock);
    if (!rc)
        *out = entry.share;
    return rc;
}

/* A share is revoked at once, even if the file cannot be written. */
enum err_code shares_revoke(struct shares *shares, uint32_t id, struct err *err)
{
    enum err_code rc = ERR_NOT_FOUND;
    pthread_mutex_lock(&shares->lock);
    drop_expired(shares);
    for (size_t i = 0; i < shares->count && rc == ERR_NOT_FOUND; i++)
        if (shares->entries[i].share.id == id) {
            drop_entry(shares, i);
            rc = keep_file(shares, err);
        }
    pthread_mutex_unlock(&shares->lock);
    if (rc == ERR_NOT_FOUND)
        err_set(err, rc, "no shared link %" PRIu32, id);
    return rc;
}

size_t shares_list(struct shares *shares, struct share *out, size_t room)
{
    pthread_mutex_lock(&shares->lock);
    drop_expired(shares);
    const size_t count = shares->count;
    for (size_t i = 0; i < count && i < room; i++)
        out[i] = shares->entries[i].share;
    pthread_mutex_unlock(&shares->lock);
    return count;
}

/* All are compared, so that the time does not show how far the comparison came. */
static bool find_secret(struct shares *shares, const char *secret, size_t length,
                        bool is_cookie, struct share *out)
{
    struct digest digest;
    if (length != DIGEST_SECRET_LENGTH || digest_make(secret, length, &digest, NULL))
        return false;
    const uint64_t now_ns = clock_wall_ns();
    bool found = false;
    pthread_mutex_lock(&shares->lock);
    for (size_t i = 0; i < shares->count; i++) {
        struct entry *const entry = &shares->entries[i];
        if (!digest_equals(is_cookie ? &entry->cookie : &entry->token, &digest) ||
            is_over(entry, now_ns))
            continue;
        entry->share.last_used_at_ns = now_ns;
        *out = entry->share;
        found = true;
    }
    pthread_mutex_unlock(&shares->lock);
    return found;
}

bool shares_find_token(struct shares *shares, const char *token, size_t length,
                       struct share *out)
{
    return find_secret(shares, token, length, false, out);
}

bool shares_find_cookie(struct shares *shares, const char *cookie, size_t length,
                        struct share *out)
{
    return find_secret(shares, cookie, length, true, out);
}
