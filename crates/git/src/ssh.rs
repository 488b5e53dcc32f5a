//! How git starts ssh: never asking anybody, and never speaking to a host whose key is not known.

use std::path::Path;

use branchyard_config::SshConfig;

/// The value of `GIT_SSH_COMMAND`, which git hands to a shell.
pub fn ssh_command(ssh: &SshConfig) -> String {
    let mut options = vec![
        "BatchMode=yes".to_owned(),
        "StrictHostKeyChecking=yes".to_owned(),
    ];
    if let Some(key) = &ssh.key_file {
        options.push(format!("IdentityFile={}", quoted(key)));
        // Else every key of the agent and of the home directory is shown to the host first.
        options.push("IdentitiesOnly=yes".to_owned());
    }
    if let Some(known) = &ssh.known_hosts {
        options.push(format!("UserKnownHostsFile={}", quoted(known)));
        options.push("GlobalKnownHostsFile=/dev/null".to_owned());
        // It is the operator's file: what a host offers of its own accord is not added.
        options.push("UpdateHostKeys=no".to_owned());
    }
    if !ssh.agent {
        options.push("IdentityAgent=none".to_owned());
    }
    let words = options.iter().map(|option| format!("-o{option}"));
    let words: Vec<String> = std::iter::once("ssh".to_owned()).chain(words).collect();
    // Fails for a NUL alone, and a path with one is refused at start.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| "false".to_owned())
}

/// A path in ssh's own syntax, where a blank ends a word and a percent sign begins something.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_keys_are_strict_whatever_else_is_configured() {
        let ssh = SshConfig::default();
        assert_eq!(
            ssh_command(&ssh),
            "ssh '-oBatchMode=yes' '-oStrictHostKeyChecking=yes'"
        );
    }

    #[test]
    fn paths_reach_ssh_whole() {
        let ssh = SshConfig {
            key_file: Some("/etc/my key's".into()),
            known_hosts: Some("/etc/100%".into()),
            agent: false,
        };
        let words = shlex::split(&ssh_command(&ssh)).unwrap();
        for wanted in [
            "-oIdentityFile=\"/etc/my key's\"",
            "-oIdentitiesOnly=yes",
            "-oUserKnownHostsFile=\"/etc/100%%\"",
            "-oGlobalKnownHostsFile=/dev/null",
            "-oIdentityAgent=none",
        ] {
            assert!(words.iter().any(|word| word == wanted), "{words:?}");
        }
    }
}
