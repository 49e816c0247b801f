#include "server/access/logins.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"

struct login {
    bool is_used;
    uint32_t number;
    bool has_old;
    struct digest cookie, old;
    uint64_t began_ns, changed_ns, last_ns;
    uint64_t seen_ns; /* when the cookie came back for the first time; 0: not yet */
};

struct logins {
    pthread_mutex_t lock;
    uint32_t numbers; /* given so far */
    struct login items[LOGINS_MAX];
};

enum err_code logins_create(struct logins **out, struct err *err)
{
    struct logins *const logins = calloc(1, sizeof *logins);
    if (!logins)
        return err_nomem(err);
    pthread_mutex_init(&logins->lock, NULL);
    *out = logins;
    return ERR_OK;
}

void logins_destroy(struct logins *logins)
{
    if (!logins)
        return;
    pthread_mutex_destroy(&logins->lock);
    free(logins);
}

/* Requests read the clock before they take the lock, so one may be later than now. */
static uint64_t time_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

static bool is_over(const struct login *login, uint64_t now_ns)
{
    return time_since(login->last_ns, now_ns) >= LOGINS_IDLE_S * NS_PER_S ||
           time_since(login->began_ns, now_ns) >= LOGINS_LIFE_S * NS_PER_S;
}

static bool is_old_good(const struct login *login, uint64_t now_ns)
{
    return login->has_old && (login->seen_ns == 0 ||
                              time_since(login->seen_ns, now_ns) < LOGINS_OVERLAP_S * NS_PER_S);
}

/* All are compared, so that the time does not show how far the comparison came. */
static struct login *find_login(struct logins *logins, const struct digest *digest,
                                uint64_t now_ns, bool *is_old_out)
{
    struct login *found = NULL;
    for (size_t i = 0; i < LOGINS_MAX; i++) {
        struct login *const login = &logins->items[i];
        const bool is_new = digest_equals(&login->cookie, digest);
        const bool is_old = digest_equals(&login->old, digest) && is_old_good(login, now_ns);
        if (!login->is_used || is_over(login, now_ns) || (!is_new && !is_old))
            continue;
        found = login;
        *is_old_out = !is_new;
    }
    return found;
}

static bool read_cookie(const char *cookie, size_t length, struct digest *out)
{
    return length == DIGEST_SECRET_LENGTH && !digest_make(cookie, length, out, NULL);
}

/* A free place, one that is over, or that of the login not used for longest. */
static struct login *make_room(struct logins *logins, uint64_t now_ns)
{
    struct login *oldest = &logins->items[0];
    for (size_t i = 0; i < LOGINS_MAX; i++) {
        struct login *const login = &logins->items[i];
        if (!login->is_used || is_over(login, now_ns))
            return login;
        if (login->last_ns < oldest->last_ns)
            oldest = login;
    }
    return oldest;
}

static enum err_code make_cookie(char out[DIGEST_SECRET_LENGTH + 1], struct digest *digest,
                                 struct err *err)
{
    const enum err_code rc = digest_secret(out, err);
    return rc ? rc : digest_make(out, DIGEST_SECRET_LENGTH, digest, err);
}

enum err_code logins_add(struct logins *logins, uint64_t now_ns,
                         char cookie_out[DIGEST_SECRET_LENGTH + 1], struct err *err)
{
    struct login login = {
        .is_used = true, .began_ns = now_ns, .changed_ns = now_ns, .last_ns = now_ns
    };
    const enum err_code rc = make_cookie(cookie_out, &login.cookie, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&logins->lock);
    login.number = ++logins->numbers;
    *make_room(logins, now_ns) = login;
    pthread_mutex_unlock(&logins->lock);
    return ERR_OK;
}

uint32_t logins_find(struct logins *logins, const char *cookie, size_t length, uint64_t now_ns)
{
    struct digest digest;
    bool is_old = false;
    uint32_t number = 0;
    if (!read_cookie(cookie, length, &digest))
        return 0;
    pthread_mutex_lock(&logins->lock);
    struct login *const login = find_login(logins, &digest, now_ns, &is_old);
    if (login) {
        login->last_ns += time_since(login->last_ns, now_ns);
        if (!is_old && login->seen_ns == 0)
            login->seen_ns = now_ns;
        number = login->number;
    }
    pthread_mutex_unlock(&logins->lock);
    return number;
}

/* The old cookie comes back, and nobody has seen the new one: its answer may be lost. */
static bool is_due(const struct login *login, bool is_old, uint64_t now_ns)
{
    const uint64_t age_ns = time_since(login->changed_ns, now_ns);
    return is_old ? login->seen_ns == 0 && age_ns >= LOGINS_OVERLAP_S * NS_PER_S
                  : age_ns >= LOGINS_CHANGE_S * NS_PER_S;
}

bool logins_change(struct logins *logins, const char *cookie, size_t length, uint64_t now_ns,
                   char cookie_out[DIGEST_SECRET_LENGTH + 1])
{
    struct digest digest;
    bool is_old = false, is_changed = false;
    if (!read_cookie(cookie, length, &digest))
        return false;
    pthread_mutex_lock(&logins->lock);
    struct login *const login = find_login(logins, &digest, now_ns, &is_old);
    struct digest made;
    if (login && is_due(login, is_old, now_ns) && !make_cookie(cookie_out, &made, NULL)) {
        login->old = digest;
        login->has_old = true;
        login->cookie = made;
        login->changed_ns = now_ns;
        login->seen_ns = 0;
        is_changed = true;
    }
    pthread_mutex_unlock(&logins->lock);
    return is_changed;
}

void logins_end(struct logins *logins, const char *cookie, size_t length, uint64_t now_ns)
{
    struct digest digest;
    bool is_old = false;
    if (!read_cookie(cookie, length, &digest))
        return;
    pthread_mutex_lock(&logins->lock);
    struct login *const login = find_login(logins, &digest, now_ns, &is_old);
    if (login)
        memset(login, 0, sizeof *login);
    pthread_mutex_unlock(&logins->lock);
}
