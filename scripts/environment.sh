# Sourced by the other scripts: makes .venv from the pinned requirement files, once per change of those files.
# usage: make_environment NAME REQUIREMENTS…   leaves $venv set to the folder.

python_of_this_machine() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    echo "outrider needs Python 3.11 or newer, and found none; name one with PYTHON=/path/to/python3" >&2
    return 3
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

# The packages would start their servers on their usual ports; whoever needs one here starts its own, on a free one.
install_packages() {
    local policy=/usr/sbin/policy-rc.d made='' failed=0
    command -v apt-get >/dev/null || return 1
    echo "installing $* (once)" >&2
    if ! [ -e "$policy" ]; then
        { printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod +x "$policy" && made=1; } || true
    fi
    {
        as_root apt-get update -qq &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    } >&2 || failed=1
    [ -z "$made" ] || as_root rm -f "$policy"
    return "$failed"
}

# Debian splits venv off from Python; everywhere else it is there.
ensure_venv_module() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null && return
    install_packages python3-venv && return
    echo "Python's venv module is missing: install your system's python3-venv package and try again" >&2
    return 3
}

make_environment() {
    local name=$1 python stamp
    shift
    python=$(python_of_this_machine)
    venv=$PWD/$name
    stamp=$({ "$python" --version; cat "$@" pyproject.toml; } | cksum)
    [ -f "$venv/.stamp" ] && [ "$(cat "$venv/.stamp")" = "$stamp" ] && return
    ensure_venv_module "$python"
    echo "making $name with $("$python" --version) (once)" >&2
    "$python" -m venv --clear "$venv"
    local requirement arguments=()
    for requirement in "$@"; do arguments+=(-r "$requirement"); done
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${arguments[@]}"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
    printf '%s\n' "$stamp" >"$venv/.stamp"
}
