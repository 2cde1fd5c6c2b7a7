"""A container image of the program, on a few packages of Debian: no shell, no package manager.

Writes one tar archive that is an OCI image layout (OCI Image Format 1.0) and also what
`docker load` reads. It runs nothing of what it packs, so it needs no root, no container engine, and
no daemon. The same program and packages give the same bytes: entries are sorted, files keep the
times of their packages, and everything else has the time of SOURCE_DATE_EPOCH.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile

USER = 65532
GROUP = 65532
PORT = 8080
DATA = "/var/lib/perennial"
CONFIGURATION = "/etc/perennial"
SECOND = 1_000_000_000

# The image needs only data from these packages. It does not need their dependencies, such as a shell.
DATA_ONLY = {
    # Licences of libraries refer to the texts of these.
    "base-files": r"usr/lib/os-release|etc/debian_version|usr/share/common-licenses/.*",
    "ca-certificates": r"usr/share/ca-certificates/.*",
    "tzdata": r"usr/share/zoneinfo/(?!right/|posix/).*",
}
# Documentation, and modules of the C library for other character sets than Unicode. Licences are kept.
UNUSED = re.compile(r"usr/share/(?!doc/[^/]+(/copyright)?$|common-licenses/|zoneinfo/|ca-certificates/)"
                    r"|usr/lib/[^/]+/gconv/|etc/(?!debian_version)")
# Debian has links at these paths since it merged these folders into /usr.
MERGED = ["bin", "lib", "lib64", "sbin"]


class Layer:
    """The files of one layer, by their paths without a slash at the beginning."""

    def __init__(self, time):
        self.time, self.entries = time, {}

    def add(self, entry, content=b""):
        parent = os.path.dirname(entry.name)
        if parent and parent not in self.entries:
            self.folder(parent)
        self.entries[entry.name] = (entry, content)

    def folder(self, path, mode=0o755, owner=(0, 0)):
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, mode, self.time
        entry.uid, entry.gid = owner
        self.add(entry)

    def file(self, path, content, mode=0o644):
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode, entry.mtime = len(content), mode, self.time
        self.add(entry, content)

    def link(self, path, target):
        entry = tarfile.TarInfo(path)
        entry.type, entry.linkname, entry.mtime = tarfile.SYMTYPE, target, self.time
        entry.mode = 0o777
        self.add(entry)

    def tar(self):
        """A hard link comes after the file that it names."""
        def order(item):
            return item[1][0].islnk(), item[0]

        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for _, (entry, content) in sorted(self.entries.items(), key=order):
                entry.uname = entry.gname = ""
                archive.addfile(entry, io.BytesIO(content) if entry.isreg() else None)
        return written.getvalue()


def merged(path):
    """The path in a Debian whose folders are merged: lib/x becomes usr/lib/x."""
    path = os.path.normpath(path.lstrip("/"))
    return f"usr/{path}" if path.split("/")[0] in MERGED else path


def add_package(layer, package):
    """The package's files, and its description, by which scanners find it.

    Returns its certificates of authorities, by path.
    """
    field = subprocess.run(
        ["dpkg-deb", "--field", package], check=True, capture_output=True, text=True).stdout
    name = re.search(r"^Package: (\S+)$", field, re.M)[1]
    layer.file(f"var/lib/dpkg/status.d/{name}", field.encode())
    files = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    wanted = re.compile(DATA_ONLY.get(name, ".*") + r"|usr/share/doc/.*")
    certificates = {}
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        for entry in archive:
            entry.name = merged(entry.name)
            if entry.isdir() or not wanted.fullmatch(entry.name) or UNUSED.match(entry.name):
                continue
            if entry.islnk():
                entry.linkname = merged(entry.linkname)
            content = archive.extractfile(entry).read() if entry.isreg() else b""
            if entry.name.startswith("usr/share/ca-certificates/"):
                certificates[entry.name] = content
            else:
                layer.add(entry, content)
    return certificates


def debian_layer(packages):
    """Has no file of this version of Perennial, so that versions can share it."""
    layer = Layer(time=0)
    for folder in MERGED:
        layer.folder(f"usr/{folder}")
        layer.link(folder, f"usr/{folder}")
    for folder in ["dev", "proc", "run", "sys"]:
        layer.folder(folder)
    layer.folder("tmp", mode=0o1777)
    certificates = {}
    for package in sorted(packages):
        certificates |= add_package(layer, package)
    layer.link("etc/os-release", "../usr/lib/os-release")
    layer.file("etc/passwd", (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"perennial:x:{USER}:{GROUP}:Perennial:{DATA}:/usr/sbin/nologin\n").encode())
    layer.file("etc/group", f"root:x:0:\nperennial:x:{GROUP}:\n".encode())
    layer.file("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n")
    layer.file("etc/ssl/certs/ca-certificates.crt", b"".join(
        certificates[path].rstrip() + b"\n" for path in sorted(certificates)))
    layer.folder(CONFIGURATION.lstrip("/"))
    layer.folder(DATA.lstrip("/"), mode=0o700, owner=(USER, GROUP))
    return layer


def program_layer(program, documents, time):
    layer = Layer(time)
    layer.file("usr/bin/perennial", program.read_bytes(), mode=0o755)
    for file in sorted(path for path in documents.rglob("*") if path.is_file()):
        layer.file(f"usr/share/doc/perennial/{file.relative_to(documents)}", file.read_bytes())
    return layer


def configuration(given, created, layers):
    """What runs, as which user, and where its data are.

    Docker reads the health check here, too; the image format of OCI does not name it.
    """
    title = "org.opencontainers.image."
    return {
        "created": created, "architecture": given.architecture, "os": "linux",
        "config": {
            "User": f"{USER}:{GROUP}",
            "ExposedPorts": {f"{PORT}/tcp": {}},
            "Env": [
                "PATH=/usr/bin", f"HOME={DATA}",
                f"PERENNIAL_CONFIG={CONFIGURATION}/perennial.yaml",
                f"PERENNIAL_DATABASE={DATA}/perennial.sqlite",
                "PERENNIAL_HOST=0.0.0.0", f"PERENNIAL_PORT={PORT}",
            ],
            "Entrypoint": ["/usr/bin/perennial"],
            "Cmd": ["serve"],
            "Volumes": {DATA: {}},
            "WorkingDir": DATA,
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/perennial", "health"],
                "Interval": 30 * SECOND, "Timeout": 10 * SECOND, "StartPeriod": 60 * SECOND,
                "Retries": 3,
            },
            "Labels": {
                title + "created": created,
                title + "description": "Self-hosted backend for Apple's in-app purchases",
                title + "licenses": "Apache-2.0",
                title + "revision": given.revision,
                title + "title": "perennial",
                title + "version": given.version,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer, _ in layers]},
        "history": [{"created": created, "created_by": comment} for _, comment in layers],
    }


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def encoded(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Layout:
    """The files of an image layout, by their paths."""

    def __init__(self):
        self.files = {"oci-layout": encoded({"imageLayoutVersion": "1.0.0"})}

    def blob(self, content, media_type):
        self.files[self.path(digest(content))] = content
        return {"mediaType": f"application/vnd.oci.image.{media_type}",
                "digest": digest(content), "size": len(content)}

    @staticmethod
    def path(name):
        return "blobs/" + name.replace(":", "/")

    def tar(self, time):
        layer = Layer(time)
        for path, content in self.files.items():
            layer.file(path, content)
        return layer.tar()


def image(given, time):
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    created = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = [
        (debian_layer(given.packages).tar(), "packages of Debian"),
        (program_layer(given.program, given.documents, time).tar(),
         f"perennial {given.version}"),
    ]
    layout = Layout()
    config = layout.blob(encoded(configuration(given, created, layers)), "config.v1+json")
    packed = [layout.blob(gzip.compress(layer, 6, mtime=0), "layer.v1.tar+gzip")
              for layer, _ in layers]
    manifest = layout.blob(encoded({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": packed}), "manifest.v1+json")
    manifest["platform"] = {"architecture": given.architecture, "os": "linux"}
    manifest["annotations"] = {
        "io.containerd.image.name": f"docker.io/library/perennial:{given.version}",
        "org.opencontainers.image.ref.name": given.version}
    layout.files["index.json"] = encoded({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest]})
    # For `docker load`.
    layout.files["manifest.json"] = encoded([{
        "Config": layout.path(config["digest"]), "RepoTags": [f"perennial:{given.version}"],
        "Layers": [layout.path(layer["digest"]) for layer in packed]}])
    return layout.tar(time)


def main():
    parser = argparse.ArgumentParser()
    for name in ["version", "architecture", "revision"]:
        parser.add_argument("--" + name, required=True)
    for name in ["program", "documents", "output"]:
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("packages", nargs="+", metavar="FILE.deb")
    given = parser.parse_args()
    given.output.write_bytes(image(given, int(os.environ["SOURCE_DATE_EPOCH"])))


main()
