#include "server/source/checkout.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "server/source/rooted_file.h"

enum { SHA1_DIGITS = 40, SHA256_DIGITS = 64 };

/* The first bytes of a file, as a text; false: it cannot be read. */
static bool read_start(int root, const char *path, char *text, size_t bytes)
{
    int fd = -1;
    if (rooted_file_open(root, path, &fd) != SOURCE_DONE)
        return false;
    const ssize_t length = channel_read(fd, text, bytes - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return true;
}

/* The first line of a file, which must fit. */
static bool read_line(int root, const char *path, char line[PATH_MAX])
{
    if (!read_start(root, path, line, PATH_MAX))
        return false;
    const size_t length = strcspn(line, "\n");
    const bool is_whole = line[length] == '\n' || length + 1 < PATH_MAX;
    line[length] = '\0';
    return is_whole;
}

static bool join_path(char out[PATH_MAX], const char *folder, const char *name)
{
    const int length = *name == '/' ? snprintf(out, PATH_MAX, "%s", name)
                                    : snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX;
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

static bool take_commit(const char *text, char out[SOURCE_COMMIT_BYTES])
{
    const size_t length = count_digits(text);
    if ((length != SHA1_DIGITS && length != SHA256_DIGITS) ||
        (text[length] && text[length] != ' ' && text[length] != '\n'))
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* A line of packed refs: "COMMIT refs/heads/main". */
static bool find_packed(int root, const char *path, const char *ref,
                        char out[SOURCE_COMMIT_BYTES])
{
    const size_t length = strlen(ref);
    char *const text = malloc(CHECKOUT_MAX_REFS);
    bool found = false;
    if (text && read_start(root, path, text, CHECKOUT_MAX_REFS))
        for (char *line = text, *next = line; !found && line && *line; line = next) {
            const char *const name = line + count_digits(line);
            next = strchr(line, '\n');
            found = *name == ' ' && strncmp(name + 1, ref, length) == 0 &&
                    (name[1 + length] == '\n' || !name[1 + length]) && take_commit(line, out);
            next = next ? next + 1 : NULL;
        }
    free(text);
    return found;
}

/* In a worktree, the branches are in another folder than HEAD. */
static bool find_common(int root, const char *folder, char out[PATH_MAX])
{
    char path[PATH_MAX], line[PATH_MAX];
    if (!join_path(path, folder, "commondir") || !read_line(root, path, line))
        return snprintf(out, PATH_MAX, "%s", folder) < PATH_MAX;
    return join_path(out, folder, line);
}

/* folder: of git's own files. */
static bool read_commit(int root, const char *folder, char out[SOURCE_COMMIT_BYTES])
{
    static const char is_ref[] = "ref: ";
    char path[PATH_MAX], head[PATH_MAX], common[PATH_MAX], line[PATH_MAX];
    if (!join_path(path, folder, "HEAD") || !read_line(root, path, head))
        return false;
    if (take_commit(head, out))
        return true;
    const char *const ref = head + strlen(is_ref);
    if (strncmp(head, is_ref, strlen(is_ref)) != 0 || strncmp(ref, "refs/", 5) != 0 ||
        strstr(ref, "..") || !find_common(root, folder, common))
        return false;
    if (join_path(path, common, ref) && read_line(root, path, line) && take_commit(line, out))
        return true;
    return join_path(path, common, "packed-refs") && find_packed(root, path, ref, out);
}

/* The folder of git's own files; false: `folder` is no checkout. */
static bool find_git(int root, const char *folder, char out[PATH_MAX])
{
    static const char is_link[] = "gitdir: ";
    char path[PATH_MAX], line[PATH_MAX];
    if (!join_path(out, folder, ".git"))
        return false;
    if (join_path(path, out, "HEAD") && read_start(root, path, line, sizeof line))
        return true;
    if (!read_line(root, out, line) || strncmp(line, is_link, strlen(is_link)) != 0)
        return false;
    return join_path(out, folder, line + strlen(is_link));
}

bool checkout_find(int root, const char *path, struct source_checkout *out)
{
    char folder[PATH_MAX], git[PATH_MAX];
    memset(out, 0, sizeof *out);
    if (!join_path(folder, "", path))
        return false;
    for (int depth = 0; depth < CHECKOUT_MAX_DEPTH; depth++) {
        char *const slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            return false;
        *slash = '\0';
        if (!find_git(root, folder, git))
            continue;
        const size_t length = strlen(folder);
        if (length >= sizeof out->root || !read_commit(root, git, out->commit))
            return false;
        memcpy(out->root, folder, length);
        return true;
    }
    return false;
}

bool checkout_is_valid(const struct source_checkout *checkout)
{
    char commit[SOURCE_COMMIT_BYTES];
    return checkout->root[0] == '/' && checkout->root[1] &&
           memchr(checkout->root, '\0', sizeof checkout->root) &&
           memchr(checkout->commit, '\0', sizeof checkout->commit) &&
           take_commit(checkout->commit, commit) && strlen(commit) == strlen(checkout->commit);
}
