#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# scripts/setup.sh: installs the packages that are missing, makes a Python
# environment in build/venv and configures build/. MLIR_DIR names another MLIR 22,
# CC and CXX other compilers, RINGCONV_BUILD_DIR another build folder.
# RINGCONV_NO_INSTALL=1: never calls apt.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# What is needed where packages have other names.
list_needs() {
  cat <<END
ringconv: this system's packages are not known to this script. It needs:
  MLIR and LLVM 22.1 as shared libraries with their CMake files (MLIR_DIR=.../lib/cmake/mlir), FileCheck, not, lit
  CMake 3.22, Ninja, git, a C11 and C++17 compiler (clang 22 is what is tested), GoogleTest
  Python 3.9 with numpy and Pillow
  for runs over MPI (may be absent): Open MPI or MPICH with mpicc and mpirun
  for the Python package (may be absent): Python's headers, pybind11 2.10; pytest and mpi4py for its tests
END
}

# ---- Packages ----

security_line() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
  echo "deb http://deb.debian.org/debian-security $codename-security main"
}

# Is LLVM 22 known to apt, or told from where it would come?
check_llvm_source() {
  local policy
  policy=$(LC_ALL=C apt-cache policy libmlir-22-dev 2>/dev/null)
  if grep -q 'Candidate: [^(]' <<<"$policy"; then
    return 0
  fi
  say "LLVM 22 is in Debian's security suite, which is not enabled here (or apt's lists are older than it)." >&2
  say "Add this line to /etc/apt/sources.list, then run again:" >&2
  printf '  %s\n' "$(security_line)" >&2
  return 1
}

wants_llvm() {
  local name
  for name in "${missing_required[@]}"; do
    if [[ $name == *-22 || $name == *-22-* ]]; then return 0; fi
  done
  return 1
}

# apt PREFIX...: update and install `wanted`, each command after the prefix.
apt_install() {
  "$@" apt-get -q -o Acquire::Retries=2 update
  if wants_llvm && ! check_llvm_source; then
    exit 1
  fi
  "$@" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${wanted[@]}"
}

can_sudo() { command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; }

# 0: all installed; 1: not.
install_packages() {
  local wanted=("${missing_required[@]}" "${missing_optional[@]}")
  if [[ -n ${RINGCONV_NO_INSTALL:-} ]]; then
    return 1
  elif [[ $(id -u) -eq 0 ]]; then
    say "installing: ${wanted[*]}"
    apt_install
  elif can_sudo; then
    say "installing by sudo, $(packages_phrase): ${wanted[*]}"
    apt_install sudo
  else
    return 1
  fi
}

explain_missing() {
  say "packages are missing: ${missing_required[*]}" >&2
  if wants_llvm; then check_llvm_source || true; fi
  say "to install them, run as root:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing_required[*]} ${missing_optional[*]}" >&2
}

step_packages() {
  if ! is_debian_like; then
    list_needs
    return 0 # CMake says what it does not find
  fi
  if ((${#missing_required[@]} + ${#missing_optional[@]} == 0)); then
    return 0
  fi
  install_packages || true
  find_missing
  if ((${#missing_required[@]} > 0)); then
    explain_missing
    exit 1
  fi
  if ((${#missing_optional[@]} > 0)); then
    say "left out: what needs ${missing_optional[*]} (not installed)"
  fi
}

# ---- Python ----

# numpy and Pillow are the system's; nothing is downloaded.
step_python() {
  if [[ -x $venv_python ]] && "$venv_python" -c '' 2>/dev/null; then
    return 0
  fi
  /usr/bin/python3 -m venv --without-pip --system-site-packages "$build/venv"
}

# ---- Configuration ----

step_configure() {
  local cc=${CC:-} cxx=${CXX:-} tools=/usr/lib/llvm-22/bin
  if [[ -z $cc ]] && command -v clang-22 >/dev/null; then cc=clang-22 cxx=clang++-22; fi
  local flags=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DPython3_EXECUTABLE="$venv_python")
  if [[ -n $cc ]]; then flags+=(-DCMAKE_C_COMPILER="$cc"); fi
  if [[ -n $cxx ]]; then flags+=(-DCMAKE_CXX_COMPILER="$cxx"); fi
  if [[ -x $tools/ld.lld ]]; then flags+=(-DRINGCONV_LLD="$tools/ld.lld"); fi
  if [[ -n ${MLIR_DIR:-} ]]; then flags+=(-DMLIR_DIR="$MLIR_DIR"); fi
  # A changed answer makes a new configuration; an equal one none.
  local key
  key="${flags[*]} ${missing_optional[*]} $(command -v mpicc.openmpi mpicc.mpich mpicc | tr '\n' ' ' || true)"
  if [[ -e $build/build.ninja && $(cat "$build/setup-flags" 2>/dev/null) == "$key" ]]; then
    return 0
  fi
  # Compilers cannot be changed in place.
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  cmake -S "$top" -B "$build" "${flags[@]}" >"$build/configure.log" 2>&1 || {
    tail -n 30 "$build/configure.log" >&2
    die "CMake failed; all it said is in $build/configure.log"
  }
  grep -E '^-- (ringconv|MPI)' "$build/configure.log" | sed 's/^-- /ringconv: /'
  printf '%s' "$key" >"$build/setup-flags"
}

find_missing
say "setup: 3 steps: $(packages_phrase), Python environment in $(basename "$build")/venv (1 MB), CMake (10 s)"
say "[1/3] packages"
step_packages
mkdir -p "$build"
say "[2/3] Python environment"
step_python
say "[3/3] CMake"
step_configure
