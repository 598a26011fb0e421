# shellcheck shell=sh disable=SC2034
# Shared by the scripts: the project's Python, with everything in requirements*.txt. POSIX sh.
# Sets: root (the checkout), python (its interpreter). Progress goes to standard error.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1

say() {
  printf '%s\n' "$*" >&2
}

# A Python that can make the project's environment: 3.11 or newer.
find_python() {
  for candidate in python3.13 python3.12 python3.11 python3 python; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# What the environment must hold, as one word: the pins of both requirements files.
wanted_stamp() {
  cat "$root/requirements.txt" "$root/requirements-dev.txt" | cksum | tr ' ' '-'
}

# The stamp is written last, so an interrupted installation is never taken for a whole one.
has_stamp() {
  [ -x "$1/bin/python" ] && [ "$(cat "$1/.gpuobs-requirements" 2>/dev/null)" = "$wanted" ]
}

wanted=$(wanted_stamp)
if [ -n "${VIRTUAL_ENV:-}" ] && has_stamp "$VIRTUAL_ENV"; then
  python=$VIRTUAL_ENV/bin/python
elif has_stamp "$root/.venv"; then
  python=$root/.venv/bin/python
else
  if ! system_python=$(find_python); then
    say "Python 3.11 or newer is needed and none is on PATH. Install it (https://www.python.org/downloads/)."
    exit 1
  fi
  python=$("$system_python" "$root/scripts/environment.py" "$wanted") || exit 1
fi

# Scripts may be called from anywhere; what runs from here finds the checkout's own modules.
PYTHONPATH=
export PYTHONPATH
unset PYTHONHOME
