"""The container image: what is in it, and that the program runs as it."""

import contextlib
import json
import os
import subprocess
import sys
import tarfile

from building import Built, main, run
from installed import CODE, Process


class Image(Built):
    kind = "image"

    def test_it_has_the_program_of_each_platform_and_its_licences_only(self):
        machines = {"amd64": 62, "arm64": 183}
        with tarfile.open(self.made[0]) as archive:
            def blob(digest):
                return archive.extractfile("blobs/" + digest.replace(":", "/"))
            index = json.load(archive.extractfile("index.json"))
            platforms = json.load(blob(index["manifests"][0]["digest"]))["manifests"]
            self.assertEqual(sorted(one["platform"]["architecture"] for one in platforms), sorted(machines))
            for platform in platforms:
                manifest = json.load(blob(platform["digest"]))
                about = json.load(blob(manifest["config"]["digest"]))
                found = {}
                for layer in manifest["layers"]:
                    with tarfile.open(fileobj=blob(layer["digest"])) as files:
                        found.update((entry.name.strip("/"), files.extractfile(entry).read(20)) for entry in files if entry.isfile())
                self.assertEqual(sorted(found), ["usr/bin/pyrometer", "usr/share/doc/pyrometer/copyright"])
                self.assertEqual(found["usr/bin/pyrometer"][18], machines[platform["platform"]["architecture"]])
                self.assertEqual(about["config"]["Entrypoint"], ["/usr/bin/pyrometer"])
                self.assertEqual(about["config"]["Labels"]["org.opencontainers.image.licenses"], "MIT")

    def setUp(self):
        self.storage = ["buildah", "--root", os.path.join(self.folder, "storage"), "--runroot", os.path.join(self.folder, "run"),
                        "--storage-driver", "vfs"]

    @contextlib.contextmanager
    def container(self, *options):
        """The words before a command that runs in a new container of the image."""
        name = run(*self.storage, "from", *options, "oci-archive:" + self.made[0]).strip()
        try:
            yield lambda *words: [*self.storage, "run", "--isolation", "chroot", *words, name, "--", "/usr/bin/pyrometer"]
        finally:
            run(*self.storage, "rm", name)

    def test_it_runs(self):
        with self.container() as command:
            self.assertRegex(run(*command(), "--version"), r"^pyrometer \d+\.\d+\.\d+\n")

    def test_it_records_a_process_that_it_sees(self):
        # The profile of this builder lets nobody load a program into the kernel, whatever the capabilities.
        rows = (("remote", (), ("SYS_PTRACE",)), ("kernel", ("--security-opt", "seccomp=unconfined"), ("SYS_PTRACE", "BPF", "PERFMON")))
        for engine, options, capabilities in rows:
            with self.subTest(engine), self.container(*options) as command, Process([sys.executable, "-c", CODE]) as target:
                target.wait_ready()
                words = [word for name in capabilities for word in ("--cap-add", "CAP_" + name)]
                # A file, because this builder may lose the last output of a command.
                command = command(*words, "--volume", self.folder + ":/out")
                done = subprocess.run([*command, "record", "--engine", engine, "-d", "1", "-o", "/out/%s.folded" % engine, str(target.pid)],
                                      stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
                if engine == "kernel" and "kernel engine" in done.stderr and done.returncode != 0:
                    self.skipTest(done.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(os.path.join(self.folder, engine + ".folded"), encoding="utf-8") as file:
                    self.assertIn("work", file.read())


if __name__ == "__main__":
    main()
