"""The folder of captures while others put something else in its place, or own what is in it."""

import os
import shutil
import tempfile
import unittest

from harness import FOLDER, Test, has_landlock, main, victim
from host import Host

LONG = "60"
NOBODY = 65534


def content_of(path):
    """Every file below it, with what is in it."""
    found = {}
    for at, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(at, name), "rb") as file:
                found[os.path.relpath(os.path.join(at, name), path)] = file.read()
    return found


class Swapped(Test):
    def setUp(self):
        self.around = tempfile.mkdtemp(prefix="swap-", dir=FOLDER)
        self.addCleanup(shutil.rmtree, self.around)
        self.data, self.away, self.other = (os.path.join(self.around, name) for name in ("data", "away", "other"))
        os.mkdir(self.data)
        os.mkdir(self.other)
        for name in ("20200101-000000-1-abcd.pyro", "20200101-000000-1-abcd.json", "kept"):
            with open(os.path.join(self.other, name), "w", encoding="utf-8") as file:
                file.write("of somebody else")
        os.utime(os.path.join(self.other, "20200101-000000-1-abcd.pyro"), (0, 0))
        self.before = content_of(self.other)

    def use(self, host, target, is_recorded):
        """Everything that writes into the folder, or removes from it."""
        one = host.start(pids=[target.pid], rate_hz=200, duration_s=1, name="a name")
        session = host.until("/sessions/" + one, lambda found: found["state"] == "ended" and
                             (found["capture_error"] or found["capture"]))
        self.assertEqual(session["capture_error"] is None, is_recorded, session)
        for name in [session["capture"] or "x", "20200101-000000-1-abcd"]:
            host.send("PATCH", "/captures/" + name, {"title": "t"})
        host.put(b"x" * 100)
        self.assertEqual(host.send("DELETE", "/captures/20200101-000000-1-abcd").status, 404)
        self.assertEqual(host.ask("/api/v1/captures").status, 200)
        return session

    def check_other(self):
        self.assertEqual(content_of(self.other), self.before)

    def test_a_link_in_its_place_leads_nowhere(self):
        with victim("chain.py", LONG) as target, Host("--keep-days", "1", data=self.data) as host:
            os.rename(self.data, self.away)
            os.symlink(self.other, self.data)
            session = self.use(host, target, True)
            self.assertIn(session["capture"] + ".pyro", os.listdir(self.away))
            self.check_other()

    def use_again(self, host, target, folder):
        """A folder that is gone is made again, unless the server is limited to the one that was there."""
        session = self.use(host, target, not has_landlock())
        if has_landlock():
            self.assertRegex(session["capture_error"], "removed and cannot be created")
        else:
            self.assertIn(session["capture"] + ".pyro", os.listdir(folder))

    def test_a_link_in_the_place_of_one_that_is_gone_leads_nowhere(self):
        with victim("chain.py", LONG) as target, Host("--keep-days", "1", data=self.data) as host:
            shutil.rmtree(self.data)
            os.symlink(self.other, self.data)
            session = self.use(host, target, False)
            # Root's server may not see what is in its place.
            self.assertRegex(session["capture_error"], "the folder was replaced" if os.geteuid() else "removed and cannot be created")
            self.check_other()
            # Without the link, it is made again where that is permitted.
            os.unlink(self.data)
            self.use_again(host, target, self.data)
            self.check_other()

    def test_a_link_above_one_that_is_gone_leads_nowhere(self):
        data = os.path.join(self.data, "captures")
        os.mkdir(data)
        with victim("chain.py", LONG) as target, Host(data=data) as host:
            shutil.rmtree(data)
            os.rename(self.data, self.away)
            os.symlink(self.other, self.data)
            self.use_again(host, target, os.path.join(self.away, "captures"))
            self.check_other()

    def test_a_link_that_its_user_made_is_followed(self):
        link = os.path.join(self.around, "link")
        os.symlink(self.data, link)
        with victim("chain.py", LONG) as target, Host(data=link) as host:
            shutil.rmtree(self.data)
            self.use_again(host, target, self.data)

    @unittest.skipIf(os.geteuid() != 0, "only root can make a folder another user's")
    def test_another_users_folder_in_its_place_is_not_used(self):
        with victim("chain.py", LONG) as target, Host(data=self.data) as host:
            shutil.rmtree(self.data)
            os.mkdir(self.data)
            os.chown(self.data, NOBODY, NOBODY)
            self.use(host, target, False)
            self.assertEqual(os.listdir(self.data), [])


class Owned(Test):
    @unittest.skipIf(os.geteuid() != 0, "only root can give files away")
    def test_files_of_others_hold_nothing_up(self):
        with victim("chain.py", LONG) as target, Host() as host:
            one = host.start(pids=[target.pid], rate_hz=200, duration_s=1)
            name = host.until("/sessions/" + one, lambda found: found["state"] == "ended")["capture"]
            host.until("/captures/" + name, lambda found: found["state"] == "complete")
            mine = os.path.join(host.data, name + ".pyro")
            for path in ("closed", "open"):
                shutil.copy(mine, os.path.join(host.data, path + ".pyro"))
                os.chown(os.path.join(host.data, path + ".pyro"), NOBODY, NOBODY)
            os.chmod(os.path.join(host.data, "closed.pyro"), 0)
            os.mkdir(os.path.join(host.data, "open.json"))
            listed = {row["name"]: row for row in host.get("/captures")["captures"]}
            self.assertIn(name, listed)
            for found in listed:
                self.assertIn(host.ask("/api/v1/captures/%s/file" % found).status, (200, 404))
                opened = host.send("POST", "/captures", {"name": found})
                self.assertIn(opened.status, (200, 202, 404))
            # Its words cannot be written: that is said, and the rest goes on.
            self.assertIn(host.send("PATCH", "/captures/open", {"title": "t"}).status, (403, 404, 500))
            self.assertEqual(host.send("PATCH", "/captures/" + name, {"title": "t"}).status, 200)


if __name__ == "__main__":
    main()
