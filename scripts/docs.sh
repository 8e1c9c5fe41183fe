#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# scripts/docs.sh: installs mkdocs-material in build/venv-docs (40 MB from PyPI) and
# builds the site in build/site, warnings as errors.
#   --reference   renews docs/reference and docs/images from the tools in build/bin instead
#   --installed   builds only if mkdocs is there already
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

venv=$build/venv-docs
llvm=${MLIR_DIR:+$MLIR_DIR/../../../bin}
llvm=${llvm:-/usr/lib/llvm-22/bin}

install_mkdocs() {
  if [[ -x $venv/bin/mkdocs ]]; then return 0; fi
  say "installing mkdocs-material in $(basename "$build")/venv-docs (40 MB)"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --requirement "$top/docs/requirements.txt"
}

case ${1:-} in
--reference)
  /usr/bin/python3 "$top/scripts/docs_reference.py" --bin="$build/bin" --llvm="$llvm"
  /usr/bin/python3 "$top/scripts/docs_pictures.py" --bin="$build/bin"
  exit 0
  ;;
--installed)
  if [[ ! -x $venv/bin/mkdocs ]]; then
    say "left out: the documentation site (no mkdocs; scripts/docs.sh installs it)"
    exit 0
  fi
  ;;
"") install_mkdocs ;;
*) die "unknown word '$1', expected --reference or --installed" ;;
esac
say "building the site in $(basename "$build")/site"
# Not --quiet: then --strict would not see warnings either.
export NO_MKDOCS_2_WARNING=1
log=$("$venv/bin/mkdocs" build --strict --config-file "$top/mkdocs.yml" --site-dir "$build/site" 2>&1) || {
  grep -v '^INFO' <<<"$log" >&2
  exit 1
}
