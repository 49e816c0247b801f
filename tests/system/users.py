"""Programs of several users, and a folder that all of them may reach."""

import ctypes
import os
import shutil
import tempfile
import unittest

from harness import Test

NOBODY = 65534
# Those of the systemd service.
CAPABILITIES = {"dac_read_search": 2, "setgid": 6, "setuid": 7, "sys_ptrace": 19, "checkpoint_restore": 40}


def as_user(uid, *capabilities):
    """Runs in a child before the program: that user, with these capabilities as a service has them."""
    def become():
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        bits = sum(1 << CAPABILITIES[name] for name in capabilities)
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)(*[part for half in (bits & 0xffffffff, bits >> 32) for part in (half,) * 3])
        assert libc.capset(header, sets) == 0, "capset: %d" % ctypes.get_errno()
        for name in capabilities:
            assert libc.prctl(47, 2, CAPABILITIES[name], 0, 0) == 0, "PR_CAP_AMBIENT_RAISE"
    return become


class UsersTest(Test):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can be several users")
        # Everybody may reach it: what is beneath says by itself who may read it.
        cls.folder = tempfile.mkdtemp(prefix="pyrometer-users-")
        os.chmod(cls.folder, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)

    @classmethod
    def put(cls, name, text, mode=0o644):
        path = os.path.join(cls.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path
