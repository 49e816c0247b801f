#include "sampler/profile/packages.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"

void packages_deinit(struct packages *packages)
{
    for (uint32_t i = 0; i < packages->count; i++) {
        free(packages->rows[i].path);
        free(packages->rows[i].package);
    }
    packages->count = 0;
}

uint32_t packages_count(const struct packages *packages)
{
    return __atomic_load_n(&packages->count, __ATOMIC_ACQUIRE);
}

static const struct packages_row *find_row(const struct packages *packages, const char *path,
                                           size_t length)
{
    const uint32_t count = packages_count(packages);
    const uint64_t hash = count ? hash_bytes(path, length, HASH_SEED) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct packages_row *const row = &packages->rows[i];
        if (row->hash == hash && strncmp(row->path, path, length) == 0 && !row->path[length])
            return row;
    }
    return NULL;
}

enum err_code packages_add(struct packages *packages, const char *path, const char *package,
                           struct err *err)
{
    const size_t length = strlen(path);
    if (*path != '/' || length >= PATH_MAX || strlen(package) > PACKAGES_MAX_NAME ||
        strchr(package, '/'))
        return err_set(err, ERR_INVALID, "the package of a file is invalid");
    if (find_row(packages, path, length))
        return ERR_OK;
    if (packages->count == PACKAGES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d files have a package", PACKAGES_MAX);
    struct packages_row row = { hash_bytes(path, length, HASH_SEED), strdup(path),
                                strdup(package) };
    if (!row.path || !row.package) {
        free(row.path);
        free(row.package);
        return err_nomem(err);
    }
    packages->rows[packages->count] = row;
    __atomic_store_n(&packages->count, packages->count + 1, __ATOMIC_RELEASE);
    return ERR_OK;
}

uint32_t packages_list(const struct packages *packages, const char **paths, const char **names)
{
    const uint32_t count = packages_count(packages);
    for (uint32_t i = 0; i < count; i++) {
        paths[i] = packages->rows[i].path;
        names[i] = packages->rows[i].package;
    }
    return count;
}

const struct packages_row *packages_row_of(const struct packages *packages, const char *file)
{
    const char *const slash = strrchr(file, '/');
    const struct packages_row *const row = find_row(packages, file, strlen(file));
    return row || !slash ? row : find_row(packages, file, (size_t)(slash - file));
}

const char *packages_find(const struct packages *packages, const char *file)
{
    const struct packages_row *const row = packages_row_of(packages, file);
    return row ? row->package : NULL;
}
