#include "server/source/distribution.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "server/source/rooted_file.h"

/* The distributions of a folder. */
struct folder {
    char *names[DISTRIBUTION_MAX];
    size_t count;
    bool is_listed; /* there is nothing else that may have installed files there */
};

static void folder_deinit(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->names[i]);
}

static bool ends_with(const char *text, const char *with)
{
    const size_t length = strlen(text), end = strlen(with);
    return length > end && strcmp(text + length - end, with) == 0;
}

/* An egg has no list of files that helps. */
static bool is_egg(const char *name)
{
    return ends_with(name, ".egg-info") || strcmp(name, "EGG-INFO") == 0;
}

/* MISSING: there is no such folder. */
static enum source_outcome read_folder(int root, const char *path, struct folder *out)
{
    int fd = -1;
    const struct dirent *entry;
    enum source_outcome outcome = rooted_file_open_folder(root, path, &fd);
    *out = (struct folder){ .is_listed = true };
    if (outcome != SOURCE_DONE)
        return outcome;
    DIR *const entries = fdopendir(fd);
    if (!entries) {
        close(fd);
        return SOURCE_FAILED;
    }
    while (outcome == SOURCE_DONE && (entry = readdir(entries))) {
        out->is_listed &= !is_egg(entry->d_name);
        if (!ends_with(entry->d_name, ".dist-info"))
            continue;
        if (out->count == DISTRIBUTION_MAX || !(out->names[out->count] = strdup(entry->d_name)))
            outcome = SOURCE_FAILED;
        else
            out->count++;
    }
    closedir(entries);
    return outcome;
}

/* The file in a folder of metadata, as a text; NULL: there is none, or it is too large. */
static char *read_metadata(int root, const char *folder, const char *distribution,
                           const char *name, size_t *bytes_left)
{
    char path[PATH_MAX];
    int file = -1;
    size_t length = 0;
    ssize_t got = 1;
    const int needed = snprintf(path, sizeof path, "%s/%s/%s", folder, distribution, name);
    if (needed < 0 || (size_t)needed >= sizeof path ||
        rooted_file_open(root, path, &file) != SOURCE_DONE)
        return NULL;
    SCOPED_FD int fd = file;
    char *const text = malloc(DISTRIBUTION_MAX_LIST_BYTES + 1);
    while (text && got > 0 && length < DISTRIBUTION_MAX_LIST_BYTES) {
        got = read(fd, text + length, DISTRIBUTION_MAX_LIST_BYTES - length);
        length += got > 0 ? (size_t)got : 0;
    }
    if (!text || got != 0 || length > *bytes_left) {
        free(text);
        return NULL;
    }
    *bytes_left -= length;
    text[length] = '\0';
    return text;
}

/* Is the file the first field of a line? It is in quotes if it has a comma. */
static bool lists(const char *list, const char *file)
{
    const size_t length = strlen(file);
    for (const char *line = list; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *const name = line + (*line == '"');
        if (strncmp(name, file, length) == 0 &&
            (name[length] == ',' || (*line == '"' && name[length] == '"')))
            return true;
    }
    return false;
}

/* "My.Pkg-1.0.dist-info" is likely to have the file "my_pkg/core.py". */
static bool is_likely(const char *distribution, const char *file)
{
    const size_t length = strcspn(file, "/.");
    for (size_t i = 0; i < length; i++) {
        const bool is_mark = strchr("-_.", distribution[i]) != NULL;
        if (is_mark
                ? file[i] != '_' && file[i] != '-'
                : tolower((unsigned char)distribution[i]) != tolower((unsigned char)file[i]))
            return false;
    }
    return true;
}

/* What a distribution was installed from: {"url": "file:///srv/shop", "dir_info": {}}. */
static bool is_of_folder(int root, const char *folder, const char *distribution)
{
    size_t bytes_left = DISTRIBUTION_MAX_LIST_BYTES;
    SCOPED_FREE char *text =
        read_metadata(root, folder, distribution, "direct_url.json", &bytes_left);
    return text && strstr(text, "\"dir_info\"");
}

/* Asks the likely ones first. */
static enum source_owner find_owner(int root, const char *path, const struct folder *folder,
                                    const char *file)
{
    size_t bytes_left = DISTRIBUTION_MAX_BYTES;
    bool is_listed = folder->is_listed;
    for (int likely = 1; likely >= 0; likely--)
        for (size_t i = 0; i < folder->count; i++) {
            const char *const name = folder->names[i];
            if (is_likely(name, file) != likely)
                continue;
            SCOPED_FREE char *list = read_metadata(root, path, name, "RECORD", &bytes_left);
            is_listed &= list != NULL;
            if (list && lists(list, file))
                return is_of_folder(root, path, name) ? SOURCE_OF_PROJECT : SOURCE_OF_PACKAGE;
        }
    return is_listed ? SOURCE_OF_PROJECT : SOURCE_OF_UNKNOWN;
}

/* conda installs files that only its own metadata list. */
static bool is_of_conda(int root, const char *path)
{
    char metadata[PATH_MAX];
    int fd = -1;
    const int length = snprintf(metadata, sizeof metadata, "%s/../../../conda-meta", path);
    if (length < 0 || (size_t)length >= sizeof metadata ||
        rooted_file_open_folder(root, metadata, &fd) != SOURCE_DONE)
        return false;
    close(fd);
    return true;
}

/* A folder with __init__.py is of one distribution; one without may be a namespace of several. */
static bool is_package(int root, const char *path, size_t folder_length)
{
    char init[PATH_MAX];
    int fd = -1;
    const int length =
        snprintf(init, sizeof init, "%.*s/__init__.py", (int)folder_length, path);
    if (length < 0 || (size_t)length >= sizeof init ||
        rooted_file_open(root, init, &fd) != SOURCE_DONE)
        return false;
    close(fd);
    return true;
}

/* What the metadata of a folder say of a file below it. */
static struct source_distribution judge(int root, const char *path, size_t root_length,
                                        struct folder *folder)
{
    char above[PATH_MAX];
    const size_t folder_length = (size_t)(strrchr(path, '/') - path);
    snprintf(above, sizeof above, "%.*s", (int)root_length, path);
    folder->is_listed &= !is_of_conda(root, above);
    return (struct source_distribution){
        .owner = find_owner(root, above, folder, path + root_length + 1),
        .root_length = (uint32_t)root_length,
        .has_folder = root_length < folder_length && is_package(root, path, folder_length),
    };
}

void distribution_find(int root, const char *path, struct source_distribution *out)
{
    char above[PATH_MAX];
    size_t length = strlen(path);
    *out = (struct source_distribution){ SOURCE_OF_UNKNOWN };
    if (length >= sizeof above)
        return;
    memcpy(above, path, length + 1);
    for (int depth = 0; depth < DISTRIBUTION_MAX_DEPTH; depth++) {
        struct folder folder;
        const char *const slash = strrchr(above, '/');
        length = slash ? (size_t)(slash - above) : 0;
        if (length == 0)
            return;
        above[length] = '\0';
        const enum source_outcome outcome = read_folder(root, above, &folder);
        const bool has_metadata = folder.count > 0 || !folder.is_listed;
        if (outcome == SOURCE_DONE && has_metadata)
            *out = judge(root, path, length, &folder);
        folder_deinit(&folder);
        if (has_metadata || (outcome != SOURCE_DONE && outcome != SOURCE_MISSING))
            return;
    }
}

bool distribution_is_valid(const struct source_distribution *distribution, const char *path)
{
    const size_t length = strlen(path);
    return distribution->owner == SOURCE_OF_UNKNOWN ||
           (distribution->owner <= SOURCE_OF_PACKAGE && distribution->root_length > 0 &&
            distribution->root_length < length && path[distribution->root_length] == '/' &&
            path[distribution->root_length + 1] && path[distribution->root_length + 1] != '/' &&
            distribution->has_folder <= 1);
}
