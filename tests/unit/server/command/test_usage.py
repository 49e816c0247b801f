"""How commands are called: help, manual pages, wrong usage, completion."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

from commands import DENIED, GONE, LIVE, PROGRAM, SHELL, main, run

COMMANDS = re.findall(r"^  ([a-z]+) ", run("--help").stdout, re.M)


class Usage(unittest.TestCase):
    def expect(self, result, status, message):
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, "pyrometer: %s\n" % message)

    def test_help_and_version_go_to_standard_output(self):
        for words in (["--help"], ["attach", "--help"], ["run", "-h"], ["record", "1", "--help"], ["--version"]):
            result = run(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertIn("yrometer", result.stdout)
        self.assertRegex(run("-V").stdout, r"^pyrometer \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_one_line_and_2(self):
        self.expect(run(), 2, "a COMMAND is missing (see --help)")
        self.expect(run("atach", 1), 2, "unknown command 'atach' (did you mean 'attach'?)")
        self.expect(run("attach", "abc"), 2, "invalid PID 'abc': want a process ID such as 4711")
        self.expect(run("attach", LIVE, "-r", "2mhz"), 2,
                    "invalid --sampling-rate '2mhz': want 1 to 1mhz, such as 100, 1.5k or 10khz")
        self.expect(run("attach", LIVE, "--no-token", "--listen", "0.0.0.0:0"), 2,
                    "--no-token would give the whole network access: use it with a loopback address")

    def test_message_stays_one_line_whatever_the_words_hold(self):
        self.expect(run("a\nb\x1b[31m"), 2, "unknown command 'a\\x0ab\\x1b[31m' (see --help)")

    def test_targets_that_cannot_be_sampled_have_their_status(self):
        self.expect(run("record", GONE, "--collapsed=-"), 4, "no process %d" % GONE)
        self.expect(run("attach", SHELL), 4, "process %d is not Python" % SHELL)
        self.expect(run("attach", DENIED), 3, "not permitted to read process %d" % DENIED)
        with tempfile.TemporaryDirectory() as folder:
            self.expect(run("record", DENIED, "--collapsed", cwd=folder), 3,
                        "not permitted to read process %d" % DENIED)
            self.assertEqual(os.listdir(folder), [])

    def test_address_that_cannot_be_had_is_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.expect(run("attach", LIVE, "--listen", "127.0.0.1:%d" % port), 1,
                        "cannot listen on 127.0.0.1 port %d: Address already in use" % port)
        result = run("attach", LIVE, "--listen", "nowhere.invalid:80")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))


class ManualPages(unittest.TestCase):
    """Those that --help=man prints."""

    def pages(self):
        for command in ("", *COMMANDS):
            result = run(*command.split(), "--help=man")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            yield command, result.stdout

    def test_page_has_every_option_of_the_help_and_every_command(self):
        for command, page in self.pages():
            for option in re.findall(r"--[a-z-]+", run(*command.split(), "--help=all").stdout):
                self.assertIn(option.replace("-", "\\-"), page)
            self.assertIn('.TH PYROMETER%s 1 ' % (command and "\\-" + command.upper()), page)
        for command in COMMANDS:
            self.assertIn("\n.BR pyrometer\\-%s (1)\n" % command, run("--help=man").stdout)

    def test_text_is_the_other_form(self):
        self.assertEqual(run("run", "--help=text").stdout, run("run", "-h").stdout)
        result = run("--help=html")
        self.assertEqual((result.returncode, result.stderr), (2, "pyrometer: invalid --help 'html': want text, all or man\n"))

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_mandoc_finds_no_fault(self):
        self.expect_no_fault(["mandoc", "-Tlint", "-Wstyle"])

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_finds_no_fault(self):
        self.expect_no_fault(["groff", "-man", "-Tutf8", "-ww", "-z"])

    def expect_no_fault(self, command):
        for _, page in self.pages():
            result = subprocess.run(command, input=page, capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


class Completion(unittest.TestCase):
    """Completions that bash offers for a line whose last word is being written."""

    def offers(self, *words):
        script = subprocess.run([PROGRAM, "--completion", "bash"], stdout=subprocess.PIPE, text=True, check=True).stdout
        ask = "COMP_WORDS=(%s); COMP_CWORD=%d; _pyrometer; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
            " ".join("'%s'" % word for word in ("pyrometer",) + words), len(words))
        return subprocess.run(["bash", "-c", script + ask], stdout=subprocess.PIPE, text=True, check=True).stdout.split()

    def test_commands_options_formats_and_values_are_offered(self):
        self.assertEqual(self.offers("rec"), ["record"])
        self.assertEqual(self.offers("record", "--coll"), ["--collapsed"])
        self.assertEqual(self.offers("record", "-f", "sp"), ["speedscope"])
        self.assertEqual(self.offers("record", "1", "--speeds"), ["--speedscope"])
        self.assertEqual(self.offers("attach", "--coll"), [])
        self.assertEqual(self.offers("attach", "--mode", "g"), ["gil"])
        self.assertEqual(self.offers("record", "--sort", "cum"), ["cumtime", "cumul-pct"])
        self.assertEqual(self.offers("record", "-r", ""), [])
        self.assertIn("/etc/passwd", self.offers("record", "-o", "/etc/passw"))

    def test_every_shell_has_one(self):
        for shell in ("bash", "zsh", "fish"):
            text = subprocess.run([PROGRAM, "--completion", shell], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertIn("chrome-trace", text)
            self.assertIn("record", text)


if __name__ == "__main__":
    main()
