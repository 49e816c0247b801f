#include "server/command/options/completion.h"

#include "sampler/base/enum_text.h"
#include "server/command/options/commands.h"
#include "server/command/options/option_table.h"
#include "server/command/options/options.h"
#include "server/report/report.h"

static bool names_file(const struct option *option)
{
    static const char *const files[] = { "FILE", "PATH", "DIR", NULL };
    return option->value && enum_find(files, option->value) >= 0;
}

/* The names of formats, or the texts of a choice. */
static bool has_texts(const struct option *option)
{
    return option->setting.texts || option->names_format;
}

static void put_texts(FILE *out, const struct setting *setting)
{
    if (!setting->texts) {
        const struct report_format *format = NULL;
        for (size_t i = 0; (format = report_at(i)); i++)
            if (!format->needs_baseline)
                fprintf(out, "%s%s", i > 0 ? " " : "", format->name);
        return;
    }
    const char *const *const texts = setting->texts + setting->least;
    for (size_t i = 0; texts[i]; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", texts[i]);
}

static bool is_of_command(const struct option *option, const struct command *command)
{
    return option->commands == 0 || (option->commands & command->bit) != 0;
}

static void put_commands(FILE *out)
{
    const struct command *command = NULL;
    for (size_t i = 0; (command = command_at(i)); i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", command->name);
}

static void put_bash_options(FILE *out, const struct command *command)
{
    const struct option *option = NULL;
    fprintf(out, "    %s) words='", command->name);
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (!is_of_command(option, command))
            continue;
        fprintf(out, "--%s ", option->setting.name);
        if (option->letter)
            fprintf(out, "-%c ", option->letter);
    }
    fputs("' ;;\n", out);
}

static void put_bash(FILE *out)
{
    const struct command *command = NULL;
    fputs("_pyrometer() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [[ $prev == = && $COMP_CWORD -gt 2 ]] || [[ $cur == = ]]; then\n"
          "        [[ $cur == = ]] && cur=\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    if [[ $COMP_CWORD -eq 1 ]]; then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    put_commands(out);
    fputs(" --help --version --completion' -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    case $prev in\n",
          out);

    /* An option that takes a value decides what the next word is. */
    const struct option *option = NULL;
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (!option->value || option->value[0] == '=')
            continue;
        fprintf(out, "    --%s", option->setting.name);
        if (option->letter)
            fprintf(out, "|-%c", option->letter);
        if (has_texts(option)) {
            fputs(") COMPREPLY=($(compgen -W '", out);
            put_texts(out, &option->setting);
            fputs("' -- \"$cur\")); return ;;\n", out);
        } else {
            fputs(names_file(option) ? ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
                                     : ") return ;;\n",
                  out);
        }
    }

    fputs("    esac\n"
          "    case $command in\n",
          out);
    for (size_t i = 0; (command = command_at(i)); i++)
        put_bash_options(out, command);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _pyrometer pyrometer\n",
          out);
}

/* zsh can run the script of bash. */
static void put_zsh(FILE *out)
{
    fputs("autoload -Uz compinit bashcompinit\n"
          "(( $+functions[compdef] )) || compinit\n"
          "bashcompinit\n",
          out);
    put_bash(out);
}

/* Within single quotes only ' and \ need an escape. */
static void put_fish_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void put_fish(FILE *out)
{
    const struct command *command = NULL;
    const struct option *option = NULL;
    for (size_t i = 0; (command = command_at(i)); i++) {
        fprintf(out, "complete -c pyrometer -n __fish_use_subcommand -f -a %s -d ",
                command->name);
        put_fish_text(out, command->summary);
        fputc('\n', out);
        for (size_t j = 0; (option = option_at(j)); j++)
            if (is_of_command(option, command)) {
                fprintf(out, "complete -c pyrometer -n '__fish_seen_subcommand_from %s' -l %s",
                        command->name, option->setting.name);
                if (option->letter)
                    fprintf(out, " -s %c", option->letter);
                if (option->value && option->value[0] != '=')
                    fputs(names_file(option) ? " -r -F" : " -x", out);
                if (has_texts(option)) {
                    fputs(" -a '", out);
                    put_texts(out, &option->setting);
                    fputc('\'', out);
                }
                fputs(" -d ", out);
                put_fish_text(out, option->help);
                fputc('\n', out);
            }
    }
}

void completion_print(FILE *out, unsigned shell)
{
    static void (*const put[])(FILE * out) = { put_bash, put_zsh, put_fish };
    put[shell](out);
}
