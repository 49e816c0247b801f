/*
 * code_origin - where code comes from, as the path of its file says, if nothing better is known (packages.h).
 *
 *     synthetic   a mark such as <GC>
 *     package     below site-packages or dist-packages, in a wheel or an egg, or what unpacks and starts a pex or a shiv
 *     standard    Python's own library, frozen modules included
 *     system      native code below lib or lib64 of /, /usr or /usr/local
 *     own         everything else
 *
 * The page has the same rules (web/model/profile/frames.js); tests/origins.json holds cases for both.
 *
 * Ownership: the name points into the path, or into what is known.
 * Threads: any.
 */
#ifndef SAMPLER_PROFILE_VIEWS_CODE_ORIGIN_H
#define SAMPLER_PROFILE_VIEWS_CODE_ORIGIN_H

#include <stddef.h>

struct packages;

enum code_origin_kind { CODE_SYNTHETIC, CODE_PACKAGE, CODE_STANDARD, CODE_SYSTEM, CODE_OWN };

struct code_origin {
    enum code_origin_kind kind;
    const char *
        name; /* what code of a package has in common: the folder or module at its top; otherwise the file */
    size_t length; /* of the name */
};

/* packages: NULL: none are known.  library: the path; NULL: not native code. */
struct code_origin code_origin_of(const struct packages *packages, const char *name,
                                  const char *file, const char *library);

#endif /* SAMPLER_PROFILE_VIEWS_CODE_ORIGIN_H */
