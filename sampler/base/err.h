/*
 * err - what went wrong: a code for machines, a sentence for people.
 *
 * A fallible function returns an err_code (ERR_OK is 0) and takes a nullable struct err * last.
 * Hot paths pass NULL and pay nothing; cold paths pass one on the stack.  Reporting never
 * allocates.  On failure outputs are untouched, unless the function says otherwise; on success *err is
 * untouched.
 *
 * Remote failures are sorted into four: GONE (the process or thread ended), FAULT (its memory
 * is not mapped there), PERM (we may not), CORRUPT (what was read makes no sense).
 */
#ifndef SAMPLER_BASE_ERR_H
#define SAMPLER_BASE_ERR_H

#include <stdarg.h>

#define ERR_CODES(X)                \
    X(OK, "ok")                     \
    X(NOMEM, "out of memory")       \
    X(SYS, "system error")          \
    X(PERM, "not permitted")        \
    X(GONE, "gone")                 \
    X(FAULT, "not mapped")          \
    X(CORRUPT, "makes no sense")    \
    X(UNSUPPORTED, "not supported") \
    X(INVALID, "invalid")           \
    X(LIMIT, "over a limit")        \
    X(NOT_FOUND, "not found")       \
    X(NOT_PYTHON, "not a Python process")

enum err_code {
#define X(code, text) ERR_##code,
    ERR_CODES(X)
#undef X
};

struct err {
    enum err_code code;
    int sys; /* errno, 0: none */
    char message[320];
};

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* These return the code, so that failing is one statement. */
enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Maps errno to a code and appends strerror(sys). */
enum err_code err_sys(struct err *err, int sys, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts "what was being done: " before the message already there. */
enum err_code err_wrap(struct err *err, enum err_code code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* ERR_NOMEM, "out of memory".  What was being allocated helps nobody who reads it. */
enum err_code err_nomem(struct err *err);

/* "gone", "not mapped", ... */
const char *err_text(enum err_code code);

/* The code an errno stands for: ESRCH is GONE, EFAULT is FAULT, EPERM and EACCES are PERM. */
enum err_code err_code_of_errno(int sys);

#endif /* SAMPLER_BASE_ERR_H */
