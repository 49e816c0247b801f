#include "sampler/base/memory_group.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A limit that nobody reaches is none: version 1 has a number where version 2 has "max". */
#define NO_LIMIT (UINT64_MAX / 4)

static const struct version {
    const char *controller; /* in the line of the group: "0::/path", "4:memory:/path" */
    const char *folder;     /* below the folder of all */
    const char *limit;
} versions[MEMORY_GROUP_VERSIONS] = {
    [MEMORY_GROUP_2] = { "", "", "memory.max" },
    [MEMORY_GROUP_1] = { "memory", "/memory", "memory.limit_in_bytes" },
};

/* 0: none. */
static uint64_t read_limit(const char *folder, const struct version *version)
{
    char path[PATH_MAX], text[64];
    ssize_t bytes = 0;
    const int length = snprintf(path, sizeof path, "%s/%s", folder, version->limit);
    const int fd = length > 0 && (size_t)length < sizeof path
                       ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
                       : -1;
    if (fd >= 0) {
        bytes = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    const uint64_t limit = *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
    return limit < NO_LIMIT ? limit : 0;
}

/* A path that leads out of what this process sees of the groups: it names another folder here. */
static bool leads_out(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (at[3] == '/' || at[3] == '\0')
            return true;
    return false;
}

/* Is the controller in the list "cpu,memory"? */
static bool has_controller(const char *list, size_t length, const char *controller)
{
    const size_t bytes = strlen(controller);
    if (bytes == 0)
        return length == 0;
    for (size_t at = 0; at < length; at += strcspn(list + at, ",:") + 1)
        if (strcspn(list + at, ",:") == bytes && memcmp(list + at, controller, bytes) == 0)
            return true;
    return false;
}

/* The path behind "NUMBER:CONTROLLERS:"; NULL: the line is of another version. */
static char *find_path(char *line, const struct version *version)
{
    char *const list = strchr(line, ':');
    char *const end = list ? strchr(list + 1, ':') : NULL;
    return end && has_controller(list + 1, (size_t)(end - list - 1), version->controller)
               ? end + 1
               : NULL;
}

static void find_limit(const char *folder, enum memory_group_version number, char *path,
                       struct memory_group *out)
{
    const struct version *const version = &versions[number];
    char whole[PATH_MAX];
    for (;;) {
        const int length =
            snprintf(whole, sizeof whole, "%s%s%s", folder, version->folder, path);
        const uint64_t limit =
            length > 0 && (size_t)length < sizeof whole ? read_limit(whole, version) : 0;
        if (limit > 0 && (out->limit == 0 || limit < out->limit)) {
            out->limit = limit;
            out->version = number;
            memcpy(out->folder, whole, sizeof whole);
        }
        char *const end = strrchr(path, '/');
        if (!end)
            return;
        *end = '\0';
    }
}

void memory_group_find(const char *folder, const char *of, struct memory_group *out)
{
    char line[PATH_MAX];
    FILE *const file = fopen(of, "re");
    out->limit = 0;
    *out->folder = '\0';
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        for (unsigned i = 0; i < MEMORY_GROUP_VERSIONS; i++) {
            char *const path = find_path(line, &versions[i]);
            if (path && !leads_out(path))
                find_limit(folder, (enum memory_group_version)i, path, out);
        }
    }
    if (file)
        fclose(file);
}
