#include "server/command/options/help.h"

#include <ctype.h>

#include "server/command/options/commands.h"
#include "server/command/options/options.h"

enum { OPTION_COLUMN = 28 };

const char *const help_form_texts[] = { "text", "man", NULL };

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

static void print_options(FILE *out, unsigned command)
{
    const struct option *option = NULL;
    const char *heading = NULL, *printed = NULL;
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (option->heading)
            heading = option->heading;
        if (option->commands != 0 && !(option->commands & command))
            continue;
        if (heading != printed)
            fprintf(out, "\n%s:\n", heading);
        printed = heading;
        print_option(out, option);
    }
}

static void print_command(FILE *out, const struct command *command)
{
    fprintf(out, "Usage: pyrometer %s [OPTIONS]%s%s\n\n", command->name,
            *command->operands ? " " : "", command->operands);
    fprintf(out, "%c%s.\n\n%s", toupper((unsigned char)*command->summary), command->summary + 1,
            command->details);
    print_options(out, command->bit);
}

static void print_program(FILE *out)
{
    const struct command *command = NULL;
    const struct option *option = NULL;
    fprintf(out, "Usage: pyrometer COMMAND [OPTIONS] ...\n\n%s\nCommands:\n", help_summary);
    for (size_t i = 0; (command = command_at(i)); i++)
        fprintf(out, "  %-8s %s\n", command->name, command->summary);
    fputs("\nOptions:\n", out);
    for (size_t i = 0; (option = option_at(i)); i++)
        if (option->commands == 0 || (option->commands & COMMAND_NONE))
            print_option(out, option);
    fprintf(out, "\nExit status: %s", help_exit_status);
}

void help_print(FILE *out, const struct command *command)
{
    if (command)
        print_command(out, command);
    else
        print_program(out);
}
