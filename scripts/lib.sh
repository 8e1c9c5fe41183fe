# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What setup.sh, test.sh and demo.sh share. To be sourced.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${RINGCONV_BUILD_DIR:-$top/build}
export venv_python=$build/venv/bin/python

say() { printf '%s\n' "ringconv: $*"; }
die() {
  printf '%s\n' "ringconv: error: $*" >&2
  exit 1
}

# One compiler needs about 1.5 GB: min(cores, memory / 1.5 GB), at least 1.
build_jobs() {
  local cores kib limit jobs
  cores=$(nproc)
  kib=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [[ $limit != max ]] && ((limit / 1024 < kib)); then
    kib=$((limit / 1024))
  fi
  jobs=$((kib / 1572864))
  if ((jobs > cores)); then jobs=$cores; fi
  if ((jobs < 1)); then jobs=1; fi
  echo "$jobs"
}

# ---- Packages ----
# The build, a Python environment; both MPI implementations, the Python package
# and what fuzzing needs may be missing. MLIR_DIR names
# another MLIR 22; then Debian's LLVM is not wanted.
packages_build=(cmake ninja-build g++ libgtest-dev libgmock-dev ccache git ca-certificates)
packages_llvm=(clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools)
packages_python=(python3 python3-numpy python3-pil)
packages_mpi=(libopenmpi-dev openmpi-bin libmpich-dev mpich)
packages_package=(python3-dev pybind11-dev python3-pytest python3-mpi4py)
packages_fuzz=(libclang-rt-22-dev) # also for sanitizers

is_debian_like() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

# missing NAME...: those that are not installed, one a line.
missing() {
  local name
  for name in "$@"; do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
      echo "$name"
    fi
  done
}

required_packages() {
  printf '%s\n' "${packages_build[@]}" "${packages_python[@]}"
  if [[ -z ${MLIR_DIR:-} ]]; then printf '%s\n' "${packages_llvm[@]}"; fi
}

# Sets missing_required and missing_optional.
find_missing() {
  missing_required=() missing_optional=()
  if is_debian_like; then
    local wanted
    mapfile -t wanted < <(required_packages)
    mapfile -t missing_required < <(missing "${wanted[@]}")
    mapfile -t missing_optional < <(missing "${packages_mpi[@]}" "${packages_package[@]}" "${packages_fuzz[@]}")
  fi
}

packages_phrase() {
  local count=$((${#missing_required[@]} + ${#missing_optional[@]}))
  if ! is_debian_like; then
    echo "packages (not checked: this is not Debian)"
  elif ((count == 0)); then
    echo "packages (nothing to install)"
  elif ((${#missing_required[@]} > 0)); then
    echo "packages ($count to install, up to 410 MB to download, 2.5 GB on disk)"
  else
    echo "packages ($count for MPI, Python and fuzzing to install, up to 45 MB to download, 200 MB on disk)"
  fi
}

# build_phrase TOOL: what the build will cost, by whether the last tool is there.
build_phrase() {
  if [[ -e $build/bin/$1 ]]; then
    echo "build in $(basename "$build")/ (what changed)"
  else
    echo "build in $(basename "$build")/ ($(build_jobs) jobs, 5 to 15 minutes, 100 MB)"
  fi
}

# Clones and folders of the same source share what ccache holds.
export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1

build_targets() {
  say "building with $(build_jobs) jobs"
  NINJA_STATUS='[%f/%t, %e s] ' cmake --build "$build" --parallel "$(build_jobs)" --target "$@"
}
