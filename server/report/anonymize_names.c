#include "server/report/anonymize_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/context.h"
#include "sampler/profile/packages.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/wait.h"
#include "server/access/digest.h"
#include "server/report/known_names.h"

enum { HASH_LETTERS = 8 };

static struct strtab_string string_of(const char *text, size_t length)
{
    return (struct strtab_string){ .text = text, .length = (uint32_t)length };
}

static bool equals_text(struct strtab_string string, const char *text)
{
    return string.length == strlen(text) && memcmp(string.text, text, string.length) == 0;
}

static bool begins_with(struct strtab_string string, const char *text)
{
    return string.length >= strlen(text) && memcmp(string.text, text, strlen(text)) == 0;
}

static bool is_among(struct strtab_string string, const char *const *items)
{
    for (; *items; items++)
        if (equals_text(string, *items))
            return true;
    return false;
}

/* Hashes file and name, with their lengths, so that no two pairs are one text. */
static void hash_name(struct anonymize_names *names, struct strtab_string file,
                      struct strtab_string name, char out[2 * DIGEST_BYTES + 1])
{
    const size_t bytes = sizeof(uint32_t) + file.length + name.length;
    char *const text = malloc(bytes);
    const uint32_t length = file.length;
    struct digest digest;
    struct err err = { 0 };
    enum err_code rc = ERR_OK;
    out[0] = '\0';
    if (!text) {
        rc = err_nomem(&err);
    } else {
        memcpy(text, &length, sizeof length);
        memcpy(text + sizeof length, file.text, file.length);
        memcpy(text + sizeof length + file.length, name.text, name.length);
        rc = digest_make(text, bytes, &digest, &err);
    }
    if (!rc)
        digest_format(&digest, out);
    else if (!names->rc) {
        names->rc = rc;
        names->err = err;
    }
    free(text);
}

static struct strtab_string make_pseudonym(struct anonymize_names *names, const char *before,
                                           struct strtab_string file, struct strtab_string name,
                                           const char *behind)
{
    char letters[2 * DIGEST_BYTES + 1];
    hash_name(names, file, name, letters);
    const int length = snprintf(names->text, sizeof names->text, "%s%.*s%s", before,
                                HASH_LETTERS, letters, behind);
    return string_of(names->text, (size_t)length);
}

static bool climbs_up(struct strtab_string path)
{
    return memmem(path.text, path.length, "/../", 4) != NULL;
}

/* The rest of the path from the last of these folders on; false: it is not in it. */
static bool find_folder(struct strtab_string path, const char *folder,
                        struct strtab_string *rest_out)
{
    const size_t length = strlen(folder);
    for (size_t at = path.length; at-- > 0;)
        if (path.text[at] == '/' && path.length - at - 1 > length &&
            memcmp(path.text + at + 1, folder, length) == 0) {
            *rest_out = string_of(path.text + at + 1, path.length - at - 1);
            return !climbs_up(*rest_out);
        }
    return false;
}

/* "lib/python3.13/json/decoder.py": in a folder of Python's library, and a module of it. */
static bool find_standard(struct strtab_string path, struct strtab_string *rest_out)
{
    struct strtab_string rest;
    if (!find_folder(path, "lib/python3.", &rest) &&
        !find_folder(path, "lib64/python3.", &rest))
        return false;
    const char *const end = rest.text + rest.length;
    const char *at = rest.text + strcspn(rest.text, ".") + 1;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    at += at < end && *at == 't';
    if (at == end || *at++ != '/')
        return false;
    const char *module_end = at;
    while (module_end < end && *module_end != '/' && *module_end != '.')
        module_end++;
    *rest_out = rest;
    return known_names_has(at, (size_t)(module_end - at));
}

/* Metadata say that it is your code, wherever it is installed. */
static bool is_yours(const struct anonymize_names *names, struct strtab_string path)
{
    const char *const package =
        names->packages ? packages_find(names->packages, path.text) : NULL;
    return package && !*package;
}

/* Finds the part of a library's path that stays; false: the file is not a library's. */
static bool find_library(const struct anonymize_names *names, struct strtab_string path,
                         struct strtab_string *rest_out)
{
    static const char *const frozen[] = { "<frozen importlib._bootstrap>",
                                          "<frozen importlib._bootstrap_external>",
                                          "<frozen runpy>",
                                          "<frozen zipimport>",
                                          "<frozen site>",
                                          "<frozen os>",
                                          "<frozen io>",
                                          "<frozen abc>",
                                          "<frozen codecs>",
                                          "<frozen posixpath>",
                                          "<frozen genericpath>",
                                          "<frozen stat>",
                                          "<frozen _collections_abc>",
                                          "<frozen _sitebuiltins>",
                                          "<frozen getpath>",
                                          NULL };
    *rest_out = path;
    return is_among(path, frozen) ||
           (!is_yours(names, path) &&
            (find_folder(path, "site-packages/", rest_out) ||
             find_folder(path, "dist-packages/", rest_out) || find_standard(path, rest_out)));
}

/* The variable, and a hash of the value. */
static struct strtab_string context_mark(struct anonymize_names *names,
                                         struct strtab_string text,
                                         const struct context_text *context)
{
    char variable[CONTEXT_MAX_VARIABLE], value[CONTEXT_MAX_NAME];
    if (context->mark != CONTEXT_MARK_VALUE)
        return text;
    snprintf(variable, sizeof variable, "%.*s", (int)context->variable_length,
             context->variable);
    /* The number of a request that is guessed belongs to all of its marks; the name behind it is one of the program. */
    const size_t number = context_guessed_length(context);
    const char *const pseudonym =
        make_pseudonym(
            names, "", string_of("~", 1),
            number ? string_of(context->value + number, context->value_length - number) : text,
            "")
            .text;
    snprintf(value, sizeof value, "%.*s%s%s", (int)number, context->value,
             number && number < context->value_length ? " " : "",
             number == context->value_length ? "" : pseudonym);
    context_name(variable, context->mark, value, names->text);
    return string_of(names->text, strlen(names->text));
}

/* "<native> time.sleep", or a mark of ours. */
static struct strtab_string mark_name(struct anonymize_names *names, struct strtab_string text)
{
    static const char *const ours[] = { "<native>",    "<GC>",   "<idle native thread>",
                                        "<truncated>", "<task>", NULL };
    static const char native[] = "<native> ", task[] = "<task ";
    const size_t skip = sizeof native - 1;
    struct wait_text wait;
    struct context_text context;
    if (is_among(text, ours))
        return text;
    /* Without the peer. */
    if (wait_read_name(text.text, &wait)) {
        wait_name(wait.cause, "", names->text);
        return string_of(names->text, strlen(names->text));
    }
    if (context_read_name(text.text, &context))
        return context_mark(names, text, &context);
    if (begins_with(text, task))
        return make_pseudonym(names, "<task task-", string_of("~", 1), text, ">");
    if (!begins_with(text, native))
        return make_pseudonym(names, "<mark-", string_of("~", 1), text, ">");
    const struct strtab_string callee = string_of(text.text + skip, text.length - skip);
    const char *const dot = memchr(callee.text, '.', callee.length);
    const size_t owner = dot ? (size_t)(dot - callee.text) : callee.length;
    if (known_names_has(callee.text, owner))
        return text;
    return make_pseudonym(names, "<native> c-", string_of("~", 1), callee, "");
}

static struct strtab_string function_name(struct anonymize_names *names,
                                          struct strtab_string text, struct strtab_string file)
{
    static const char *const everybodys[] = { "<module>",   "<lambda>",  "<listcomp>",
                                              "<dictcomp>", "<setcomp>", "<genexpr>",
                                              "",           NULL };
    struct strtab_string rest;
    if (equals_text(file, "~"))
        return mark_name(names, text);
    if (is_among(text, everybodys) || find_library(names, file, &rest))
        return text;
    return make_pseudonym(names, "func-", file, text, "");
}

static struct strtab_string file_name(struct anonymize_names *names, struct strtab_string path)
{
    static const char *const everybodys[] = {
        "", "~", "<string>", "<command>", "<stdin>", NULL
    };
    struct strtab_string rest;
    if (is_among(path, everybodys))
        return path;
    if (find_library(names, path, &rest))
        return rest;
    return make_pseudonym(names, "mod-", path, string_of("", 0), ".py");
}

/* "python3.12", "libpython3.12t.so.1.0" */
static bool is_python(struct strtab_string name)
{
    static const char *const words[] = { "libpython", "python", NULL };
    size_t at = 0;
    for (size_t i = 0; words[i] && !at; i++)
        at = begins_with(name, words[i]) ? strlen(words[i]) : 0;
    for (size_t i = at; i < name.length; i++)
        if (!strchr("0123456789.tdso", name.text[i]) || name.text[i] == '\0')
            return false;
    return at > 0;
}

/* "/usr/lib/x86_64-linux-gnu/libc.so.6": below a folder of the system, and of a project that everybody
 * has. */
static bool is_of_system(struct strtab_string path, struct strtab_string name)
{
    static const char *const folders[] = { "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
                                           NULL };
    static const char *const projects[] = {
        "ld-linux",    "libblas",   "libbz2",  "libc",       "libcrypto",   "libcurl",
        "libdl",       "libexpat",  "libffi",  "libgcc_s",   "libgfortran", "libgomp",
        "liblapack",   "liblzma",   "libm",    "libmvec",    "libopenblas", "libpthread",
        "libquadmath", "libresolv", "librt",   "libsqlite3", "libssl",      "libstdc++",
        "libutil",     "libuuid",   "libxml2", "libz",       "libzstd",     NULL
    };
    bool is_there = false;
    for (size_t i = 0; folders[i]; i++)
        is_there |= begins_with(path, folders[i]);
    for (size_t i = 0; projects[i] && is_there && !climbs_up(path); i++) {
        const size_t length = strlen(projects[i]);
        if (begins_with(name, projects[i]) && name.length > length &&
            strchr(".-", name.text[length]) && name.text[length] != '\0')
            return true;
    }
    return false;
}

/* "lib/python3.13/lib-dynload/_json.cpython-313-x86_64-linux-gnu.so" */
static bool is_standard_module(struct strtab_string path, struct strtab_string name,
                               struct strtab_string *rest_out)
{
    const char *const dot = memchr(name.text, '.', name.length);
    return dot && find_folder(path, "lib-dynload/", rest_out) &&
           known_names_has(name.text, (size_t)(dot - name.text));
}

/* Finds the part of the path of a file of native code that stays; false: it is somebody's
 * own. */
static bool find_public_library(const struct anonymize_names *names, struct strtab_string path,
                                struct strtab_string *rest_out)
{
    const char *const slash = memrchr(path.text, '/', path.length);
    const size_t at = slash ? (size_t)(slash + 1 - path.text) : 0;
    const struct strtab_string name = string_of(path.text + at, path.length - at);
    *rest_out = path;
    if (equals_text(path, "[vdso]") || is_of_system(path, name) ||
        (!is_yours(names, path) && (find_folder(path, "site-packages/", rest_out) ||
                                    find_folder(path, "dist-packages/", rest_out))) ||
        is_standard_module(path, name, rest_out))
        return true;
    *rest_out = name;
    return is_python(name);
}

static struct strtab_string library_path(struct anonymize_names *names,
                                         struct strtab_string path)
{
    struct strtab_string rest;
    if (path.length == 0 || find_public_library(names, path, &rest))
        return path.length ? rest : path;
    return make_pseudonym(names, "lib-", path, string_of("", 0), ".so");
}

static struct strtab_string native_name(struct anonymize_names *names,
                                        struct strtab_string text, struct strtab_string library)
{
    struct strtab_string rest;
    return find_public_library(names, library, &rest)
               ? text
               : make_pseudonym(names, "func-", library, text, "");
}

/* The folder in which a library was built shows who built it: its own path stands for its
 * source files. */
static struct strtab_string build_id(const struct anonymize_names *names,
                                     struct strtab_string text, struct strtab_string library)
{
    struct strtab_string rest;
    return find_public_library(names, library, &rest) ? text : string_of("", 0);
}

/* True if the text behind the word is numbers alone, as Python names threads. */
static bool is_numbered(struct strtab_string text, const char *word)
{
    if (!begins_with(text, word) || text.length == strlen(word))
        return false;
    for (size_t i = strlen(word); i < text.length; i++)
        if (!strchr("0123456789_", text.text[i]) || text.text[i] == '\0')
            return false;
    return true;
}

static struct strtab_string thread_name(struct anonymize_names *names,
                                        struct strtab_string text)
{
    static const char *const words[] = { "Thread-", "Dummy-", "ThreadPoolExecutor-", "asyncio_",
                                         NULL };
    if (equals_text(text, "") || equals_text(text, "MainThread") ||
        equals_text(text, PROFILE_WAITING_TASKS))
        return text;
    /* "Thread-3 (work)" says what it runs. */
    const char *const space = memchr(text.text, ' ', text.length);
    const struct strtab_string first =
        string_of(text.text, space ? (size_t)(space - text.text) : text.length);
    for (size_t i = 0; words[i]; i++)
        if (is_numbered(first, words[i]))
            return first;
    return make_pseudonym(names, "thread-", string_of("", 0), text, "");
}

struct strtab_string anonymize_names_text(void *context, enum reshape_text what,
                                          struct strtab_string text, struct strtab_string file)
{
    switch (what) {
    case RESHAPE_NAME: return function_name(context, text, file);
    case RESHAPE_FILE: return file_name(context, text);
    case RESHAPE_THREAD: return thread_name(context, text);
    case RESHAPE_NATIVE_NAME: return native_name(context, text, file);
    case RESHAPE_NATIVE_FILE:
    case RESHAPE_LIBRARY: return library_path(context, file);
    case RESHAPE_BUILD_ID: return build_id(context, text, file);
    case RESHAPE_PROCESS: break;
    }
    return string_of("", 0);
}
