#!/usr/bin/env bash
# Installs what building and testing needs and this machine lacks. Says what it
# will do before it does it, and does nothing where nothing is missing.
#   setup.sh          what building and checking needs
#   setup.sh clients  also what the tests run: the official MCP clients, GitHub's readers of workflows, a browser
#   setup.sh peers    also the MCP servers of others, which the benchmark runs
#   setup.sh valgrind also what the benchmark counts instructions with
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# `worktree add --reason` came with this version.
readonly git_wanted=2.33

have() {
    command -v -- "$1" >/dev/null 2>&1
}

# A compiler without the C library's headers is of no use to libgit2.
compiles_c() {
    have cc && have gcc &&
        echo '#include <stdio.h>' | cc -x c -fsyntax-only - >/dev/null 2>&1
}

packages=()
have git || packages+=(git)
have make || packages+=(make)
compiles_c || packages+=(gcc libc6-dev)
have curl || packages+=(curl ca-certificates)
have ps || packages+=(procps)
# Builds are contained by it.
have bwrap || packages+=(bubblewrap)
# Tests look at what these print when a build fails.
have python3 || packages+=(python3)
# Tests clone from a real ssh server, and from one with a certificate of their own.
have_sshd() {
    have sshd || [[ -x /usr/sbin/sshd ]]
}
have_sshd || packages+=(openssh-server)
have ssh || packages+=(openssh-client)
have openssl || packages+=(openssl)
have pytest || packages+=(python3-pytest)
# Archives of artifacts are unpacked by it.
have unzip || packages+=(unzip)
# Recipes read JSON by it.
have jq || packages+=(jq)
# Builds that are not of make, for warm starts.
have ninja || packages+=(ninja-build)
# Contents of LFS files.
have git-lfs || packages+=(git-lfs)

stale=()
for wanted in "$@"; do
    case $wanted in
        clients)
            pins=tests/clients
            # The page is looked at in it.
            have chromium || packages+=(chromium fonts-dejavu-core)
            ;;
        peers) pins=benches/peers ;;
        valgrind)
            have valgrind || packages+=(valgrind)
            continue
            ;;
        *)
            echo 'usage: setup.sh [clients] [peers] [valgrind]' >&2
            exit 2
            ;;
    esac
    .ci/pinned.sh check "$pins" || stale+=("$pins")
done
if [[ ${#stale[@]} -gt 0 ]]; then
    have npm || packages+=(nodejs npm)
    have python3 && python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
fi

if [[ ${#packages[@]} -gt 0 ]]; then
    echo "setup: missing: ${packages[*]}"
    if ! have apt-get; then
        echo 'setup: this is no Debian-like system (no apt-get): please install what these packages hold, and try again' >&2
        exit 1
    fi
    as_root=()
    if [[ $(id -u) -eq 0 ]]; then
        echo "setup: will install them now with apt-get, as root: ${packages[*]}"
    elif have sudo; then
        echo "setup: will install them now with sudo apt-get, which may ask for your password: ${packages[*]}"
        as_root=(sudo)
    else
        echo "setup: neither root nor sudo here; as root, run: apt-get install ${packages[*]}" >&2
        exit 1
    fi
    "${as_root[@]}" apt-get update
    install() {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"
    }
    # Not every place has these; the tests and benchmarks that need them say that they are left out.
    if ! install "${packages[@]}"; then
        others=()
        for package in "${packages[@]}"; do
            [[ $package == openssh-server || $package == valgrind ]] || others+=("$package")
        done
        [[ ${#others[@]} -lt ${#packages[@]} ]] || exit 1
        echo 'setup: trying again without the ssh server and valgrind'
        [[ ${#others[@]} -eq 0 ]] || install "${others[@]}"
    fi
    hash -r
    compiles_c || {
        echo 'setup: the C compiler still finds no stdio.h' >&2
        exit 1
    }
fi

git_found=$(git version)
git_found=${git_found#git version }
if [[ $(printf '%s\n' "$git_wanted" "$git_found" | sort -V | head -n 1) != "$git_wanted" ]]; then
    echo "setup: git $git_found is too old, $git_wanted or later is needed" >&2
    exit 1
fi

if ! have cargo; then
    cat >&2 <<'EOF'
setup: Rust is missing: no cargo in PATH.
  If rustup is installed already:  . "$HOME/.cargo/env"
  Otherwise get it from https://rustup.rs:
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
EOF
    exit 1
fi

for pins in "${stale[@]}"; do
    .ci/pinned.sh install "$pins"
done

if [[ ${#packages[@]} -gt 0 || ${#stale[@]} -gt 0 ]]; then
    echo 'setup: done'
else
    echo 'setup: everything is there, nothing to do'
fi
