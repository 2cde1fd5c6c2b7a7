"""The configuration of a container for runc, from the one that umoci has made of an image.

As `docker run --read-only --cap-drop ALL` with a folder for data and one for the configuration, but
with this machine's network.
"""

import argparse
import json
import pathlib
import sys


def main():
    parser = argparse.ArgumentParser()
    for name in ["unpacked", "data", "configuration"]:
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--port", required=True)
    parser.add_argument("arguments", nargs="*", help="after --: of the program")
    given = parser.parse_args()
    container = json.loads((given.unpacked / "config.json").read_text())
    container["root"] = {"path": str(given.unpacked / "rootfs"), "readonly": True}
    process = container["process"]
    process["terminal"] = False
    if given.arguments:
        # The entrypoint is the first word. The words after it are the default command.
        process["args"] = process["args"][:1] + given.arguments
    process["env"].append(f"PERENNIAL_PORT={given.port}")
    process["capabilities"] = {}
    # Without these limits, the limits of this machine apply.
    del process["rlimits"]
    spaces = container["linux"]["namespaces"]
    container["linux"]["namespaces"] = [each for each in spaces if each["type"] != "network"]
    folders = {
        "/var/lib/perennial": (given.data, "rw"), "/etc/perennial": (given.configuration, "ro")}
    container["mounts"] = [
        mount for mount in container["mounts"] if mount["destination"] not in folders]
    for target, (source, mode) in folders.items():
        container["mounts"].append({
            "destination": target, "type": "bind", "source": str(source),
            "options": ["rbind", mode, "nosuid", "nodev", "noexec"]})
    json.dump(container, sys.stdout)


main()
