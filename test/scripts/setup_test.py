"""Runs scripts/setup on machines made of stand-ins: a PATH with nothing but what each case puts there."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "setup"
PLAIN_TOOLS = ["bash", "cut", "env", "id", "mktemp", "rm", "sed", "tail", "tr"]

# Says that every package asked for is installed, but for those in $MISSING.
DPKG_QUERY = """#!/bin/bash
for package in "${@:3}"; do
  case " $MISSING " in *" $package "*) ;; *) printf "installed:%s " "$package" ;; esac
done
"""
# Writes down what it was asked; fails where $BROKEN is the verb.
APT_GET = """#!/bin/bash
for word in "$@"; do case "$word" in update|install) verb=$word ;; esac; done
echo "$@" >>"$APT_LOG"
if [ "$verb" = "$BROKEN" ]; then echo "E: stand-in of a broken mirror"; exit 100; fi
"""
AS_USER = "#!/bin/bash\necho 1000\n"
TOOL = "#!/bin/bash\nexit 0\n"


def run(scripts, missing="", broken=""):
    """(exit code, output, what apt-get was asked)"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bin")
        path.mkdir()
        for tool in PLAIN_TOOLS:
            os.symlink(shutil.which(tool), path / tool)
        for name, text in scripts.items():
            (path / name).unlink(missing_ok=True)
            (path / name).write_text(text)
            (path / name).chmod(0o755)
        log = pathlib.Path(folder, "apt.log")
        environment = {"PATH": str(path), "MISSING": missing, "BROKEN": broken, "APT_LOG": str(log), "TMPDIR": folder}
        done = subprocess.run([shutil.which("bash"), SCRIPT], env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        return done.returncode, done.stdout + done.stderr, log.read_text() if log.exists() else ""


def main():
    root = {"dpkg-query": DPKG_QUERY, "apt-get": APT_GET, "id": "#!/bin/bash\necho 0\n"}
    user = {**root, "id": AS_USER}
    failures = []

    def expect(name, condition, result):
        if not condition:
            failures.append(f"{name}: {result}")

    result = run(root)
    expect("nothing missing", result[0] == 0 and result[2] == "", result)
    result = run(root, missing="catch2 libfmt-dev")
    expect("two missing", result[0] == 0 and "update" in result[2] and "install" in result[2].splitlines()[-1] and
           result[2].split()[-2:] == ["catch2", "libfmt-dev"], result)
    result = run(root, missing="catch2", broken="update")
    expect("stale lists do not stop it", result[0] == 0 and "catch2" in result[2], result)
    result = run(root, missing="catch2", broken="install")
    expect("a failed install", result[0] == 1 and "broken mirror" in result[1], result)
    result = run({**root, "cmake": TOOL}, missing="cmake")
    expect("a tool from elsewhere counts", result[0] == 0 and result[2] == "", result)
    result = run(user, missing="catch2")
    expect("neither root nor sudo", result[0] == 1 and result[2] == "" and "apt-get install catch2" in result[1], result)
    result = run({**user, "sudo": '#!/bin/bash\n[ "$1" = -n ] && shift\nexec "$@"\n', "true": TOOL}, missing="catch2")
    expect("sudo without a password", result[0] == 0 and "catch2" in result[2], result)
    result = run({})
    expect("another distribution", result[0] == 1 and "Spack: onednn" in result[1] and "ccache" not in result[1], result)
    print("\n".join(failures) or "setup behaves on 8 kinds of machine")
    return 1 if failures else 0


sys.exit(main())
