#include "server/command/options/help.h"

#include "server/command/options/commands.h"
#include "server/command/options/options.h"

enum { OPTION_COLUMN = 28 };

static void print_option(FILE *out, const struct option *option)
{
    char left[64];
    const char *const space = option->value && option->value[0] != '=' ? " " : "";
    const char *const value = option->value ? option->value : "";
    if (option->letter)
        snprintf(left, sizeof left, "-%c, --%s%s%s", option->letter, option->name, space,
                 value);
    else
        snprintf(left, sizeof left, "    --%s%s%s", option->name, space, value);
    fprintf(out, "  %-*s %s\n", OPTION_COLUMN, left, option->help);
}

static void print_rows(FILE *out, const char *title, unsigned commands, bool formats)
{
    const struct option *option = NULL;
    bool is_first = true;
    for (size_t i = 0; (option = option_at(i)); i++) {
        if ((option->format != NULL) != formats ||
            (option->commands != 0 && !(option->commands & commands)))
            continue;
        if (is_first)
            fputs(title, out);
        is_first = false;
        print_option(out, option);
    }
}

static void print_options(FILE *out, unsigned commands)
{
    print_rows(out, "\nOptions:\n", commands, false);
    print_rows(out, "\nFormats, one or more; each may name its file, as in --collapsed=FILE:\n",
               commands, true);
}

static void print_command(FILE *out, const struct command *command)
{
    fprintf(out, "Usage: pyrometer %s [OPTIONS] %s\n\n", command->name, command->operands);
    fprintf(out, "%s.\n\n%s", command->summary, command->details);
    print_options(out, command->bit);
}

static void print_program(FILE *out)
{
    const struct command *command = NULL;
    fputs("Usage: pyrometer COMMAND [OPTIONS] ...\n\n"
          "Sees where running Python programs spend their time, from outside.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; (command = command_at(i)); i++)
        fprintf(out, "  %-8s %s\n", command->name, command->summary);
    fputs("\nOptions:\n"
          "  -h, --help              show this help, or that of a COMMAND\n"
          "  -V, --version           show the version\n"
          "      --completion SHELL  print what SHELL needs to complete: bash, zsh, fish\n\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage, 3 not permitted, 4 no such process\n"
          "or not Python.\n",
          out);
}

void help_print(FILE *out, const struct command *command)
{
    if (command)
        print_command(out, command);
    else
        print_program(out);
}
