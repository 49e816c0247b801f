#include "sampler/profile/views/pattern.h"

#include <fnmatch.h>
#include <string.h>

static bool is_shell_pattern(const char *pattern)
{
    return strpbrk(pattern, "*?[") != NULL;
}

static bool matches_whole(const char *pattern, const char *text)
{
    return fnmatch(pattern, text, 0) == 0;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool pattern_matches_file(const char *pattern, const char *file)
{
    if (!*pattern)
        return false;
    return is_shell_pattern(pattern) ? matches_whole(pattern, file) : ends_in(file, pattern);
}

bool pattern_matches_name(const char *pattern, const char *name)
{
    const size_t length = strlen(name), tail = strlen(pattern);
    if (!*pattern)
        return false;
    if (is_shell_pattern(pattern))
        return matches_whole(pattern, name);
    return ends_in(name, pattern) && (length == tail || name[length - tail - 1] == '.');
}
