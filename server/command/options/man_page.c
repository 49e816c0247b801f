#include "server/command/options/man_page.h"

#include <ctype.h>
#include <string.h>

#include "server/command/options/commands.h"
#include "server/command/options/help.h"
#include "server/command/options/option_table.h"
#include "server/command/options/options.h"

/* The longest line of help, without the escapes that make it longer. */
enum { LINE_BYTES = 72 };

/* A line that starts with a dot would be a request. */
static void put_text(FILE *out, const char *text, size_t length)
{
    if (length > 0 && *text == '.')
        fputs("\\&", out);
    for (size_t i = 0; i < length; i++) {
        /* Characters that roff would take for its own or replace by typographic ones. */
        static const char characters[] = "\\-'`^~";
        static const char *const escapes[] = {
            "\\e", "\\-", "\\(aq", "\\(ga", "\\(ha", "\\(ti"
        };
        const char *const found = text[i] ? strchr(characters, text[i]) : NULL;
        const char *const escape = found ? escapes[found - characters] : NULL;

        if (escape)
            fputs(escape, out);
        else
            fputc(text[i], out);
    }
}

static void put_plain(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
}

/* Lines of help, a sentence on each, and none so long that roff's own style forbids it.  An empty line
 * starts a paragraph. */
static void put_lines(FILE *out, const char *text)
{
    while (*text) {
        const size_t line = strcspn(text, "\n");
        const char *const sentence = memmem(text, line, ".  ", 3);
        size_t length = sentence ? (size_t)(sentence - text) + 1 : line;
        const char *const space = length > LINE_BYTES ? memrchr(text, ' ', LINE_BYTES) : NULL;
        length = space ? (size_t)(space - text) : length;
        if (length > 0)
            put_text(out, text, length);
        else
            fputs(".PP", out);
        fputc('\n', out);
        text += length + strspn(text + length, " ");
        text += *text == '\n';
    }
}

/* A text of the tables as a sentence: "Profile running processes." */
static void put_sentence(FILE *out, const char *text)
{
    const char first[] = { (char)toupper((unsigned char)*text), '\0' };
    put_plain(out, first);
    put_plain(out, text + 1);
    fputs(text[strlen(text) - 1] == '.' ? "\n" : ".\n", out);
}

/* COMMAND_NONE: the options without a command. */
static void put_options(FILE *out, unsigned command)
{
    const struct option *option = NULL;
    const char *heading = NULL, *printed = NULL;
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (option->heading)
            heading = option->heading;
        if (option->commands != 0 && !(option->commands & command))
            continue;
        if (heading != printed && command != COMMAND_NONE) {
            fputs(".SS ", out);
            put_plain(out, heading);
            fputc('\n', out);
        }
        printed = heading;

        /* \fB and \fI start bold and italic text, \fR ends them. */
        const char *const value = option->value ? option->value : "";
        const bool is_optional = *value == '=';
        fputs(".TP\n", out);
        if (option->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
        fputs("\\fB\\-\\-", out);
        put_plain(out, option->setting.name);
        fputs("\\fR", out);
        if (*value) {
            fputs(is_optional ? "[=\\fI" : " \\fI", out);
            put_plain(out, value + is_optional);
            fputs(is_optional ? "\\fR]" : "\\fR", out);
        }
        fputc('\n', out);
        put_sentence(out, option->help);
        if (setting_is_repeatable(&option->setting))
            fputs("It can be given more than once.\n", out);
    }
}

/* Manual pages have their names in capitals.  command NULL: the program. */
static void put_title(FILE *out, const struct command *command)
{
    fputs(".TH PYROMETER", out);
    if (command)
        fputs("\\-", out);
    for (const char *c = command ? command->name : ""; *c; c++)
        fputc(toupper((unsigned char)*c), out);
    fputs(" 1 " PYROMETER_DATE " \"pyrometer " PYROMETER_VERSION "\"\n.SH NAME\n", out);
}

static void put_exit_status(FILE *out)
{
    fputs(".SH EXIT STATUS\n", out);
    put_lines(out, help_exit_status);
}

static void print_program(FILE *out)
{
    const struct command *command = NULL;
    put_title(out, NULL);
    fputs("pyrometer \\- profile running Python programs without modifying them\n"
          ".SH SYNOPSIS\n\\fBpyrometer\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n"
          ".SH DESCRIPTION\n",
          out);
    put_lines(out, help_summary);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; (command = command_at(i)); i++) {
        fprintf(out, ".TP\n.BR pyrometer\\-%s (1)\n", command->name);
        put_sentence(out, command->summary);
    }
    put_options(out, COMMAND_NONE);
    put_exit_status(out);
    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; (command = command_at(i)); i++)
        fprintf(out, ".BR pyrometer\\-%s (1)%s\n", command->name, command_at(i + 1) ? "," : "");
}

void man_page_print(FILE *out, const struct command *command)
{
    if (command) {
        put_title(out, command);
        fprintf(out, "pyrometer\\-%s \\- ", command->name);
        put_plain(out, command->summary);
        fprintf(out, "\n.SH SYNOPSIS\n\\fBpyrometer %s\\fR [\\fIOPTIONS\\fR]%s", command->name,
                *command->operands ? " " : "");
        put_plain(out, command->operands);
        fputs("\n.SH DESCRIPTION\n", out);
        put_sentence(out, command->summary);
        fputs(".PP\n", out);
        put_lines(out, command->details);
        put_options(out, command->bit);

        /* The examples stay as they are, each on a line of its own. */
        fputs(".SH EXAMPLES\n.nf\n", out);
        for (const char *line = command->examples; *line; line = strchr(line, '\n') + 1) {
            fprintf(out, "pyrometer %s", command->name);
            put_text(out, line, strcspn(line, "\n"));
            fputc('\n', out);
        }
        fputs(".fi\n", out);

        put_exit_status(out);
        fputs(".SH SEE ALSO\n.BR pyrometer (1)\n", out);
    } else
        print_program(out);
}
