"""The files of a machine that boots without a disk: an archive of cpio ("newc") with files of this host, at the same places, or with
those of a system for another processor that lies in a folder of this host."""

import collections
import glob
import os
import re
import shutil
import stat
import struct
import subprocess

# Debian's interpreter there.
PYTHON = "/usr/bin/python3.11"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSROOTS = os.environ.get("PYROMETER_SYSROOTS", os.path.join(ROOT, ".sysroots"))
# By the end of a kernel's version: where the system lies that the machine has the files of, and where the interpreters of
# scripts/get-pythons are.
System = collections.namedtuple("System", "base pythons")
SYSTEMS = {"amd64": System("/", os.path.realpath(os.environ.get("PYROMETER_PYTHONS", os.path.join(ROOT, ".pythons")))),
           "arm64": System(os.path.realpath(SYSROOTS + "/aarch64"), os.path.realpath(SYSROOTS + "/aarch64-pythons"))}
PROGRAMS = ["/bin/bash", "/usr/bin/realpath", "/usr/bin/sort", "/usr/bin/timeout", "/usr/bin/setpriv", "/usr/bin/unshare", PYTHON]
FOLDERS = ["scripts", "tests/system", "tests/support", "tests/victims"]
# Files that only a compiler reads, and those that are added by themselves.
OF_COMPILERS = re.compile(r"/include(/|$)|/(pkgconfig|python3[.0-9]*)(/|$)|\.[ao]$")
# Parts of the standard library that no victim imports.
LEFT_OUT = re.compile(r"/(test|tests|idlelib|lib2to3|ensurepip|tkinter|turtledemo|pydoc_data|config-[^/]*|dist-packages|site-packages|"
                      r"__pycache__|lib-dynload/_(codecs_..|testc)[^/]*|distutils|i18n|doc|man|locale|share|include)(/|$)")


def folders_above(path):
    while path != "/":
        path = os.path.dirname(path)
        yield path


class Archive:
    """base: the folder that is / there. What is not in it is at the same place here."""

    def __init__(self, file, base):
        self.file, self.base, self.names, self.number = file, base.rstrip("/"), set(), 0

    def here(self, path):
        inside = self.base + path
        return inside if os.path.lexists(inside) else path

    def real_folder(self, path):
        real = os.path.realpath(self.here(path))
        return real[len(self.base):] if real.startswith(self.base + "/") else real

    def put(self, name, mode, contents=b"", device=(0, 0)):
        if name in self.names:
            return
        self.names.add(name)
        self.number += 1
        encoded = name.lstrip("/").encode() + b"\0"
        fields = (self.number, mode, 0, 0, 1, 0, len(contents), 0, 0, *device, len(encoded), 0)
        self.write(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self.write(contents)

    def write(self, data):
        self.file.write(data + b"\0" * (-len(data) % 4))

    def folder(self, path):
        for above in [*reversed([*folders_above(path)]), path]:
            if above != "/":
                self.put(above, stat.S_IFDIR | 0o755)

    def add(self, path):
        """Adds the file at a path, and what a link there leads to."""
        if path in self.names or not os.path.lexists(self.here(path)):
            return
        above = os.path.dirname(path)
        real = self.real_folder(above)
        if real != above:
            # A folder that is a link, such as /lib.
            self.link_above(above)
            path = os.path.join(real, os.path.basename(path))
            if path in self.names:
                return
        self.folder(os.path.dirname(path))
        status = os.lstat(self.here(path))
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(self.here(path))
            self.put(path, status.st_mode, os.fsencode(target))
            self.add(os.path.normpath(os.path.join(os.path.dirname(path), target)))
        elif stat.S_ISDIR(status.st_mode):
            self.folder(path)
        elif stat.S_ISREG(status.st_mode):
            with open(self.here(path), "rb") as file:
                self.put(path, status.st_mode, file.read())

    def link_above(self, folder):
        for path in [*reversed([*folders_above(folder)]), folder]:
            if os.path.islink(self.here(path)):
                self.folder(os.path.dirname(path))
                self.put(path, stat.S_IFLNK | 0o777, os.fsencode(os.readlink(self.here(path))))
                return

    def tree(self, top, left_out=re.compile("$^")):
        for folder, folders, files in os.walk(self.here(top)):
            within = folder[len(self.here(top)):] + "/"
            folders[:] = [name for name in folders if not left_out.search(within + name)]
            place = os.path.normpath(top + within)
            self.folder(place)
            for name in files + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
                if not left_out.search(within + name):
                    self.add(os.path.join(place, name))

    def program(self, path):
        """With the libraries that it loads. A system for another processor has all of its libraries there."""
        self.add(path)
        if self.base:
            return
        said = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout
        for library in re.findall(r"(/[^ ]+) \(0x", said):
            self.add(library)

    def end(self):
        self.put("TRAILER!!!", 0)


def machine_of(path):
    """The word for its processor in the ELF header; None: it is no program."""
    with open(path, "rb") as file:
        header = file.read(20)
    return struct.unpack_from("<H", header, 18)[0] if header[:4] == b"\x7fELF" else None


def write(path, root, init, named, system):
    """named: words that may be lists of files which the test needs."""
    with open(path, "wb") as file:
        archive = Archive(file, system.base)
        for folder in ("/proc", "/sys", "/dev", "/tmp", "/root", "/etc", "/bin", "/run", "/var/tmp"):
            if os.path.islink(archive.here(folder)):
                archive.link_above(folder)
            else:
                archive.folder(folder)
        archive.put("/dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        archive.put("/init", stat.S_IFREG | 0o755, init.encode())
        archive.put("/etc/passwd", stat.S_IFREG | 0o644, b"root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n")
        archive.put("/etc/group", stat.S_IFREG | 0o644, b"root:x:0:\nnogroup:x:65534:\n")
        for program in [*PROGRAMS, shutil.which("busybox") if system.base == "/" else "/bin/busybox"]:
            archive.program(program)
        archive.tree("/usr/lib/python3.11", LEFT_OUT)
        # Libraries that a thread needs to end, and that the program loads to push.
        for name in ("libgcc_s.so.1", "libcurl-gnutls.so.4") if system.base == "/" else ():
            for library in glob.glob("/usr/lib/*-linux-gnu/" + name):
                archive.program(library)
        if system.base != "/":
            for folder in ("/lib", "/usr/lib"):
                archive.tree(folder, OF_COMPILERS)
        for debian in glob.glob(system.pythons + "/debian/*"):
            archive.tree(debian, LEFT_OUT)
        for link in glob.glob(system.pythons + "/bin/*"):
            if os.path.realpath(link).startswith(system.pythons):
                archive.add(link)
        for library in glob.glob("/usr/lib/python3.11/lib-dynload/*.so"):
            archive.program(library)
        for folder in FOLDERS:
            archive.tree(os.path.join(root, folder))
        for word in named:
            for place in word.split(":"):
                if os.path.isfile(place):
                    archive.add(place) if machine_of(place) is None else archive.program(place)
        archive.end()
