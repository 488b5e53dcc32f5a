//! Lock files of package managers: long, written by programs, and read by nobody.

/// By name, in whatever directory.
const LOCK_FILES: [&str; 27] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Gopkg.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "cabal.project.freeze",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "pylock.toml",
    "stack.yaml.lock",
    "uv.lock",
    "yarn.lock",
];

pub(super) fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.contains(&name)
}
