#include "sampler/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum err_code err_code_of_errno(int sys)
{
    switch (sys) {
    case 0: return ERR_OK;
    case ENOMEM: return ERR_NOMEM;
    case EPERM:
    case EACCES: return ERR_PERM;
    case ESRCH: return ERR_GONE;
    case EFAULT:
    case EIO: return ERR_FAULT;
    case ENOENT: return ERR_NOT_FOUND;
    case EINVAL: return ERR_INVALID;
    case ENOSYS: return ERR_UNSUPPORTED;
    default: return ERR_SYS;
    }
}

const char *err_text(enum err_code code)
{
    static const char *const text[] = {
#define X(code, text) text,
        ERR_CODES(X)
#undef X
    };
    return (unsigned)code < sizeof text / sizeof *text ? text[code] : "unknown error";
}

PRINTF_LIKE(4, 0)
static void set_text(struct err *err, enum err_code code, int sys, const char *format,
                     va_list args)
{
    err->code = code;
    err->sys = sys;
    vsnprintf(err->message, sizeof err->message, format, args);
}

enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    set_text(err, code, 0, format, args);
    va_end(args);
    return code;
}

enum err_code err_nomem(struct err *err)
{
    return err_set(err, ERR_NOMEM, "%s", err_text(ERR_NOMEM));
}

enum err_code err_sys(struct err *err, int sys, const char *format, ...)
{
    const enum err_code code = err_code_of_errno(sys);
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    set_text(err, code, sys, format, args);
    va_end(args);
    const size_t len = strlen(err->message);
    snprintf(err->message + len, sizeof err->message - len, ": %s", strerror(sys));
    return code;
}

enum err_code err_wrap(struct err *err, enum err_code code, const char *format, ...)
{
    if (!err)
        return code;
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    old[sizeof old - 1] = '\0';
    const int sys = err->sys;
    va_list args;
    va_start(args, format);
    set_text(err, code, sys, format, args);
    va_end(args);
    const size_t len = strlen(err->message);
    snprintf(err->message + len, sizeof err->message - len, ": %s", old);
    return code;
}
