"""The container image: what is in it, and that the program runs as it."""

import json
import os
import tarfile

from building import Built, main, run


class Image(Built):
    kind = "image"

    def test_it_has_the_program_and_its_licences_only(self):
        with tarfile.open(self.made[0]) as archive:
            def blob(digest):
                return archive.extractfile("blobs/" + digest.replace(":", "/"))
            index = json.load(archive.extractfile("index.json"))
            manifest = json.load(blob(index["manifests"][0]["digest"]))
            about = json.load(blob(manifest["config"]["digest"]))
            names = []
            for layer in manifest["layers"]:
                with tarfile.open(fileobj=blob(layer["digest"])) as files:
                    names += [entry.name.strip("/") for entry in files if entry.isfile()]
        self.assertEqual(sorted(names), ["usr/bin/pyrometer", "usr/share/doc/pyrometer/copyright"])
        self.assertEqual(about["config"]["Entrypoint"], ["/usr/bin/pyrometer"])
        self.assertEqual(about["config"]["Labels"]["org.opencontainers.image.licenses"], "MIT")

    def test_it_runs(self):
        storage = ["buildah", "--root", os.path.join(self.folder, "storage"), "--runroot", os.path.join(self.folder, "run"),
                   "--storage-driver", "vfs"]
        name = run(*storage, "from", "oci-archive:" + self.made[0]).strip()
        try:
            said = run(*storage, "run", "--isolation", "chroot", name, "--", "/usr/bin/pyrometer", "--version")
            self.assertRegex(said, r"^pyrometer \d+\.\d+\.\d+\n")
        finally:
            run(*storage, "rm", name)
            run(*storage, "rmi", "--all", "--force")


if __name__ == "__main__":
    main()
