#!/usr/bin/env bash
# Programs of npm and PyPI that tests and benchmarks run, pinned in a directory of this
# repository and kept in one of the same name below target: npm packages, a Node that is
# young enough for them, single files of packages that are too large, a Python venv.
#   pinned.sh check PINS    succeeds where they are there and as pinned
#   pinned.sh install PINS  installs them anew
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

fail() {
    echo "setup: $*" >&2
    exit 1
}

[[ $# -eq 2 && -f $2/package-lock.json ]] || fail 'usage: pinned.sh check|install PINS'
readonly pins=$2
home=$(realpath --canonicalize-missing -- "${CARGO_TARGET_DIR:-target}")/${pins##*/}
readonly home
readonly stamp=$home/stamp

# A venv holds its own path and is of use to one Python only.
wanted() {
    echo "$home $(python3 --version 2>&1) $(uname -m)"
    cat "$pins"/{package.json,package-lock.json,requirements.txt}
    local more
    for more in "$pins"/{files,wheels}.txt; do
        [[ ! -f $more ]] || cat "$more"
    done
}

install_npm_packages() {
    rm -rf "$home/node_modules"
    cp "$pins"/{package.json,package-lock.json} "$home"
    # No script of a package runs: none is needed. The machine's Node may be too old
    # for the packages, but not for fetching them. `npm ci` would insist on packages for
    # other systems, which some registries lack. What is pinned counts, whatever the
    # user's npmrc leaves out.
    (cd "$home" && npm install --ignore-scripts --package-lock --include=optional \
        --no-audit --no-fund --loglevel=error \
        --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000) ||
        fail "npm could not fetch what $pins/package-lock.json names; is $(npm config get registry 2>/dev/null) reachable from here?"
    local node
    node=$(find "$home"/node_modules/node-linux-*/bin -name node -print -quit 2>/dev/null) || true
    [[ -n $node ]] || fail "npm has no Node for this machine ($(uname -sm)) in $pins/package-lock.json"
    "$node" --version >/dev/null || fail "the Node of $node does not run on this machine"
    ln -sfn "$node" "$home/node"
    # From here scripts that lie beside the pins find the packages.
    ln -sfn "$PWD/$pins" "$home/drivers"
    ln -sfn "$PWD/tests/page" "$home/page"
}

# Each line of files.txt is a package with its version, what npm calls its integrity, and the file in it.
install_single_files() {
    [[ -f $pins/files.txt ]] || return 0
    rm -rf "$home/files"
    mkdir "$home/files"
    local package integrity path archive
    while read -r package integrity path; do
        archive=$(cd "$home/files" && npm pack --ignore-scripts --silent "$package" </dev/null) ||
            fail "npm could not fetch $package, which $pins/files.txt names; is its registry reachable from here?"
        archive=$home/files/$archive
        [[ sha512-$(openssl dgst -sha512 -binary "$archive" | base64 --wrap=0) == "$integrity" ]] ||
            fail "$package is not what $pins/files.txt pins"
        tar --extract --gzip --to-stdout --file "$archive" "package/$path" >"$home/files/${path##*/}"
        rm "$archive"
    done <"$pins/files.txt"
}

install_python_packages() {
    python3 -m venv --clear "$home/venv"
    "$home/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
        --require-hashes --requirement "$pins/requirements.txt" ||
        fail "pip could not fetch what $pins/requirements.txt names; is its package index reachable from here?"
    [[ -f $pins/wheels.txt ]] || return 0
    # What tests install, and what they install it with: builds are shown these directories.
    rm -rf "$home/wheels" "$home/bin"
    "$home/venv/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: --no-deps \
        --require-hashes --requirement "$pins/wheels.txt" --dest "$home/wheels" ||
        fail "pip could not fetch what $pins/wheels.txt names; is its package index reachable from here?"
    install -D "$home/venv/bin/uv" "$home/bin/uv"
}

case $1 in
    check)
        # The stamp does not tell what somebody removed since.
        [[ -x $home/node && -x $home/venv/bin/python && -f $stamp ]] &&
            wanted | sha256sum --check --status "$stamp"
        ;;
    install)
        echo "setup: will install what $pins names into $home: npm packages with a Node of their own, a Python venv"
        mkdir -p "$home"
        rm -f "$stamp"
        install_npm_packages
        install_single_files
        install_python_packages
        wanted | sha256sum >"$stamp"
        ;;
    *)
        fail 'usage: pinned.sh check|install PINS'
        ;;
esac
