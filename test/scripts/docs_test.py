"""Holds README.md and docs/*.md to the truth.

Every `sh` block has a marker in the line before it: <!-- test: run --> blocks are run here; <!-- test: ci --> blocks
(set-up, build, all tests) are run by .ci/run; <!-- test: elsewhere --> blocks need a cluster or real data. In all of them
the scripts must exist and the trainer must know the flags. A block after <!-- from: FILE --> must stand in that file, word
for word. Links and `path/like/this.hpp` must lead somewhere.

    docs_test.py BUILD_DIRECTORY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKER = re.compile(r"<!-- (test: (?:run|ci|elsewhere)|from: \S+) -->")
SHELLS = ("sh", "bash", "shell", "console")
FENCE = re.compile(r"```(\w*)")
PATH = re.compile(r"`((?:kernels|collectives|runtime|apps|scripts|test|docs|\.ci)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
LIMIT_S = 100


def blocks(lines):
    """Yields (line number, language, marker or None, text) of every fenced block."""
    marker, begin, language, text = None, None, None, []
    for number, line in enumerate(lines, 1):
        fence = FENCE.fullmatch(line.strip())
        if begin is None and fence:
            begin, language, text = number, fence[1], []
        elif begin is not None and line.strip() == "```":
            yield begin, language, marker, "\n".join(text)
            begin, marker = None, None
        elif begin is not None:
            text.append(line)
        elif line.strip():
            found = MARKER.fullmatch(line.strip())
            marker = found[1] if found else None


def known_flags(build):
    done = subprocess.run([build / "bin" / "trainer", "--help"], capture_output=True, text=True, timeout=30)
    return set(re.findall(r"--[a-z][a-z0-9-]*", done.stdout + done.stderr))


def check_text(name, lines):
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith("```")
        if fenced:
            continue
        for path in PATH.findall(line):
            if not (ROOT / path).exists():
                yield f"{name}:{number}: there is no {path}"
        for link in LINK.findall(line):
            if not (ROOT / name).parent.joinpath(link).exists():
                yield f"{name}:{number}: the link {link} leads nowhere"


def check_commands(place, text, flags):
    for script in re.findall(r"(?<![\w/])(?:\./)?((?:scripts|\.ci)/[\w./-]+)", text):
        if not os.access(ROOT / script, os.X_OK):
            yield f"{place}: {script} cannot be run"
    for line in text.replace("\\\n", " ").splitlines():
        _, trainer, arguments = line.partition("bin/trainer")
        if trainer:
            for flag in re.findall(r"(?<=\s)--[a-z][a-z0-9-]*", arguments.split("#")[0]):
                if flag not in flags:
                    yield f"{place}: the trainer has no {flag}"


def run_block(place, text, build):
    """In an empty directory that looks like the repository after a build."""
    with tempfile.TemporaryDirectory() as scratch:
        for entry in ("scripts", "docs", "README.md"):
            os.symlink(ROOT / entry, pathlib.Path(scratch, entry))
        pathlib.Path(scratch, "build").mkdir()
        os.symlink(build, pathlib.Path(scratch, "build", "release"))
        try:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=scratch, text=True, timeout=LIMIT_S,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            yield f"{place}: still running after {LIMIT_S} s:\n{text}"
            return
    if done.returncode != 0:
        yield f"{place}: code {done.returncode} from\n{text}\n{done.stdout}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    flags = known_flags(build)
    failures, ran = [], 0
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        name = str(file.relative_to(ROOT))
        lines = file.read_text(encoding="utf-8").splitlines()
        failures += check_text(name, lines)
        for number, language, marker, text in blocks(lines):
            place = f"{name}:{number}"
            if marker and marker.startswith("from: "):
                source = ROOT / marker.removeprefix("from: ")
                if not source.exists() or text not in source.read_text(encoding="utf-8"):
                    failures.append(f"{place}: this is not what {source.relative_to(ROOT)} says")
            if language not in SHELLS:
                continue
            if marker is None:
                failures.append(f"{place}: a block of commands without a marker that says how it is tested")
            failures += check_commands(place, text, flags)
            if marker == "test: run":
                ran += 1
                failures += run_block(place, text, build)
    print("\n".join(failures) or f"{ran} blocks were run")
    return 1 if failures else 0


sys.exit(main())
