#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/command/options/commands.h"
#include "server/command/options/help.h"
#include "server/command/options/options.h"
#include "tests/support/test.h"

/* The caller frees. */
static char *help_of(const struct command *command,
                     void (*print)(FILE *out, const struct command *command))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(out, command);
    fclose(out);
    return text;
}

/* The whole word, not the start of another. */
static bool names(const char *text, const char *option)
{
    for (const char *at = text; (at = strstr(at, option)); at++)
        if (!isalnum((unsigned char)at[strlen(option)]) && at[strlen(option)] != '-')
            return true;
    return false;
}

/* An option may have a row for some commands, and another one for others. */
static bool has_option(const struct command *command, const char *name)
{
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (strcmp(option->setting.name, name) == 0 &&
            (!option->commands || (option->commands & command->bit)))
            return true;
    return false;
}

static void help_shows_every_option_of_a_command_and_no_other(void **state)
{
    const struct command *command = NULL;
    const struct option *option = NULL;
    (void)state;
    for (size_t i = 0; (command = command_at(i)); i++) {
        char *const text = help_of(command, help_print_all);
        for (size_t j = 0; (option = option_at(j)); j++) {
            char name[64];
            snprintf(name, sizeof name, "--%s", option->setting.name);
            assert_int_equal(names(text, name), has_option(command, option->setting.name));
        }
        free(text);
    }
}

static void expect_narrow(const struct command *command,
                          void (*print)(FILE *out, const struct command *command))
{
    char *const text = help_of(command, print);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        assert_in_range(strlen(line), 0, 80);
    free(text);
}

static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        found++;
    return found;
}

static void expect_short(const struct command *command)
{
    char *const text = help_of(command, help_print);
    assert_in_range(count(text, "\n"), 1, HELP_LINES);
    assert_int_equal(count(text, "\n    pyrometer "), 3);
    free(text);
}

static void short_help_fits_a_screen_and_has_three_examples(void **state)
{
    const struct command *command = NULL;
    (void)state;
    expect_short(NULL);
    for (size_t i = 0; (command = command_at(i)); i++)
        expect_short(command);
}

/* A name that is no option of the command would be left out silently. */
static void usual_options_are_options_of_their_command(void **state)
{
    const struct command *command = NULL;
    (void)state;
    for (size_t i = 0; (command = command_at(i)); i++) {
        char *const words = strdup(command->usual);
        char *rest = NULL;
        for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            assert_true(has_option(command, word));
        free(words);
    }
}

static void help_fits_a_terminal(void **state)
{
    const struct command *command = NULL;
    (void)state;
    expect_narrow(NULL, help_print);
    expect_narrow(NULL, help_print_all);
    for (size_t i = 0; (command = command_at(i)); i++) {
        expect_narrow(command, help_print);
        expect_narrow(command, help_print_all);
    }
}

TEST_GROUP(cmocka_unit_test(help_shows_every_option_of_a_command_and_no_other),
           cmocka_unit_test(help_fits_a_terminal),
           cmocka_unit_test(short_help_fits_a_screen_and_has_three_examples),
           cmocka_unit_test(usual_options_are_options_of_their_command))
