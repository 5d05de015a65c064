#!/usr/bin/env bash
# Proves the rules of the house on the source text: includes point down, a library's headers stay in one folder, no
# call ends the process below apps, no backend is chosen by the preprocessor, every public header compiles alone.
#
#   scripts/check_layers.sh [--root DIR] [--no-compile]
#
# Prints one line per violation, as file:line: reason; exit code 1 when there is any.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
compile=1
while [ $# -gt 0 ]; do
  case "$1" in
    --root) root=${2:?check_layers: --root needs a directory}; shift ;;
    --no-compile) compile=0 ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "check_layers: unknown option '$1'; it takes --root DIR and --no-compile" >&2; exit 2 ;;
  esac
  shift
done
cd "$root"

existing=()
for path in kernels collectives runtime apps test scripts docs .ci README.md CMakeLists.txt CMakePresets.json; do
  if [ -e "$path" ]; then existing+=("$path"); fi
done
mapfile -t texts < <(find "${existing[@]}" -type f ! -name '*.pyc' | sort)
mapfile -t code < <(printf '%s\n' "${texts[@]}" | grep -E '\.(cpp|hpp|cu)$')
mapfile -t headers < <(printf '%s\n' "${code[@]}" | grep -E '\.hpp$')
if [ ${#code[@]} = 0 ]; then
  echo "check_layers: no sources under $root" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$work/violations

# but EXCEPTED FILE...: those whose path does not match.
but() {
  local excepted=$1
  shift
  printf '%s\n' "$@" | grep -vE -- "$excepted" || true
}
# forbid REASON PATTERN FILE...: one violation per matching line.
forbid() {
  local reason=$1 pattern=$2
  shift 2
  if [ $# -gt 0 ]; then
    { grep -HnE -- "$pattern" "$@" || true; } | awk -F: -v reason="$reason" '{ print $1 ":" $2 ": " reason }' >>"$found"
  fi
}
# forbid_outside ALLOWED REASON PATTERN: in every source whose path does not match.
forbid_outside() {
  local files
  mapfile -t files < <(but "$1" "${code[@]}")
  forbid "$2" "$3" "${files[@]}"
}

# ---- Our own includes: full paths to files that exist, pointing down, and no backend folder from outside.
{ grep -HnE '^ *# *include +"' "${code[@]}" || true; } | awk -F: '
  function layer(path) { return path ~ /^kernels\/base\// ? "base" : substr(path, 1, index(path, "/") - 1) }
  function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
  function say(reason) { print $1 ":" $2 ": " reason }
  BEGIN {
    may["base"] = " base "
    may["kernels"] = " base kernels "
    may["collectives"] = " base collectives "
    may["runtime"] = " base kernels collectives runtime "
    may["apps"] = may["runtime"] "apps "
    may["test"] = may["apps"] "test "
  }
  {
    split($0, part, "\"")
    target = part[2]
    if (target ~ /^\.\.?\// || target ~ /\/\.\.\// || index(target, "/") == 0)
      say("include \"" target "\" by its full path from the repository root")
    else if (system("test -f \"" target "\"") != 0)
      say("include \"" target "\": there is no such file")
    else if (index(may[layer($1)], " " layer(target) " ") == 0)
      say(layer($1) " may not include \"" target "\": includes point down only")
    else if (target ~ /^(kernels\/(cpu|cuda)|collectives\/(mpi|nccl|solo))\// && folder($1) != folder(target) &&
             layer($1) != "test" && !($1 ~ /\.cpp$/ && folder($1) == layer(target)))
      say("\"" target "\" is private to its backend folder")
  }' >>"$found"

# ---- A library's headers stay in one folder.
while read -r header allowed; do
  forbid_outside "$allowed" "<${header//\\/}> may not be included here, only in files matching $allowed" \
    "^ *# *include +[<\"]($header)"
done <<'TABLE'
mpi\.h|mpi-ext\.h ^collectives/mpi/
nccl\.h ^collectives/nccl/
cuda|cublas|curand ^([a-z]+/cuda|collectives/nccl)/
cudnn ^kernels/cuda/
dnnl|oneapi/ ^kernels/cpu/
omp\.h ^(kernels|test/kernels)/
Random123/ ^kernels/base/
CLI/ ^apps/
catch2/ ^test/support/
jpeglib\.h|turbojpeg\.h|png\.h|opencv2/ ^runtime/data/
nlohmann/ ^(runtime/(symbol|train)|apps|test)/.*[.]cpp$
zlib\.h ^(runtime/data|test)/
TABLE
mapfile -t lists < <(printf '%s\n' "${texts[@]}" | grep -E '^runtime/(kvstore|optim)/CMakeLists\.txt$' || true)
forbid 'the store and the optimizers link neither oneDNN nor JSON' 'DNNL::|nlohmann_json|cohort_kernels' "${lists[@]}"

# ---- What belongs to apps, or to the one place that may end the job. `start`: before any comment or string.
start='^([^/"]|/[^/])*'
forbid_outside '^(apps|test)/|^collectives/(world[.]|watchdog|mpi/(session|call_limit)[.])' \
  'only apps, late calls of MPI and World::abort end the process: throw Error' \
  "$start\\b(_?exit|_Exit|quick_exit|abort|terminate|raise) *\\("
forbid_outside '^(apps|test)/' 'the environment is read in apps alone' \
  "$start\\b((secure_)?getenv|setenv|putenv|unsetenv) *\\("

# ---- The preprocessor: no backend is chosen by it, but for the one shim header of a library in two versions.
forbid_outside '^(kernels/cpu/(dnnl|onednn)|collectives/mpi/mpi|test/support/[a-z_]+)[.][ch]pp$' \
  'no conditional on a library or backend outside its one shim header' \
  '^ *# *(if|ifdef|ifndef|elif).*(CUDA|NCCL|CUDNN|DNNL|MPI|OPENMP|__has_include)'
forbid_outside '^test/support/' 'macros are named COHORT_*' '^ *# *define +(COHOR[^T]|COHO[^R]|COH[^O]|CO[^H]|C[^O]|[^C])'
limit=20
mapfile -t production < <(but '^test/' "${code[@]}")
conditionals=$({ grep -hE '^ *# *(if|ifdef|ifndef|elif)\b' "${production[@]}" || true; } | wc -l)
if [ "$conditionals" -gt $limit ]; then
  echo "kernels:1: $conditionals preprocessor conditionals outside test/, more than $limit" >>"$found"
fi

# ---- Manners of the text. Brackets keep the patterns from matching themselves.
forbid_outside '^test/.*[.]cpp$' 'no using-directive outside functions' '^using namespace '
forbid 'paths of one machine do not belong here' '(^|[^A-Za-z0-9_./}-])/(wor[k]|hom[e]|roo[t]|tm[p])/' "${texts[@]}"
forbid 'no marker without the condition that ends it: TODO: ... when ...' '\b(FIXM[E]|XX[X]|HAC[K])\b' "${texts[@]}"
{ grep -HnE '\bTOD[O]\b' "${texts[@]}" || true; } | { grep -vE 'when |until |once |check_layers' || true; } |
  awk -F: '{ print $1 ":" $2 ": a TODO names the condition that ends it" }' >>"$found"
for header in "${headers[@]}"; do
  grep -q '^#pragma once$' "$header" || echo "$header:1: lacks #pragma once" >>"$found"
done
for file in "${code[@]}"; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 400 ]; then echo "$file:$lines: longer than 400 lines: more than one topic" >>"$found"; fi
done

# ---- Each public header compiles alone and needs no library's header.
public_headers() { printf '%s\n' "${headers[@]}" | grep -E '^(kernels|kernels/base|collectives|runtime|runtime/[a-z]+)/[^/]+$'; }
compile_alone() {
  local header=$1 log=$2/${1//\//-}
  echo "#include \"$header\"" | ${CXX:-g++} -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -DFMT_HEADER_ONLY=1 \
    -I. -MD -MF "$log.d" -MT x -x c++ - 2>"$log.err" || {
    echo "$header:1: does not compile alone: $(grep -m 1 -E 'error' "$log.err" || head -n 1 "$log.err")"
    return 0
  }
  if grep -qE '/(mpi|nccl|zlib|cudnn|omp)\.h|dnnl|/CLI/|/catch2/|nlohmann/|/Random123/' "$log.d"; then
    echo "$header:1: needs the header of a library: $(grep -oE '[^ ]*(mpi\.h|nccl\.h|zlib\.h|dnnl|CLI/|catch2/|nlohmann/|Random123/)[^ ]*' "$log.d" | head -n 1)"
  fi
}
if [ "$compile" = 1 ]; then
  export -f compile_alone
  public_headers | xargs -P "$(nproc)" -I{} bash -c 'compile_alone "$1" "$2"' _ {} "$work" >>"$found"
fi

count=$(wc -l <"$found")
sort -u "$found"
if [ "$count" -gt 0 ]; then
  echo "check_layers: $count violations" >&2
  exit 1
fi
echo "check_layers: ${#code[@]} sources keep the rules"
