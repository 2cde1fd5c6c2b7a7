"""The list of a program's parts in CycloneDX: Swift packages, Swift's runtime, Debian's packages in
the image.

It has no time of its own and no random number: the same parts give the same bytes.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

SWIFT_LICENCE = "Apache-2.0 WITH Swift-exception"

# The licences of packages whose own licence file no program can read, or whose file names the licence of
# tests. Names have no version numbers, so that they also match the packages of the next Debian.
DEBIAN_LICENCES = {
    "base-files": "GPL-2.0-or-later",
    "ca-certificates": "MPL-2.0",
    "gcc-base": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libc": "LGPL-2.1-or-later",
    "libcom-err": "MIT",
    "libdb": "Sleepycat",
    "libffi": "MIT",
    "libgcc-s": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgmp": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libgnutls": "LGPL-2.1-or-later",
    "libgssapi-krb": "MIT",
    "libhogweed": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libidn": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libk5crypto": "MIT",
    "libkeyutils": "LGPL-2.0-or-later",
    "libkrb": "MIT",
    "libkrb5support": "MIT",
    "libldap": "OLDAP-2.8",
    "libnettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libp11-kit": "BSD-3-Clause",
    "libpq": "PostgreSQL",
    "libsasl": "BSD-Attribution-HPND-disclaimer",
    "libsasl2-modules-db": "BSD-Attribution-HPND-disclaimer",
    "libsqlite": "blessing",
    "libssl": "Apache-2.0",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libtasn": "LGPL-2.1-or-later",
    "libunistring": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "tzdata": "LicenseRef-public-domain",
    "zlib1g": "Zlib",
}


def swift_package_licence(folder):
    text = "\n".join(
        file.read_text(errors="replace") for file in sorted(folder.glob("LICENSE*")))
    if "Apache License" in text:
        return SWIFT_LICENCE if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text:
        return "MIT"
    sys.exit(f"error: the licence of {folder.name} is not known; teach bin/lib/release/sbom.py")


def component(name, version, licence, purl, kind="library", **more):
    return {
        "type": kind, "bom-ref": purl, "name": name, "version": version,
        "licenses": [{"expression": licence}], "purl": purl, **more}


def swift_packages(resolved, checkouts):
    for pin in json.loads(resolved.read_text())["pins"]:
        place = re.sub(r"\.git$", "", pin["location"])
        folder = checkouts / place.rsplit("/", 1)[1]
        version = pin["state"].get("version") or pin["state"]["revision"]
        yield component(
            pin["identity"], version, swift_package_licence(folder),
            f"pkg:swift/{place.removeprefix('https://')}@{version}",
            externalReferences=[{
                "type": "vcs", "url": place, "comment": "commit " + pin["state"]["revision"]}])


def debian_package(file):
    """Of the image. The Debian package also works with newer ones of the same Debian."""
    name, version, architecture = subprocess.run(
        ["dpkg-deb", "--show", "--showformat=${Package}\n${Version}\n${Architecture}", file],
        check=True, capture_output=True, text=True).stdout.split("\n")
    # libtasn1-6, libssl3t64, gcc-12-base
    stem = re.sub(r"-\d+-", "-", re.sub(r"[-.\d]+(t64)?$", "", name))
    if stem not in DEBIAN_LICENCES:
        sys.exit(f"error: the licence of {name} is not known; teach bin/lib/release/sbom.py")
    quoted, quoted_version = (urllib.parse.quote(part, safe=":~") for part in (name, version))
    return component(
        name, version, DEBIAN_LICENCES[stem],
        f"pkg:deb/debian/{quoted}@{quoted_version}?arch={architecture}")


def main():
    parser = argparse.ArgumentParser()
    for name in ["version", "architecture", "program", "resolved", "checkouts", "swift", "needs"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("packages", nargs="+", metavar="FILE.deb")
    given = parser.parse_args()
    digest = hashlib.sha256(pathlib.Path(given.program).read_bytes()).hexdigest()
    program = component(
        "perennial", given.version, "Apache-2.0", f"pkg:generic/perennial@{given.version}",
        kind="application", hashes=[{"alg": "SHA-256", "content": digest}])
    image = component(
        "perennial-image", given.version, "Apache-2.0",
        f"pkg:oci/perennial?arch={given.architecture}&tag={given.version}", kind="container")
    linked = [
        *swift_packages(pathlib.Path(given.resolved), pathlib.Path(given.checkouts)),
        component(
            "swift", given.swift, SWIFT_LICENCE,
            f"pkg:swift/github.com/swiftlang/swift@{given.swift}",
            description="The runtime and Foundation, linked into the program")]
    packages = sorted(map(debian_package, given.packages), key=lambda part: part["name"])
    needed = {need.split()[0] for need in given.needs.split(",")}
    libraries = [part for part in packages if part["name"] in needed]
    time = datetime.datetime.fromtimestamp(
        int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)

    def depends(part, others):
        return {"ref": part["bom-ref"], "dependsOn": [other["bom-ref"] for other in others]}

    json.dump({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'perennial:' + digest)}",
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program},
        "components": [*linked, *packages, image],
        "dependencies": [depends(program, linked + libraries), depends(image, [program, *packages])],
    }, sys.stdout, indent=2, sort_keys=True)
    print()


main()
