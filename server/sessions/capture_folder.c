#include "server/sessions/capture_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/trusted_path.h"
#include "sampler/capture/format.h"

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

bool captures_file_of(const char *name, char out[CAPTURES_FILE_BYTES])
{
    if (!is_name(name, strlen(name)))
        return false;
    snprintf(out, CAPTURES_FILE_BYTES, "%.*s.%s", CAPTURES_NAME_BYTES - 1, name,
             CAPTURE_EXTENSION);
    return true;
}

bool captures_name_of(const char *file, char out[CAPTURES_NAME_BYTES])
{
    const char *const dot = strrchr(file, '.');
    if (!dot || strcmp(dot + 1, CAPTURE_EXTENSION) != 0 || !is_name(file, (size_t)(dot - file)))
        return false;
    snprintf(out, CAPTURES_NAME_BYTES, "%.*s", (int)(dot - file), file);
    return true;
}

enum err_code captures_folder_make(const char *wanted, char path_out[PATH_MAX], struct err *err)
{
    const char *const state = getenv("XDG_STATE_HOME");
    const char *const home = getenv("HOME");
    if (wanted)
        snprintf(path_out, PATH_MAX, "%s", wanted);
    else if (state && *state == '/')
        snprintf(path_out, PATH_MAX, "%s/pyrometer", state);
    else if (geteuid() == 0)
        snprintf(path_out, PATH_MAX, "%s", CAPTURES_HOST_FOLDER);
    else if (home && *home == '/')
        snprintf(path_out, PATH_MAX, "%s/.local/state/pyrometer", home);
    else
        return err_set(err, ERR_INVALID, "no home directory: use --data DIR");

    /* The folders above it first. */
    struct err why = { 0 };
    for (char *at = strchr(path_out + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        const enum err_code rc = trusted_path_make_folder(path_out, 0700, &why);
        *at = '/';
        if (rc && why.sys != EEXIST && why.sys != EROFS && why.sys != EACCES)
            return err_set(err, rc, "cannot create the folder '%s': %s", path_out, why.message);
    }
    if (trusted_path_make_folder(path_out, 0700, &why) && why.sys != EEXIST)
        return err_set(err, why.code, "cannot create the folder '%s': %s", path_out,
                       why.message);
    return ERR_OK;
}

enum err_code captures_folder_open(struct captures_folder *folder, const char *wanted,
                                   struct err *err)
{
    *folder = (struct captures_folder){ .fd = -1, .above_fd = -1 };
    enum err_code rc = captures_folder_make(wanted, folder->path, err);
    if (rc)
        return rc;
    rc = trusted_path_open(folder->path, O_RDONLY | O_DIRECTORY, 0, &folder->fd, err);
    if (rc)
        return err_wrap(err, rc, "cannot open the folder '%s'", folder->path);
    if (faccessat(folder->fd, ".", W_OK | X_OK, 0) != 0)
        return err_sys(err, errno, "cannot write into the folder '%s'", folder->path);
    folder->files = files_in(folder->fd);

    /* The real path of the folder, whatever links lead to it. */
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder->fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return err_sys(err, errno, "cannot find the folder '%s'", folder->path);
    path[length] = '\0';
    const char *const slash = strrchr(path, '/');
    snprintf(folder->name, sizeof folder->name, "%.*s", NAME_MAX, slash ? slash + 1 : path);
    folder->above_fd = openat(folder->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder->above_fd < 0
               ? err_sys(err, errno, "cannot open the parent of the folder '%s'", folder->path)
               : ERR_OK;
}

void captures_folder_close(struct captures_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    if (folder->above_fd >= 0)
        close(folder->above_fd);
    folder->fd = folder->above_fd = -1;
}

enum err_code captures_folder_renew(struct captures_folder *folder, struct err *err)
{
    struct stat st;
    if (fstat(folder->fd, &st) != 0 || st.st_nlink > 0)
        return ERR_OK;
    const uid_t owner = st.st_uid;
    if (mkdirat(folder->above_fd, folder->name, 0700) != 0 && errno != EEXIST)
        return err_sys(
            err, errno,
            "restart the server: its data folder was removed and cannot be created again");
    SCOPED_FD int reopened =
        openat(folder->above_fd, folder->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (reopened < 0 || fstat(reopened, &st) != 0 ||
        (st.st_uid != owner && st.st_uid != geteuid()))
        return err_set(err, ERR_PERM,
                       "the folder was replaced by one of another user or a link: '%.200s'",
                       folder->path);
    (void)dup3(reopened, folder->fd, O_CLOEXEC);
    return ERR_OK;
}
