#include "sampler/base/python_command.h"

#include <string.h>

/* The word that names the code.  *option_out: 'c' or 'm', or '\0' before a script.  Options stand together, as in "-Ic"; -W, -X,
 * -c and -m take the rest of their word or the next one.  NULL: the code is in the input. */
static const char *find_word(size_t argc, const char *const *argv, char *option_out)
{
    *option_out = '\0';
    for (size_t i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "-") == 0)
            return NULL;
        if (*word != '-' && *word)
            return word;
        if (*word == '\0' || word[1] == '-') {
            i += strcmp(word, "--check-hash-based-pycs") == 0;
            continue;
        }
        word += 1 + strcspn(word + 1, "WXcm");
        if (*word == '\0')
            continue;
        if (*word == 'c' || *word == 'm') {
            *option_out = *word;
            return word[1] ? word + 1 : i + 1 < argc ? argv[i + 1] : "";
        }
        i += word[1] == '\0';
    }
    return NULL;
}

const char *python_command_script(size_t argc, const char *const *argv)
{
    char option;
    const char *const word = find_word(argc, argv, &option);
    return word && *word && option != 'c' ? word : NULL;
}

const char *python_command_text(size_t argc, const char *const *argv)
{
    char option;
    const char *const word = find_word(argc, argv, &option);
    return option == 'c' ? word : NULL;
}

const char *python_command_last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}
