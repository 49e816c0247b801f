"""The summary says what is true: programs that people profile count for themselves where their time goes."""

import json
import os
import pathlib
import shutil
import tempfile

from harness import Test, file_in, main, run_program, victim

FOLDER = pathlib.Path(__file__).parents[2] / "e2e" / "programs"
SECONDS = 3
# Shares are those of one recording of some seconds, beside other load; what the program does besides counts, too.
NEAR = 0.35
CELL_LINE = 5


def answer_line(name):
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    return next(i for i, line in enumerate(lines, 1) if line.endswith("# the answer"))


class Answers(Test):
    def observe(self, path, *options):
        """-> (what the summary says, what the program says)"""
        out = file_in("answers.json")
        with victim(str(path), str(SECONDS + 2)) as process:
            _, code = run_program("record", process.pid, "-d", SECONDS, "--summary-json", "-o", out, *options)
            self.assertEqual(code, 0)
            truth = json.loads(process.wait_line("^TRUTH (.*)").group(1))
        with open(out, encoding="utf-8") as file:
            summary = json.load(file)
        self.assertAlmostEqual(sum(summary["parts"].values()), 1, places=3)
        return summary, truth

    def check_hottest(self, summary, path, line):
        hot = summary["hot"]
        first = hot["lines"][0]
        self.assertEqual((os.path.basename(first["file"]), first["line"]), (path, line), hot["lines"])
        return first["samples"] / hot["samples"]

    def check_running(self, summary, truth, path, line):
        share = self.check_hottest(summary, path, line)
        self.assertAlmostEqual(share, truth["share"], delta=NEAR, msg=summary["headline"])

    def test_a_page_that_asks_the_database_for_each_row(self):
        summary, truth = self.observe(FOLDER / "wsgi_queries.py")
        line = answer_line("wsgi_queries.py")
        # Its threads live for a part of a second, of which a busy machine takes a part.
        self.assertGreater(truth["share"], 0.5)
        self.check_hottest(summary, "wsgi_queries.py", line)
        self.assertIn("wsgi_queries.py:%d" % line, summary["headline"])

    def test_a_command_that_commits_each_row(self):
        summary, truth = self.observe(FOLDER / "commits.py")
        line = answer_line("commits.py")
        # Its clock cannot tell the wait for the disk from that for a processor.
        waited = summary["parts"]["blocked"] + summary["parts"]["needs_processor"]
        self.assertAlmostEqual(waited, truth["share"], delta=NEAR, msg=summary["headline"])
        self.assertEqual(summary["waiting"]["lines"][0]["line"], line, summary["waiting"]["lines"])
        self.assertIn("commits.py:%d" % line, summary["headline"])

    def test_a_pool_with_more_workers_than_work(self):
        summary, truth = self.observe(FOLDER / "thread_pool.py")
        self.check_running(summary, truth, "thread_pool.py", answer_line("thread_pool.py"))
        threads = summary["observed"]["threads"]
        self.assertAlmostEqual(summary["parts"]["idle"], truth["idle_threads"] / threads, delta=NEAR, msg=summary["headline"])

    def test_an_event_loop_whose_tasks_wait_for_a_lock(self):
        summary, truth = self.observe(FOLDER / "asyncio_lock.py", "--async-mode", "all")
        self.assertGreater(summary["parts"]["idle"], 0.5, summary["headline"])
        self.assertEqual(summary["observed"]["threads"], 1)
        # The clients are tasks, too, each of which waits for its handler.
        lines = [line for line in summary["tasks"]["lines"] if line["name"].endswith("handle")]
        self.assertEqual(lines[0]["line"], answer_line("asyncio_lock.py"), summary["tasks"])
        self.assertAlmostEqual(lines[0]["samples"] / sum(line["samples"] for line in lines), truth["share"], delta=NEAR)

    def test_a_cell_of_a_notebook(self):
        with tempfile.TemporaryDirectory() as folder:
            packages = pathlib.Path(folder, "site-packages")
            packages.mkdir()
            shutil.copy(FOLDER / "notebook.py", packages / "kernel.py")
            summary, truth = self.observe(packages / "kernel.py")
        self.assertEqual(summary["hot"]["own_code"], {"kind": "cells", "packages": []})
        self.check_running(summary, truth, "In [4]", CELL_LINE)


if __name__ == "__main__":
    main()
