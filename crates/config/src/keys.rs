//! Which keys there are, asked of the structs themselves, so that no list of them can go stale.

use std::cell::Cell;

use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};

use super::Timeouts;
use super::values::Values;
use super::{
    AuditConfig, AuthConfig, BuildConfig, CredentialConfig, GitConfig, HistoryConfig, HttpConfig,
    JwtConfig, Limits, McpConfig, OauthConfig, ReaperConfig, RepoConfig, RepoSandbox, Role,
    SandboxConfig, SecretConfig, SshConfig, TlsConfig,
};

/// A section of the file and its keys; the first is the top of the file.
pub(super) struct Section {
    /// As it is written between brackets; empty for the top.
    pub name: &'static str,
    pub keys: &'static [&'static str],
}

pub(super) fn sections() -> Vec<Section> {
    let section = |name, keys| Section { name, keys };
    vec![
        section("", keys_of::<Values>()),
        section("auth", keys_of::<AuthConfig>()),
        section("auth.roles.NAME", keys_of::<Role>()),
        section("auth.jwt", keys_of::<JwtConfig>()),
        section("auth.oauth", keys_of::<OauthConfig>()),
        section("tls", keys_of::<TlsConfig>()),
        section("limits", keys_of::<Limits>()),
        section("timeouts", keys_of::<Timeouts>()),
        section("git", keys_of::<GitConfig>()),
        section("git.credentials.HOST", keys_of::<CredentialConfig>()),
        section("git.ssh", keys_of::<SshConfig>()),
        section("git.http", keys_of::<HttpConfig>()),
        section("build", keys_of::<BuildConfig>()),
        section("reaper", keys_of::<ReaperConfig>()),
        section("history", keys_of::<HistoryConfig>()),
        section("audit", keys_of::<AuditConfig>()),
        section("mcp", keys_of::<McpConfig>()),
        section("secrets.NAME", keys_of::<SecretConfig>()),
        section("sandbox", keys_of::<SandboxConfig>()),
        section("repos.NAME", keys_of::<RepoConfig<String>>()),
        section("repos.NAME.credential", keys_of::<CredentialConfig>()),
        section("repos.NAME.sandbox", keys_of::<RepoSandbox>()),
    ]
}

/// Where a key that stands in the wrong place belongs, for the end of a refusal.
pub(super) fn hint(key: &str) -> Option<String> {
    let homes: Vec<_> = sections()
        .iter()
        .filter(|section| section.keys.contains(&key))
        .map(|section| match section.name {
            "" => "at the top, before the first section".to_owned(),
            name => format!("in [{name}]"),
        })
        .collect();
    (!homes.is_empty()).then(|| format!("{key} belongs {}", homes.join(" or ")))
}

fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let fields = Cell::new(&[][..]);
    // It always fails, after it was asked for the fields.
    let _ = T::deserialize(AskFields(&fields));
    fields.get()
}

struct AskFields<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for AskFields<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only structs have fields"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.set(fields);
        Err(Error::custom("only the fields were wanted"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_its_keys() {
        for section in sections() {
            assert!(section.keys.len() > 1, "[{}]", section.name);
        }
        let top = sections().swap_remove(0);
        assert!(top.keys.contains(&"listen") && top.keys.contains(&"repos"));
    }

    #[test]
    fn a_misplaced_key_is_shown_its_home() {
        assert_eq!(hint("max_jobs").unwrap(), "max_jobs belongs in [limits]");
        assert_eq!(
            hint("allow_env").unwrap(),
            "allow_env belongs in [build] or in [repos.NAME]"
        );
        assert_eq!(
            hint("listen").unwrap(),
            "listen belongs at the top, before the first section"
        );
        assert_eq!(hint("nonsense"), None);
    }
}
