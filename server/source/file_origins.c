#include "server/source/file_origins.h"

#include <string.h>

#include "sampler/debug_lines.h"
#include "sampler/session.h"

static bool has_origin(const struct file_origins *origins, profile_origin origin)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->items[i] == origin)
            return true;
    return false;
}

static enum err_code add_native(const struct profile_snapshot *snapshot,
                                const struct profile_function *function,
                                struct file_origins *out, struct err *err)
{
    if (!debug_lines_are_supported())
        return err_set(err, ERR_UNSUPPORTED,
                       "this program was built without libdw, which reads debug information");
    if (!function->entry)
        return err_set(err, ERR_NOT_FOUND, "no source file is known for this native function");
    if (out->entry_count == SOURCE_MAX_PLACES)
        return err_set(err, ERR_LIMIT, "too many native functions at once");
    out->entries[out->entry_count++] = function->entry;
    out->build_id =
        profile_string(snapshot, profile_library_at(snapshot, function->library).build_id);
    return ERR_OK;
}

static bool may_be_native(enum relay_want want, size_t count)
{
    return want == RELAY_PLACES || (want == RELAY_NATIVE_TEXT && count == 1);
}

/* "<string>", or "In [4]" of a notebook. */
static bool is_made_of_text(struct strtab_string path)
{
    static const char cell[] = "In [", frozen[] = "<frozen ";
    if (path.length > strlen(frozen) && memcmp(path.text, frozen, strlen(frozen)) == 0)
        return false;
    return (path.length > 0 && path.text[0] == '<') ||
           (path.length > strlen(cell) && memcmp(path.text, cell, strlen(cell)) == 0);
}

enum err_code file_origins_find(const struct profile_snapshot *snapshot,
                                const function_id *functions, size_t count,
                                enum relay_want want, struct file_origins *out, struct err *err)
{
    bool is_several = false, is_unknown = count == 0;
    struct profile_function first = { .origin = PROFILE_ORIGIN_NONE };
    *out = (struct file_origins){ .request.want = want };
    for (size_t i = 0; i < count; i++) {
        if (functions[i] >= snapshot->sizes.functions)
            return err_set(err, ERR_INVALID, "the session has no function %u", functions[i]);
        const struct profile_function row = profile_function_at(snapshot, functions[i]);
        const unsigned owner = session_origin_owner(row.origin);
        const bool is_native = !source_is_known(snapshot, functions[i]);
        if (i == 0) {
            first = row;
            out->key = (struct cache_key){ owner, profile_string(snapshot, row.file) };
        }
        if (row.file != first.file || (is_native && row.library != first.library) ||
            (!is_native && want == RELAY_PLACES))
            return err_set(err, ERR_INVALID, "the functions are not of one file");
        if (is_native && !may_be_native(want, count))
            return err_set(err, ERR_NOT_FOUND,
                           "no source file is known for this native function");
        const enum err_code rc = is_native ? add_native(snapshot, &row, out, err) : ERR_OK;
        if (rc)
            return rc;
        is_unknown |= row.origin == PROFILE_ORIGIN_NONE;
        is_several |= row.origin == PROFILE_ORIGIN_SEVERAL || owner != out->key.owner;

        /* Native code needs each function, a source file one of each origin. */
        const function_id function = functions[i];
        const profile_origin origin = row.origin;
        struct relay_request *const request = &out->request;
        const bool is_new = out->count < FILE_ORIGINS_MAX && !has_origin(out, origin);
        if (is_new)
            out->items[out->count++] = origin;
        if (is_new || is_native)
            request->functions[request->count++] = function;
    }
    if (is_several)
        return err_set(err, ERR_PERM,
                       "the source file is not read: processes of several owners run this "
                       "function");
    if (is_unknown)
        return err_set(err, ERR_NOT_FOUND, "no process is known that has the source file");
    if (is_made_of_text(out->key.path))
        return err_set(err, ERR_NOT_FOUND,
                       "the text of this code is only in the memory of its process");
    if (out->key.path.length == 0 || out->key.path.text[0] != '/')
        return err_set(err, ERR_INVALID, "the path of the source file is not an absolute path");
    return ERR_OK;
}

bool file_origins_have_one_owner(const struct profile_snapshot *snapshot)
{
    profile_origin first = PROFILE_ORIGIN_NONE;
    for (function_id id = 0; id < snapshot->sizes.functions; id++) {
        const profile_origin origin = profile_function_at(snapshot, id).origin;
        if (origin == PROFILE_ORIGIN_SEVERAL ||
            (origin != PROFILE_ORIGIN_NONE && first != PROFILE_ORIGIN_NONE &&
             session_origin_owner(origin) != session_origin_owner(first)))
            return false;
        if (first == PROFILE_ORIGIN_NONE)
            first = origin;
    }
    return true;
}
