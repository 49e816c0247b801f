#include "sampler/foreign/thread_name.h"

#include <string.h>

/* Digits at *at, which goes behind them; false: there are none, or too many. */
static bool take_number(const char **at, const char *end, int64_t *out)
{
    const char *const first = *at;
    int64_t value = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        if (*at - first == 18)
            return false;
        value = value * 10 + (**at - '0');
    }
    *out = value;
    return *at > first;
}

/* A word before a number; *at goes behind both. */
static bool take_word(const char **at, const char *end, const char *word, int64_t *out)
{
    const size_t bytes = strlen(word);
    const char *next = *at + bytes;
    if ((size_t)(end - *at) < bytes || memcmp(*at, word, bytes) != 0 ||
        !take_number(&next, end, out))
        return false;
    *at = next;
    return true;
}

enum err_code thread_name_gather(struct gather *gather, struct gather_text text, int64_t pid,
                                 thread_id *out, struct err *err)
{
    static const char *const words[] = { "Thread ", "thread ", "Thread-" };
    const struct gather_text none = { "", 0 };
    const char *at = text.text, *const end = at + text.bytes;
    int64_t tid = 0, number;
    struct gather_text name = text;
    if (take_word(&at, end, "Process ", &number)) {
        pid = number;
        at += at < end && *at == ' ';
    }
    /* A number in brackets is that of the thread, whatever is before it. */
    bool has_number = false;
    if (text.bytes > 3 && end[-1] == ')') {
        const char *open = end - 1;
        while (open > text.text && *open != '(')
            open--;
        const char *digits = open + 1;
        if (open > text.text && open[-1] == ' ' && take_number(&digits, end, &number) &&
            digits == end - 1) {
            tid = number;
            name.bytes = (size_t)(open - 1 - text.text);
            has_number = true;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words && !has_number; i++) {
        has_number = take_word(&at, end, words[i], &tid);
        if (!has_number)
            continue;
        at += at < end && *at == ' ';
        name = (struct gather_text){ at, (size_t)(end - at) };
        if (name.bytes >= 2 && *at == '"' && end[-1] == '"')
            name = (struct gather_text){ at + 1, name.bytes - 2 };
    }
    return gather_thread(gather, pid, none, tid, 0, name, out, err);
}
