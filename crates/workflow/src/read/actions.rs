//! The actions that are built in, and what may be written in their `with`.

use serde::{Deserialize, Serialize};

/// An action that this daemon does itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuiltIn {
    /// Nothing to do: a job begins with the commit checked out.
    Checkout,
    Cache,
    CacheRestore,
    CacheSave,
    UploadArtifact,
    DownloadArtifact,
    /// Satisfied if the machine or image has the tool.
    Toolchain {
        tool: String,
    },
}

/// What is done with an input of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputSupport {
    Taken,
    NotYet,
    Unknown,
}

/// Actions that set up a tool and are not called `actions/setup-…`.
const TOOLCHAINS: &[(&str, &str)] = &[
    ("actions-rs/toolchain", "rust"),
    ("actions-rust-lang/setup-rust-toolchain", "rust"),
    ("dtolnay/rust-toolchain", "rust"),
    ("astral-sh/setup-uv", "uv"),
    ("denoland/setup-deno", "deno"),
    ("erlef/setup-beam", "beam"),
    ("oven-sh/setup-bun", "bun"),
    ("pnpm/action-setup", "pnpm"),
    ("ruby/setup-ruby", "ruby"),
    ("mlugg/setup-zig", "zig"),
    ("shivammathur/setup-php", "php"),
];

const CHECKOUT: &[&str] = &[
    "clean",
    "fetch-depth",
    "fetch-tags",
    "lfs",
    "persist-credentials",
    "ref",
    "repository",
    "set-safe-directory",
    "show-progress",
    "submodules",
    "token",
];
const CHECKOUT_NOT_YET: &[&str] = &[
    "filter",
    "github-server-url",
    "path",
    "sparse-checkout",
    "sparse-checkout-cone-mode",
    "ssh-key",
    "ssh-known-hosts",
    "ssh-strict",
    "ssh-user",
];
const CACHE: &[&str] = &[
    "path",
    "key",
    "restore-keys",
    "fail-on-cache-miss",
    "lookup-only",
    "enableCrossOsArchive",
    "save-always",
    "upload-chunk-size",
];
const UPLOAD: &[&str] = &[
    "name",
    "path",
    "if-no-files-found",
    "retention-days",
    "compression-level",
    "overwrite",
    "include-hidden-files",
];
const DOWNLOAD: &[&str] = &["name", "path", "pattern", "merge-multiple"];
const DOWNLOAD_NOT_YET: &[&str] = &["artifact-ids", "github-token", "repository", "run-id"];

impl BuiltIn {
    /// The action that a `uses` names, or none if it is not built in.
    pub(super) fn of(uses: &str) -> Option<Self> {
        let name = name_of(uses);
        let built_in = match name {
            "actions/checkout" => Self::Checkout,
            "actions/cache" => Self::Cache,
            "actions/cache/restore" => Self::CacheRestore,
            "actions/cache/save" => Self::CacheSave,
            "actions/upload-artifact" => Self::UploadArtifact,
            "actions/download-artifact" => Self::DownloadArtifact,
            _ => {
                let listed = TOOLCHAINS.iter().find(|(action, _)| *action == name);
                let tool = listed
                    .map(|(_, tool)| *tool)
                    .or_else(|| name.strip_prefix("actions/setup-"))?;
                Self::Toolchain {
                    tool: tool.to_owned(),
                }
            }
        };
        Some(built_in)
    }

    pub(super) fn input(&self, name: &str) -> InputSupport {
        let (taken, not_yet): (&[&str], &[&str]) = match self {
            Self::Checkout => (CHECKOUT, CHECKOUT_NOT_YET),
            Self::Cache | Self::CacheRestore | Self::CacheSave => (CACHE, &[]),
            Self::UploadArtifact => (UPLOAD, &[]),
            Self::DownloadArtifact => (DOWNLOAD, DOWNLOAD_NOT_YET),
            // What they take is known to the one who wrote them.
            Self::Toolchain { .. } => return InputSupport::Taken,
        };
        if taken.contains(&name) {
            InputSupport::Taken
        } else if not_yet.contains(&name) {
            InputSupport::NotYet
        } else {
            InputSupport::Unknown
        }
    }

    pub(super) fn inputs(&self) -> &'static [&'static str] {
        match self {
            Self::Checkout => CHECKOUT,
            Self::Cache | Self::CacheRestore | Self::CacheSave => CACHE,
            Self::UploadArtifact => UPLOAD,
            Self::DownloadArtifact => DOWNLOAD,
            Self::Toolchain { .. } => &[],
        }
    }

    /// What a step cannot do without.
    pub(super) fn required(&self) -> &'static [&'static str] {
        match self {
            Self::Cache | Self::CacheRestore | Self::CacheSave => &["path", "key"],
            Self::UploadArtifact => &["path"],
            _ => &[],
        }
    }
}

/// Without `@v4`.
pub(super) fn name_of(uses: &str) -> &str {
    uses.split_once('@').map_or(uses, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_actions_are_known_by_their_name() {
        assert_eq!(BuiltIn::of("actions/checkout@v4"), Some(BuiltIn::Checkout));
        assert_eq!(
            BuiltIn::of("actions/cache/save@abc"),
            Some(BuiltIn::CacheSave)
        );
        for (uses, tool) in [
            ("actions/setup-node@v4", "node"),
            ("dtolnay/rust-toolchain@stable", "rust"),
        ] {
            assert_eq!(
                BuiltIn::of(uses),
                Some(BuiltIn::Toolchain {
                    tool: tool.to_owned()
                })
            );
        }
        for uses in [
            "codecov/codecov-action@v4",
            "actions/labeler@v5",
            "docker://alpine",
            "../x",
        ] {
            assert_eq!(BuiltIn::of(uses), None, "{uses}");
        }
    }

    #[test]
    fn inputs_are_known() {
        assert_eq!(BuiltIn::Checkout.input("fetch-depth"), InputSupport::Taken);
        assert_eq!(BuiltIn::Checkout.input("submodules"), InputSupport::Taken);
        assert_eq!(BuiltIn::Checkout.input("lfs"), InputSupport::Taken);
        assert_eq!(BuiltIn::Checkout.input("filter"), InputSupport::NotYet);
        assert_eq!(BuiltIn::Cache.input("keys"), InputSupport::Unknown);
    }

    #[test]
    fn the_page_has_every_action_and_input() {
        let page = include_str!("../../../../docs/PIPELINES.md");
        let inputs = [
            CHECKOUT,
            CHECKOUT_NOT_YET,
            CACHE,
            UPLOAD,
            DOWNLOAD,
            DOWNLOAD_NOT_YET,
        ];
        let actions = TOOLCHAINS.iter().map(|(action, _)| action);
        for name in inputs.into_iter().flatten().chain(actions) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
