#include "server/command/options/help.h"

#include <ctype.h>
#include <string.h>

#include "server/command/options/commands.h"
#include "server/command/options/option_table.h"
#include "server/command/options/options.h"

enum { OPTION_COLUMN = 28 };

const char help_summary[] = "Profile running Python programs without modifying them.\n";

const char help_exit_status[] =
    "0 done, 1 failed, 2 wrong usage, 3 not permitted, 4 no such process\n"
    "or not a Python process, 5 a condition of --fail-if holds.\n";

static void print_option(FILE *out, const struct option *option)
{
    char left[64], letter[] = "   ";
    const bool is_optional = option->value && *option->value == '=';
    const char *const value = option->value ? option->value : "";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c,", option->letter);
    snprintf(left, sizeof left, "%s --%s%s%s%s", letter, option->setting.name,
             is_optional ? "["
             : *value    ? " "
                         : "",
             value, is_optional ? "]" : "");
    fprintf(out, "  %-*s %s%s\n", OPTION_COLUMN, left, option->help,
            setting_is_repeatable(&option->setting) ? " (repeatable)" : "");
}

static bool is_usual(const struct option *option, const struct command *command)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", option->setting.name);
    return strstr(command->usual, word) && (option->commands & command->bit);
}

static void print_usage(FILE *out, const struct command *command)
{
    fprintf(out, "Usage: pyrometer %s [OPTIONS]%s%s\n\n%c%s.\n", command->name,
            *command->operands ? " " : "", command->operands,
            toupper((unsigned char)*command->summary), command->summary + 1);
}

static void print_examples(FILE *out, const struct command *command)
{
    fputs("\nExamples:\n", out);
    for (const char *line = command->examples; *line; line = strchr(line, '\n') + 1)
        fprintf(out, "    pyrometer %s%.*s\n", command->name, (int)strcspn(line, "\n"), line);
}

static void print_commands(FILE *out)
{
    const struct command *command = NULL;
    fprintf(out, "Usage: pyrometer COMMAND [OPTIONS] ...\n\n%s\nCommands:\n", help_summary);
    for (size_t i = 0; (command = command_at(i)); i++)
        fprintf(out, "  %-8s %s\n", command->name, command->summary);
    fputs("\nExamples:\n"
          "    pyrometer attach 4711                          # watch a running program\n"
          "    pyrometer record -o out.html -- python3 app.py # report on a whole run\n"
          "    pyrometer dump 4711                            # what each thread does now\n",
          out);
}

void help_print(FILE *out, const struct command *command)
{
    if (command) {
        const struct option *option = NULL;
        print_usage(out, command);
        print_examples(out, command);
        fputs("\nOptions:\n", out);
        for (size_t i = 0; (option = option_at(i)); i++)
            if (is_usual(option, command))
                print_option(out, option);
        fprintf(out, "\nAll options: pyrometer %s --help=all\n", command->name);
    } else {
        print_commands(out);
        fputs("\nA command's options: pyrometer COMMAND --help, or --help=all\n", out);
    }
}

void help_print_all(FILE *out, const struct command *command)
{
    if (command) {
        print_usage(out, command);
        fprintf(out, "\n%s", command->details);
        print_examples(out, command);

        const struct option *option = NULL;
        const char *heading = NULL, *printed = NULL;
        for (size_t i = 0; (option = option_at(i)); i++) {
            if (option->heading)
                heading = option->heading;
            if (option->commands != 0 && !(option->commands & command->bit))
                continue;
            if (heading != printed)
                fprintf(out, "\n%s:\n", heading);
            printed = heading;
            print_option(out, option);
        }
    } else {
        const struct option *option = NULL;
        print_commands(out);
        fputs("\nOptions:\n", out);
        for (size_t i = 0; (option = option_at(i)); i++)
            if (option->commands == 0 || (option->commands & COMMAND_NONE))
                print_option(out, option);
        fprintf(out, "\nExit status: %s", help_exit_status);
    }
}
