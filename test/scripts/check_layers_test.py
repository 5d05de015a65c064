"""Plants violations in a small tree and expects scripts/check_layers.sh to name each."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers.sh"

# A tree that keeps the rules.
CLEAN = {
    "kernels/base/view.hpp": "#pragma once\n#include <cstddef>\nstruct View { std::size_t count = 0; };\n",
    "kernels/conv.hpp": '#pragma once\n#include "kernels/base/view.hpp"\n',
    "kernels/cpu/conv.cpp": '#include "kernels/conv.hpp"\n#include <dnnl.hpp>\n',
    "collectives/world.hpp": '#pragma once\n#include "kernels/base/view.hpp"\nstruct World { void abort(int code); };\n',
    "collectives/mpi/calls.hpp": "#pragma once\n#include <mpi.h>\n",
    "collectives/world.cpp": '#include "collectives/world.hpp"\n#include "collectives/mpi/calls.hpp"\n',
    "runtime/kvstore/store.hpp": '#pragma once\n#include "collectives/world.hpp"\n#include "kernels/conv.hpp"\n',
    "runtime/kvstore/CMakeLists.txt": "cohort_add_library(store SOURCES store.cpp)\n",
    "apps/main.cpp": '#include <CLI/CLI.hpp>\nint main() { return std::getenv("X") ? 1 : 0; }  // exit(1) is a word here\n',
}

# Each adds or replaces one file: file, text, what the message must hold (after "file:line: ")
CASES = [
    ("kernels/base/bad1.hpp", '#pragma once\n#include "kernels/conv.hpp"\n', "base may not include"),
    ("kernels/bad2.cpp", '#include "collectives/world.hpp"\n', "kernels may not include"),
    ("collectives/bad3.cpp", '#include "kernels/conv.hpp"\n', "collectives may not include"),
    ("collectives/bad4.cpp", '#include "runtime/kvstore/store.hpp"\n', "collectives may not include"),
    ("runtime/bad5.cpp", '#include "apps/options.hpp"\n', "there is no such file"),
    ("runtime/kvstore/bad6.cpp", '#include "store.hpp"\n', "by its full path"),
    ("runtime/kvstore/bad7.cpp", '#include "../kvstore/store.hpp"\n', "by its full path"),
    ("runtime/bad8.cpp", '#include "collectives/mpi/calls.hpp"\n', "private to its backend folder"),
    ("runtime/bad9.cpp", "#include <mpi.h>\n", "<mpi.h"),
    ("kernels/bad10.cpp", "#include <dnnl.hpp>\n", "<dnnl"),
    ("collectives/bad11.cpp", "#include <CLI/CLI.hpp>\n", "<CLI/"),
    ("runtime/kvstore/bad12.cpp", "#include <nlohmann/json.hpp>\n", "<nlohmann/"),
    ("test/bad13.cpp", "#include <catch2/catch.hpp>\n", "<catch2/"),
    ("runtime/kvstore/CMakeLists.txt", "target_link_libraries(store DNNL::dnnl)\n", "neither oneDNN nor JSON"),
    ("runtime/bad14.cpp", "void f() { std::exit(1); }\n", "World::abort end the process"),
    ("runtime/bad15.cpp", "void f() { abort(); }\n", "World::abort end the process"),
    ("collectives/bad16.cpp", 'auto v = std::getenv("X");\n', "environment"),
    ("runtime/bad17.cpp", "#ifdef COHORT_CUDA\n#endif\n", "conditional"),
    ("runtime/bad18.cpp", "#define FAST 1\n", "COHORT_*"),
    ("runtime/bad19.cpp", "using namespace std;\n", "using-directive"),
    ("README.md", "see /hom" + "e/somebody/notes\n", "paths of one machine"),
    ("runtime/bad20.cpp", "// FIX" + "ME\n", "condition"),
    ("runtime/bad21.cpp", "// TO" + "DO: tidy up\n", "condition"),
    ("runtime/bad22.hpp", "struct A {};\n", "#pragma once"),
    ("runtime/bad23.cpp", "//\n" * 401, "longer than"),
    # Found by compiling each header alone.
    ("runtime/alone.hpp", "#pragma once\nstd::size_t n;\n", "does not compile alone"),
    ("kernels/base/zip.hpp", "#pragma once\n#include <zlib.h>\n", "<zlib"),
    ("collectives/vendor.hpp", '#pragma once\n#include "kernels/base/zip.hpp"\n', "needs the header of a library"),
]


def check(extra, *options):
    """Writes CLEAN and `extra`, runs the script, returns (exit code, its output)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **extra}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([SCRIPT, "--root", folder, *options], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def main():
    failures = []
    code, output = check({}, "--no-compile")
    if code != 0:
        failures.append(f"the clean tree is refused:\n{output}")
    code, output = check({file: text for file, text, _ in CASES})
    for file, _, expected in CASES:
        if not any(line.startswith(f"{file}:") and expected in line for line in output.splitlines()):
            failures.append(f"{file}: expected '{expected}'")
    if code != 1 or failures:
        failures.append(f"with violations, code {code}:\n{output}")
    code, output = check({"runtime/many.cpp": "#if 1\n#endif\n" * 21}, "--no-compile")
    if code != 1 or "preprocessor conditionals" not in output:
        failures.append(f"many conditionals, code {code}:\n{output}")
    print("\n".join(failures) or f"{len(CASES) + 1} planted violations were found")
    return 1 if failures else 0


sys.exit(main())
