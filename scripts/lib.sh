# shellcheck shell=sh disable=SC2034
# Shared by the scripts: the project's Python, with everything in requirements*.txt. POSIX sh.
# Sets: root (the checkout), python (its interpreter). Progress goes to standard error.
#
# It is the one that Pulumi.yaml names, .venv, made and brought up to date with pip. Only where there is no .venv
# and the active environment (VIRTUAL_ENV) has everything, it is that one.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1

say() {
  printf '%s\n' "$*" >&2
}

is_recent() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# A Python that can make the environment: 3.11 or newer.
find_python() {
  for candidate in python3.13 python3.12 python3.11 python3 python; do
    if is_recent "$candidate"; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# Installs the pinned packages into the environment $1; the other arguments are pip's.
install_packages() {
  environment=$1
  shift
  # Most of the packages' modules are never imported; the rest are compiled at their first import.
  [ -n "${PYTHONDONTWRITEBYTECODE:-}" ] || set -- --no-compile "$@"
  "$environment/bin/python" -m pip --disable-pip-version-check install --quiet --require-hashes \
    -r "$root/requirements.txt" -r "$root/requirements-dev.txt" "$@" >&2
}

# The stamp, a checksum of the pins, is written last: an interrupted installation is never taken for a whole one.
pins=$(cat "$root/requirements.txt" "$root/requirements-dev.txt" | cksum | tr ' ' '-')
has_stamp() {
  [ -x "$1/bin/python" ] && [ "$(cat "$1/.gpuobs-requirements" 2>/dev/null)" = "$pins" ]
}
stamp() {
  printf '%s\n' "$pins" >"$1/.gpuobs-requirements"
}

# Whether the active environment has everything, asked of pip without its looking anywhere else.
active_is_complete() {
  [ -n "${VIRTUAL_ENV:-}" ] && [ ! -e "$root/.venv" ] || return 1
  has_stamp "$VIRTUAL_ENV" && return 0
  is_recent "$VIRTUAL_ENV/bin/python" &&
    install_packages "$VIRTUAL_ENV" --dry-run --no-index --no-deps 2>/dev/null && stamp "$VIRTUAL_ENV"
}

make_environment() {
  if ! system_python=$(find_python); then
    say "Python 3.11 or newer is needed and none is on PATH. Install it (https://www.python.org/downloads/)."
    return 1
  fi
  # Another script may be making it: the lock belongs to this shell's descriptor 9, and ends with it.
  exec 9<"$root/requirements.txt"
  "$system_python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || return 1
  if ! has_stamp "$root/.venv"; then
    if ! is_recent "$root/.venv/bin/python"; then
      say "making the Python environment $root/.venv"
      "$system_python" -m venv --clear "$root/.venv" || return 1
    fi
    say "installing the pinned packages (a minute or two the first time)"
    if ! install_packages "$root/.venv"; then
      say "installing the packages failed (see above); $root/.venv is incomplete"
      return 1
    fi
    stamp "$root/.venv" || return 1
  fi
  exec 9<&-
}

if has_stamp "$root/.venv"; then
  python=$root/.venv/bin/python
elif active_is_complete; then
  python=$VIRTUAL_ENV/bin/python
else
  make_environment || exit 1
  python=$root/.venv/bin/python
fi

# Scripts may be called from anywhere; what runs from here finds the checkout's own modules.
PYTHONPATH=
export PYTHONPATH
unset PYTHONHOME
