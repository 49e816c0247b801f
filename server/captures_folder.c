#include "server/captures_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
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

enum err_code captures_folder_open(const char *wanted, char path_out[PATH_MAX], int *fd_out,
                                   struct err *err)
{
    enum err_code rc = ERR_OK;
    if (wanted)
        snprintf(path_out, PATH_MAX, "%s", wanted);
    else
        rc = usual_folder(path_out, err);
    if (rc == ERR_OK)
        rc = make_folder(path_out, err);
    if (rc != ERR_OK)
        return rc;
    SCOPED_FD int fd = open(path_out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot open the folder '%s'", path_out);
    if (faccessat(fd, ".", W_OK | X_OK, 0) != 0)
        return err_sys(err, errno, "cannot write into the folder '%s'", path_out);
    *fd_out = scoped_take_fd(&fd);
    return ERR_OK;
}

void captures_folder_renew(char path[PATH_MAX], int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_nlink > 0 || make_folder(path, NULL) != ERR_OK)
        return;
    SCOPED_FD int anew = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (anew >= 0)
        (void)dup3(anew, fd, O_CLOEXEC);
}
