"""Root's command in a folder of another user, who has put a link, a pipe or a file where root will write or read."""

import os
import shutil
import tempfile
import unittest

from harness import PROGRAM, SLOWNESS, Process, Test, main, newest_python, run_program, victim

SOMEBODY = 45454
LONG = "60"
SHORT = ("-d", str(0.3 * SLOWNESS), "-r", "200")


@unittest.skipUnless(os.geteuid() == 0, "only root has rights that another user lacks")
class Links(Test):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pyrometer-links-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.theirs, self.ours = self.path("theirs"), self.path("ours")
        os.mkdir(self.theirs)
        os.mkdir(self.ours)
        os.chown(self.theirs, SOMEBODY, SOMEBODY)
        self.kept = self.path("ours", "kept")
        with open(self.kept, "w", encoding="ascii") as file:
            file.write("a-token-of-root's-that-is-long-enough".replace("'", "-"))
        os.chmod(self.kept, 0o600)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def plant(self, name, make):
        path = self.path("theirs", name)
        make(path)
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
        return path

    def refuse(self, pattern, *words):
        process, code = run_program(*map(str, words))
        self.assertNotEqual(code, 0, process.output())
        self.assertEqual(process.out, [], process.output())
        self.assertRegex(process.err[-1], "^pyrometer: cannot .*" + pattern, process.output())
        with open(self.kept, encoding="ascii") as file:
            self.assertTrue(file.read().startswith("a-token-of-root"), words)
        self.assertEqual(os.listdir(self.ours), ["kept"], words)

    def test_a_link_is_not_followed(self):
        file = self.plant("file", lambda path: os.symlink(self.kept, path))
        new = self.plant("new", lambda path: os.symlink(self.path("ours", "new"), path))
        folder = self.plant("folder", lambda path: os.symlink("../ours", path))
        capture = self.path("a.pyro")
        reason = "symbolic link of another user"
        with victim("chain.py", LONG) as target:
            self.assertEqual(run_program("record", str(target.pid), *SHORT, "-o", capture)[1], 0)
            for path in (file, new, folder + "/new"):
                for option in ("--binary=", "--collapsed=", "--flamegraph=", "--audit=", "--quality="):
                    self.refuse(reason, "record", target.pid, *SHORT, option + path)
                for words in (("replay", capture, "--collapsed", "-o"), ("diff", capture, capture, "-o"), ("merge", capture, capture, "-o")):
                    self.refuse(reason, *words, path)
        self.refuse(reason, "serve", "--no-data", "--token-file", file)
        self.refuse(reason, "serve", "--no-data", "--listen", "unix:" + folder + "/new")
        for data in (folder, folder + "/new"):
            self.refuse(reason, "serve", "--data", data, "--listen", "127.0.0.1:0")
        os.symlink(capture, self.path("theirs", "capture"))
        os.chown(self.path("theirs", "capture"), SOMEBODY, SOMEBODY, follow_symlinks=False)
        for command in (("replay", "--pstats"), ("serve",), ("diff", capture)):
            process, code = run_program(*command, self.path("theirs", "capture"))
            self.assertEqual(code, 1, process.output())
            self.assertRegex(process.err[-1], reason)

    def test_another_user_follows_links_as_ever(self):
        """It has no rights that the owner of a link lacks."""
        os.chmod(self.folder, 0o755)
        program = self.path("pyrometer")
        shutil.copy(PROGRAM, program)
        link = self.path("theirs", "link")
        os.symlink("a.folded", link)
        os.chown(link, SOMEBODY + 1, SOMEBODY + 1, follow_symlinks=False)
        words = ["setpriv", "--reuid=%d" % SOMEBODY, "--regid=%d" % SOMEBODY, "--clear-groups", "--inh-caps=-all", "--"]
        with Process([*words, newest_python(), "-c", "print('READY', flush=True)\nwhile True: sum(range(999))"], cwd="/") as target:
            target.wait_ready()
            with Process([*words, program, "record", str(target.pid), *SHORT, "--collapsed=" + link], cwd="/") as process:
                self.assertEqual(process.wait(), 0, process.output())
        self.assertEqual(sorted(os.listdir(self.theirs)), ["a.folded", "link"])

    def test_another_name_of_roots_file_is_not_written(self):
        hard = self.plant("hard", lambda path: os.link(self.kept, path))
        os.chown(hard, 0, 0)
        with victim("chain.py", LONG) as target:
            for option in ("--binary=", "--audit="):
                self.refuse("hard link", "record", target.pid, *SHORT, option + hard)

    def test_a_pipe_of_another_user_is_not_waited_for(self):
        pipe = self.plant("pipe", os.mkfifo)
        with victim("chain.py", LONG) as target:
            for option in ("--binary=", "--collapsed=", "--audit=", "--quality="):
                self.refuse("belongs to another user", "record", target.pid, *SHORT, option + pipe)

    def test_what_root_and_the_owner_have_made_is_written(self):
        report, capture, audit = (self.path("theirs", name) for name in ("a.folded", "a.pyro", "audit"))
        for path in (capture, audit):
            with open(path, "w", encoding="ascii"):
                os.chown(path, SOMEBODY, SOMEBODY)
        os.symlink(report, self.path("link"))
        with victim("chain.py", LONG) as target:
            for _ in range(2):
                process, code = run_program("record", str(target.pid), *SHORT, "--collapsed=" + self.path("link"), "--binary=" + capture,
                                            "--audit=" + audit, "--quality=" + self.path("theirs", "quality"))
                self.assertEqual(code, 0, process.output())
        for path in (report, capture, audit, self.path("theirs", "quality")):
            self.assertGreater(os.path.getsize(path), 0, path)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(sorted(os.listdir(self.theirs)), ["a.folded", "a.pyro", "audit", "quality"])


if __name__ == "__main__":
    main()
