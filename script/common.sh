# script/common.sh – what the scripts share; to be sourced
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Prints what is done now.
say() { printf '\n== %s\n' "$*"; }

# Compilers to run at once: one a core, but a file that includes LLVM takes up to 1.5 GiB.
jobs() {
  local cores memory_kib=0
  cores=$(nproc)
  if [ -r /proc/meminfo ]; then
    memory_kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
  fi
  local fitting=$((memory_kib / 1572864))
  if [ "$memory_kib" -gt 0 ] && [ "$fitting" -lt "$cores" ]; then cores=$fitting; fi
  if [ "$cores" -lt 1 ]; then cores=1; fi
  echo "$cores"
}

# Configures a preset and builds it, or only the targets that are named.
build_preset() {
  local preset=$1
  shift
  say "configure: cmake --preset $preset"
  cmake --preset "$preset"
  say "build: cmake --build --preset $preset -j $(jobs) ${*:+--target $*}"
  cmake --build --preset "$preset" -j "$(jobs)" ${*:+--target "$@"}
}

# A compiler cache is used where there is one.
if command -v ccache > /dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
