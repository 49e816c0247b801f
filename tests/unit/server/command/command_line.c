#include "tests/unit/server/command/command_line.h"

#include <stdio.h>
#include <string.h>

#include "server/command/options/options_parse.h"

enum { MAX_WORDS = 32 };

enum err_code parse_text(const char *text, struct options *options, struct err *err)
{
    static char line[512];
    static char *argv[MAX_WORDS + 2];
    size_t count = 0;
    char *rest = NULL;
    snprintf(line, sizeof line, "%s", text);
    argv[count++] = line; /* an unused name */
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    argv[count] = NULL;
    return options_parse(argv, options, err);
}
