"""Prints the list of a program's parts in CycloneDX: Swift packages, Swift's runtime, Debian's libraries.

The list contains no time of its making and no random number: the same parts give the same bytes.
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
import uuid

SWIFT_LICENCE = "Apache-2.0 WITH Swift-exception"

# Debian's copyright files of these packages cannot be parsed, or name the licence of the tests.
DEBIAN_LICENCES = {
    "libc6": "LGPL-2.1-or-later",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libpq5": "PostgreSQL",
    "libsqlite3-0": "blessing",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
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


def debian_packages(needs, architecture):
    """The versions that the program was linked with. Newer ones of the same Debian work, too."""
    for name in sorted(need.split()[0] for need in needs.split(",")):
        if name not in DEBIAN_LICENCES:
            sys.exit(f"error: the licence of {name} is not known; teach bin/lib/release/sbom.py")
        version = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${Version}", f"{name}:{architecture}"],
            check=True, capture_output=True, text=True).stdout
        quoted = name.replace("+", "%2B")
        yield component(
            name, version, DEBIAN_LICENCES[name],
            f"pkg:deb/debian/{quoted}@{version.replace('+', '%2B')}?arch={architecture}")


def main():
    parser = argparse.ArgumentParser()
    for name in ["version", "architecture", "program", "resolved", "checkouts", "swift", "debian"]:
        parser.add_argument("--" + name, required=True)
    given = parser.parse_args()
    digest = hashlib.sha256(pathlib.Path(given.program).read_bytes()).hexdigest()
    whole = component(
        "perennial", given.version, "Apache-2.0", f"pkg:generic/perennial@{given.version}",
        kind="application", hashes=[{"alg": "SHA-256", "content": digest}])
    parts = [
        *swift_packages(pathlib.Path(given.resolved), pathlib.Path(given.checkouts)),
        component(
            "swift", given.swift, SWIFT_LICENCE,
            f"pkg:swift/github.com/swiftlang/swift@{given.swift}",
            description="The runtime and Foundation, linked into the program"),
        *debian_packages(given.debian, given.architecture)]
    time = datetime.datetime.fromtimestamp(
        int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    json.dump({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'perennial:' + digest)}",
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": whole},
        "components": parts,
        "dependencies": [
            {"ref": whole["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]},
        ]}, sys.stdout, indent=2, sort_keys=True)
    print()


main()
