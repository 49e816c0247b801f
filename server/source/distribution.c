#include "server/source/distribution.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "server/source/rooted_file.h"
#include "server/source/zip_member.h"

/* A folder with distributions, or one in an archive. */
struct site {
    int root;
    int archive;           /* -1: it is in none */
    size_t archive_length; /* of the path of the archive */
    char path[PATH_MAX];
    char *names[DISTRIBUTION_MAX];
    size_t count;
    bool is_listed; /* there is nothing else that may have installed files there */
    bool is_large;  /* there are more */
};

static bool ends_with(const char *text, const char *with)
{
    const size_t length = strlen(text), end = strlen(with);
    return length > end && strcmp(text + length - end, with) == 0;
}

/* Has an entry that may be metadata. An egg has no list of files that helps. */
static void add_entry(struct site *site, const char *name)
{
    if (ends_with(name, ".egg-info") || strcmp(name, "EGG-INFO") == 0)
        site->is_listed = false;
    if (!ends_with(name, ".dist-info"))
        return;
    site->is_large |= site->count == DISTRIBUTION_MAX;
    if (site->count < DISTRIBUTION_MAX && (site->names[site->count] = strdup(name)))
        site->count++;
}

/* MISSING: there is no such folder. */
static enum source_outcome read_folder(struct site *site)
{
    int fd = -1;
    const struct dirent *entry;
    const enum source_outcome outcome = rooted_file_open_folder(site->root, site->path, &fd);
    if (outcome != SOURCE_DONE)
        return outcome;
    DIR *const entries = fdopendir(fd);
    if (!entries) {
        close(fd);
        return SOURCE_FAILED;
    }
    while ((entry = readdir(entries)))
        add_entry(site, entry->d_name);
    closedir(entries);
    return SOURCE_DONE;
}

/* Every distribution of the folder has one file by this name; eggs have files in a folder of theirs. */
static void add_member(void *context, const char *name, size_t length)
{
    static const char is_one[] = "/METADATA";
    struct site *const site = context;
    const char *const folder = site->path + site->archive_length;
    const size_t begin = strlen(folder); /* the slash before it stands for the one behind it */
    const char *const rest = name + begin;
    char entry[NAME_MAX + 1];
    if (length <= begin ||
        (begin > 0 && (memcmp(name, folder + 1, begin - 1) != 0 || name[begin - 1] != '/')))
        return;
    const char *const slash = memchr(rest, '/', length - begin);
    if (!slash || slash - rest > NAME_MAX)
        return;
    snprintf(entry, sizeof entry, "%.*s", (int)(slash - rest), rest);
    if (!ends_with(entry, ".dist-info") || (length - (size_t)(slash - name) == strlen(is_one) &&
                                            memcmp(slash, is_one, strlen(is_one)) == 0))
        add_entry(site, entry);
}

/* The file in a folder of metadata, as a text; NULL: there is none, or it is too large. */
static char *read_metadata(const struct site *site, const char *distribution, const char *name,
                           size_t *bytes_left)
{
    char path[PATH_MAX];
    int file = -1;
    size_t length = 0;
    ssize_t got = 1;
    char *text = NULL;
    const int needed = snprintf(path, sizeof path, "%s/%s/%s", site->path, distribution, name);
    if (needed < 0 || (size_t)needed >= sizeof path)
        return NULL;
    if (site->archive >= 0) {
        if (zip_member_read(site->archive, path + site->archive_length + 1, &text, &length) !=
            SOURCE_DONE)
            return NULL;
        got = 0;
    } else if (rooted_file_open(site->root, path, &file) != SOURCE_DONE) {
        return NULL;
    } else {
        text = malloc(SOURCE_MAX_BYTES + 1);
        while (text && got > 0 && length < SOURCE_MAX_BYTES) {
            got = read(file, text + length, SOURCE_MAX_BYTES - length);
            length += got > 0 ? (size_t)got : 0;
        }
        close(file);
    }
    if (!text || got != 0 || length > *bytes_left) {
        free(text);
        return NULL;
    }
    *bytes_left -= length;
    text[length] = '\0';
    return text;
}

/* Is the file the first field of a line? It is in quotes if it has a comma.  is_shared: another is, in its folder or below. */
static bool lists_file(const char *list, const char *file, bool *is_shared)
{
    const char *const slash = strrchr(file, '/');
    const size_t length = strlen(file), folder = slash ? (size_t)(slash - file) + 1 : length;
    for (const char *line = list; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *const name = line + (*line == '"');
        if (strncmp(name, file, length) == 0 &&
            (name[length] == ',' || (*line == '"' && name[length] == '"')))
            return true;
        *is_shared |= slash && strncmp(name, file, folder) == 0;
    }
    return false;
}

/* "My.Pkg-1.0.dist-info" is likely to have the file "my_pkg/core.py". */
static bool is_likely(const char *distribution, const char *file)
{
    const size_t length = strcspn(file, "/.");
    for (size_t i = 0; i < length; i++) {
        const bool is_mark = distribution[i] && strchr("-_.", distribution[i]);
        if (is_mark
                ? file[i] != '_' && file[i] != '-'
                : tolower((unsigned char)distribution[i]) != tolower((unsigned char)file[i]))
            return false;
    }
    return true;
}

/* True if a distribution was installed from a folder: {"url": "file:///srv/shop", "dir_info":
 * {}}. */
static bool is_of_folder(const struct site *site, const char *distribution)
{
    size_t bytes_left = SOURCE_MAX_BYTES;
    SCOPED_FREE char *text = read_metadata(site, distribution, "direct_url.json", &bytes_left);
    return text && strstr(text, "\"dir_info\"");
}

/* Asks the likely ones first.  is_shared: a distribution lists others of the folder of a file that none lists. */
static enum source_owner find_owner(const struct site *site, const char *file, bool *is_shared)
{
    const uint64_t end_ns = clock_now_ns() + DISTRIBUTION_MAX_MS * NS_PER_MS;
    size_t bytes_left = DISTRIBUTION_MAX_BYTES;
    bool is_listed = site->is_listed && !site->is_large;
    for (int likely = 1; likely >= 0; likely--)
        for (size_t i = 0; i < site->count; i++) {
            const char *const name = site->names[i];
            if (is_likely(name, file) != likely)
                continue;
            if (clock_now_ns() > end_ns)
                return SOURCE_OF_UNKNOWN;
            SCOPED_FREE char *list = read_metadata(site, name, "RECORD", &bytes_left);
            is_listed &= list != NULL;
            if (!list || !lists_file(list, file, is_shared))
                continue;
            *is_shared = false;
            return is_of_folder(site, name) ? SOURCE_OF_PROJECT : SOURCE_OF_PACKAGE;
        }
    return is_listed ? SOURCE_OF_PROJECT : SOURCE_OF_UNKNOWN;
}

/* conda installs files that only its own metadata list. */
static bool is_of_conda(const struct site *site)
{
    char metadata[PATH_MAX];
    int fd = -1;
    const int length =
        snprintf(metadata, sizeof metadata, "%s/../../../conda-meta", site->path);
    if (length < 0 || (size_t)length >= sizeof metadata ||
        rooted_file_open_folder(site->root, metadata, &fd) != SOURCE_DONE)
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

/* Judges a file by the metadata of a folder above it. */
static void judge_file(struct site *site, const char *path, struct source_distribution *out)
{
    const size_t folder_length = (size_t)(strrchr(path, '/') - path);
    const size_t length = strlen(site->path);
    bool is_shared = false;
    site->is_listed &= site->archive >= 0 || !is_of_conda(site);
    *out = (struct source_distribution){
        .owner = find_owner(site, path + length + 1, &is_shared),
        .root_length = (uint32_t)length,
    };
    out->has_folder = !is_shared && site->archive < 0 && length < folder_length &&
                      is_package(site->root, path, folder_length);
}

/* Shortens a path by its last part; false: it has no other. */
static bool go_up(char *path)
{
    char *const slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* Finds the file's distribution in an archive, whose path the site has. */
static void find_in_archive(struct site *site, const char *path,
                            struct source_distribution *out)
{
    if (rooted_file_open(site->root, site->path, &site->archive) != SOURCE_DONE)
        return;
    site->archive_length = strlen(site->path);
    snprintf(site->path, sizeof site->path, "%s", path);
    for (int depth = 0; depth < DISTRIBUTION_MAX_DEPTH && go_up(site->path) &&
                        strlen(site->path) >= site->archive_length;
         depth++) {
        if (zip_member_list(site->archive, add_member, site) != SOURCE_DONE)
            break;
        if (site->count > 0 || !site->is_listed) {
            judge_file(site, path, out);
            break;
        }
    }
    close(site->archive);
}

void distribution_find(int root, const char *path, struct source_distribution *out)
{
    static struct site site;
    *out = (struct source_distribution){ .owner = SOURCE_OF_UNKNOWN, .has_folder = true };
    site = (struct site){ .root = root, .archive = -1, .is_listed = true };
    if (snprintf(site.path, sizeof site.path, "%s", path) >= (int)sizeof site.path)
        return;
    for (int depth = 0; depth < DISTRIBUTION_MAX_DEPTH && go_up(site.path); depth++) {
        const enum source_outcome outcome = read_folder(&site);
        if (outcome == SOURCE_MISSING)
            continue;
        if (outcome == SOURCE_NOT_REGULAR)
            find_in_archive(&site, path, out);
        else if (outcome == SOURCE_DONE && (site.count > 0 || !site.is_listed))
            judge_file(&site, path, out);
        else if (outcome == SOURCE_DONE)
            continue;
        break;
    }
    for (size_t i = 0; i < site.count; i++)
        free(site.names[i]);
    site.count = 0;
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
