"""The profile of one request: a recording of this process, of which only the samples of the request are kept."""

import os
import re
import stat
import tempfile
import threading
import time

from .context import REQUEST, new_id
from .program import Error, run
from .recording import record

FIND_SECONDS = 0.3
MAX_SECONDS = 60
MAX_REPORTS = 16
ONE_AT_A_TIME = threading.Lock()


class RequestProfile:
    """Records from start() to finish() or abandon(), of which one is called once. One runs at a time in a process."""

    def __init__(self, *options):
        self._options = options  # further words for `pyrometer record`
        self.id = new_id()
        self.link_id = os.urandom(16).hex()
        self._folder = None
        self._recording = None

    def start(self):
        """Error: another one runs, or sampling could not start."""
        if not ONE_AT_A_TIME.acquire(blocking=False):  # pylint: disable=consider-using-with
            raise Error("another request is being profiled in this process: try again")
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="pyrometer-")  # pylint: disable=consider-using-with
            self._recording = record(self._file("request.pyro"), "--context", REQUEST.name, "-d", "%ds" % MAX_SECONDS, *self._options)
            self._recording.__enter__()
            # A recording finds a variable where a thread has a value of it, and the first samples after that lack it.
            token = REQUEST.set(new_id() + " starts a profile")
            time.sleep(FIND_SECONDS)
            REQUEST.reset(token)
        except BaseException as error:
            self._end()
            if isinstance(error, OSError):
                raise Error("sampling could not start: %s" % error) from None
            raise

    def finish(self):
        """The report, as bytes of HTML. Error: there is none."""
        try:
            self._recording.__exit__(None, None, None)
            run("replay", self._file("request.pyro"), "--context-value", "/: %s /" % re.escape(self.id), "-o", self._file("request.html"))
            with open(self._file("request.html"), "rb") as file:
                return file.read()
        except OSError as error:
            raise Error("the profile could not be written: %s" % error) from None
        finally:
            self._end()

    def finish_and_store(self):
        """Stores the report, or why there is none, under link_id."""
        try:
            _store(self.link_id, self.finish())
        except Error as error:
            _store(self.link_id, ("<!doctype html><title>No profile</title><p>%s\n" % str(error).translate(
                {ord("&"): "&amp;", ord("<"): "&lt;"})).encode("utf-8", "replace"))

    def abandon(self):
        """Ends without a report."""
        try:
            self._recording.__exit__(Error, None, None)
        finally:
            self._end()

    def _file(self, name):
        return os.path.join(self._folder.name, name)

    def _end(self):
        try:
            if self._folder:
                self._folder.cleanup()
        finally:
            ONE_AT_A_TIME.release()


def _folder_of_reports():
    """The folder that all processes of this user share. OSError: it is not ours alone."""
    folder = os.path.join(tempfile.gettempdir(), "pyrometer-reports-%d" % os.geteuid())
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError("%s is not a folder of this user alone: remove it" % folder)
    return folder


def _store(link_id, report):
    """Keeps the newest reports. A folder that cannot be written has none."""
    try:
        folder = _folder_of_reports()
        unfinished = os.path.join(folder, link_id + ".part")
        with open(unfinished, "xb") as file:
            file.write(report)
        os.replace(unfinished, os.path.join(folder, link_id + ".html"))
        entries = sorted(os.scandir(folder), key=lambda entry: entry.stat(follow_symlinks=False).st_mtime)
        for entry in entries[:-MAX_REPORTS]:
            os.unlink(entry.path)
    except OSError:
        pass


def stored(link_id):
    """A stored report; None: there is none, or not yet."""
    try:
        with open(os.path.join(_folder_of_reports(), link_id + ".html"), "rb") as file:
            return file.read()
    except OSError:
        return None
