"""Lints sources for Apple's systems: `lint.py ROOT`, or `lint.py --self-test`.

Availability: each use of API in availability.txt must stand inside `#available` or `@available` of its
system. Braces are counted, types are not known: a name that is used for something else is reported,
too, and has to be renamed.

Privacy: each module has a PrivacyInfo.xcprivacy with Apple's keys, which names a category of
required-reason API exactly if a source uses it.
"""

import pathlib
import plistlib
import re
import sys

HERE = pathlib.Path(__file__).parent
MODULES = ["Perennial", "PerennialUI"]
MINIMUM = {"iOS": (15, 0), "macOS": (12, 0)}

TOKENS = re.compile(
    r'(?P<blank>\n[ \t]*(?=\n))|(?P<line>\n)|(?P<open>\{)|(?P<close>\})'
    r"|(?P<available>[#@]available\((?P<list>[^)]*)\))|\b(?P<word>if|guard|while)\b")

# Category → symbols that need a reason, and the reasons that an SDK like this may give.
REASONS = {
    "NSPrivacyAccessedAPICategorySystemBootTime": (
        r"\b(systemUptime|mach_absolute_time)\b", {"35F9.1"}),
    "NSPrivacyAccessedAPICategoryFileTimestamp": (
        r"\b(creationDate|modificationDate|contentModificationDateKey|creationDateKey"
        r"|attributesOfItem|getattrlist|fstat|stat|lstat)\b\s*(?=[(,:\]])", {"C617.1", "3B52.1"}),
    "NSPrivacyAccessedAPICategoryUserDefaults": (
        r"\b(UserDefaults|AppStorage)\b", {"CA92.1", "1C8F.1", "C56D.1"}),
    "NSPrivacyAccessedAPICategoryDiskSpace": (
        r"\b(volumeAvailableCapacity\w*|systemFreeSize|statfs|statvfs)\b", {"E174.1"}),
    "NSPrivacyAccessedAPICategoryActiveKeyboards": (r"\bactiveInputModes\b", set()),
}
KEYS = {
    "NSPrivacyTracking": bool, "NSPrivacyTrackingDomains": list,
    "NSPrivacyCollectedDataTypes": list, "NSPrivacyAccessedAPITypes": list,
}
COLLECTED = {
    "NSPrivacyCollectedDataType": str, "NSPrivacyCollectedDataTypeLinked": bool,
    "NSPrivacyCollectedDataTypeTracking": bool, "NSPrivacyCollectedDataTypePurposes": list,
}


def code(text):
    """The text without comments and strings, with each line where it was."""
    result, index = [], 0
    while index < len(text):
        if text.startswith("//", index):
            end = text.find("\n", index)
            end = len(text) if end < 0 else end
        elif text.startswith("/*", index):
            end = end_of_comment(text, index)
        elif text[index] == '"':
            end = end_of_string(text, index)
        else:
            result.append(text[index])
            index += 1
            continue
        result.append("\n" * text.count("\n", index, end))
        index = end
    return "".join(result)


def end_of_comment(text, index):
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, index):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


def end_of_string(text, index):
    quote = '"""' if text.startswith('"""', index) else '"'
    index += len(quote)
    while index < len(text) and not text.startswith(quote, index):
        index += 2 if text[index] == "\\" else 1
    return min(len(text), index + len(quote))


def version(text):
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def table():
    lines = (HERE / "availability.txt").read_text().splitlines()
    for line in lines:
        if line.strip() and not line.startswith("#"):
            pattern, ios, macos = line.rsplit(maxsplit=2)
            first = {"iOS": ios, "macOS": macos}
            yield re.compile(pattern.strip()), {
                system: version(v) for system, v in first.items() if v != "-"}


def most(one, other):
    return {system: max(one[system], other.get(system, (0, 0))) for system in one}


def spans(text):
    """Pairs of an offset and the systems that are certain from there on."""
    scopes, pending, guards, word = [dict(MINIMUM)], {}, [], ""
    for match in TOKENS.finditer(text):
        if match["word"]:
            word = match["word"]
        elif match["available"]:
            named = re.findall(r"(iOS|macOS)\s+([\d.]+)", match["list"])
            pending = {system: version(v) for system, v in named}
            if match["available"].startswith("#") and word == "guard":
                guards.append((len(scopes), pending))
                pending = {}
        elif match["open"]:
            scopes.append(most(scopes[-1], pending))
            pending = {}
        elif match["close"] and len(scopes) > 1:
            scopes.pop()
            while guards and guards[-1][0] == len(scopes):
                scopes[-1] = most(scopes[-1], guards.pop()[1])
        elif match["blank"]:
            pending = {}
        yield match.end(), most(scopes[-1], pending)


def unavailable(text):
    """Pairs of a line and a complaint."""
    text = code(text)
    known = [(0, dict(MINIMUM)), *spans(text)]
    for pattern, first in table():
        for match in pattern.finditer(text):
            certain = [systems for offset, systems in known if offset <= match.start()][-1]
            for system, needed in first.items():
                if certain[system] < needed:
                    line = text.count("\n", 0, match.start()) + 1
                    yield line, f"{match.group()} needs {system} {needed[0]}.{needed[1]}"


def self_test():
    text = (HERE / "Fixture.swift.txt").read_text()
    expected = {
        number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// error")}
    found = {line for line, _ in unavailable(text)}
    if found != expected:
        sys.exit(f"lint.py reports lines {sorted(found)} of its fixture, not {sorted(expected)}")


def manifest_complaints(folder, sources):
    path = folder / "PrivacyInfo.xcprivacy"
    try:
        manifest = plistlib.loads(path.read_bytes())
    except (OSError, plistlib.InvalidFileException, ValueError) as error:
        yield f"{path}: cannot be read: {error}"
        return
    for key, kind in KEYS.items():
        if not isinstance(manifest.get(key), kind):
            yield f"{path}: {key} must be a {kind.__name__}"
            return
    yield from (f"{path}: {key} is no key of Apple's" for key in manifest if key not in KEYS)
    for entry in manifest["NSPrivacyCollectedDataTypes"]:
        for key, kind in COLLECTED.items():
            if not isinstance(entry.get(key), kind):
                yield f"{path}: {key} must be a {kind.__name__}"
    declared = {
        entry.get("NSPrivacyAccessedAPIType"): set(entry.get("NSPrivacyAccessedAPITypeReasons", []))
        for entry in manifest["NSPrivacyAccessedAPITypes"]}
    yield from (f"{path}: {name} is no category" for name in declared if name not in REASONS)
    for category, (pattern, reasons) in REASONS.items():
        users = [str(file) for file, text in sources if re.search(pattern, text)]
        if users and category not in declared:
            yield f"{path}: add {category}, for {', '.join(users)}"
        elif not users and category in declared:
            yield f"{path}: remove {category}, nothing uses it"
        elif users and not (declared[category] and declared[category] <= reasons):
            yield f"{path}: {category} needs reasons among {sorted(reasons)}"


def main(root):
    complaints = []
    for module in MODULES:
        folder = root / "Sources" / module
        # The steps of a tutorial are an app's code.
        files = sorted(f for f in folder.rglob("*.swift") if ".docc/" not in f.as_posix())
        for file in files:
            complaints += [
                f"{file}:{line}: {what}: put it inside #available, or take an older way"
                for line, what in unavailable(file.read_text())]
        complaints += manifest_complaints(folder, [(f, code(f.read_text())) for f in files])
    print("\n".join(complaints) or "ok")
    return 1 if complaints else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 2:
        sys.exit(main(pathlib.Path(sys.argv[1])))
    else:
        sys.exit(__doc__)
