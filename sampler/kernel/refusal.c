#define _GNU_SOURCE
#include "sampler/kernel/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LINE_BYTES = 160 };
/* The types of the kernel's structures, by which the program finds their fields. */
static const char *const TYPES_FILE = "/sys/kernel/btf/vmlinux";

static __thread char first[LINE_BYTES], verdict[LINE_BYTES];

void refusal_forget(void)
{
    *first = *verdict = '\0';
}

static void copy_line(char out[LINE_BYTES], const char *line)
{
    snprintf(out, LINE_BYTES, "%.*s", (int)strcspn(line, "\n"), line);
}

void refusal_note(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    if (!*first)
        copy_line(first, text);
    if (!*verdict) {
        /* The log ends with "processed 34 insns (limit ...) ...". */
        const char *line = text, *last = NULL;
        for (const char *next; *line && strncmp(line, "processed ", 10) != 0; line = next) {
            next = line + strcspn(line, "\n");
            next += *next == '\n';
            last = line;
        }
        if (*line && last)
            copy_line(verdict, last);
    }
    free(text);
}

bool refusal_is_too_old(const char *release)
{
    enum { OLDEST_MAJOR = 5, OLDEST_MINOR = 19 };
    unsigned major, minor;
    return sscanf(release, "%u.%u", &major, &minor) == 2 &&
           (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR));
}

enum err_code refusal_explain(struct err *err, int sys, const char *what)
{
    const char *const why = *verdict ? verdict : *first ? first : strerror(sys);
    struct utsname system;
    if (sys == EMFILE || sys == ENFILE)
        return err_set(
            err, ERR_UNSUPPORTED,
            "too many open files for the kernel engine: raise the limit (ulimit -n)");
    if ((*verdict || sys == EINVAL) && uname(&system) == 0 &&
        refusal_is_too_old(system.release))
        return err_set(err, ERR_UNSUPPORTED,
                       "Linux %.40s is too old for the kernel engine, which needs 5.19: %s",
                       system.release, why);
    /* The call is there on every kernel, and in lockdown on none. */
    if (strstr(verdict, "bpf_probe_read"))
        return err_set(
            err, ERR_UNSUPPORTED,
            "this kernel is in lockdown (confidentiality), where the kernel engine may "
            "not read memory: %s",
            verdict);
    if (*verdict)
        return err_set(err, ERR_UNSUPPORTED,
                       "the verifier of this kernel refuses %s of the kernel engine: %s", what,
                       verdict);
    if (sys == EPERM || sys == EACCES)
        return err_set(err, ERR_PERM,
                       "the kernel refuses %s: the kernel engine needs CAP_BPF and CAP_PERFMON",
                       what);
    if (access(TYPES_FILE, F_OK))
        return err_set(
            err, ERR_UNSUPPORTED,
            "the kernel engine needs the type information of the kernel, and %s is not "
            "here: the kernel was built without CONFIG_DEBUG_INFO_BTF, or hides it",
            TYPES_FILE);
    return err_set(err, ERR_UNSUPPORTED, "this kernel cannot run the kernel engine: %s: %s",
                   what, why);
}
