#include "server/source/hot_files.h"

#include <stdlib.h>

static int by_file(const void *left, const void *right, void *context)
{
    const struct profile_snapshot *const snapshot = context;
    const function_id a = *(const function_id *)left, b = *(const function_id *)right;
    const str_id of_a = profile_function_at(snapshot, a).file;
    const str_id of_b = profile_function_at(snapshot, b).file;
    return of_a != of_b ? (of_a > of_b) - (of_a < of_b) : (a > b) - (a < b);
}

void hot_files_order(const struct profile_snapshot *snapshot, function_id *functions,
                     size_t count)
{
    qsort_r(functions, count, sizeof *functions, by_file, (void *)(uintptr_t)snapshot);
}

int hot_files_compare(const void *left, const void *right)
{
    const struct hot_file *const a = left;
    const struct hot_file *const b = right;
    if (a->self != b->self)
        return a->self < b->self ? 1 : -1;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a->file > b->file) - (a->file < b->file);
}
