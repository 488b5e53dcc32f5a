//! A grammar stricter than git's own: what it reads as the host is what git, curl and ssh connect
//! to, whatever else they would have made of the text.

use unicode_general_category::{GeneralCategory, get_general_category};

use crate::{HostName, Protocol};

const MAX_BYTES: usize = 2048;

/// What matters of a well-formed URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A repository on this machine.
    Local,
    Remote {
        protocol: Protocol,
        host: HostName,
    },
}

/// The rule that a URL breaks, and what to do about it; no part of the text that could be a secret.
#[derive(Debug)]
pub(super) struct Refusal {
    pub rule: String,
    pub help: &'static str,
}

impl Refusal {
    pub(super) fn new(rule: impl Into<String>, help: &'static str) -> Self {
        let rule = rule.into();
        Self { rule, help }
    }
}

pub(super) fn read(text: &str) -> Result<Form, Refusal> {
    if text.is_empty() {
        return malformed("it is empty");
    }
    if text.len() > MAX_BYTES {
        return malformed("it is longer than 2048 bytes");
    }
    if text.chars().any(is_invisible) {
        return malformed("it holds a control or invisible character");
    }
    if text.starts_with('/') {
        check_path(text)?;
        return Ok(Form::Local);
    }
    if text.contains([' ', '\\']) {
        return malformed("it holds a space or a backslash");
    }
    if let Some((helper, _)) = text.split_once("::")
        && helper.chars().all(is_scheme_char)
    {
        return malformed("it names a remote helper (helper::address)");
    }
    if let Some((scheme, rest)) = text.split_once("://")
        && scheme.chars().all(is_scheme_char)
    {
        return with_scheme(scheme, rest);
    }
    // As git does: a colon before any slash makes it ssh.
    match text.find([':', '/']) {
        Some(at) if text[at..].starts_with(':') => scp_like(text),
        _ => malformed("it is neither a URL nor an absolute path"),
    }
}

fn with_scheme(scheme: &str, rest: &str) -> Result<Form, Refusal> {
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let protocol = Protocol::of_scheme(scheme);
    let host_and_port = match authority.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => return credentials("it carries a password"),
        // Hosting sites take a token as the user name of https, too.
        Some(_) if protocol != Some(Protocol::Ssh) => {
            return credentials("only an ssh URL may name a user");
        }
        Some((user, host_and_port)) => {
            check_user(user)?;
            host_and_port
        }
        None => authority,
    };
    if path.contains(['?', '#']) {
        return credentials("it has a query or a fragment");
    }
    check_path(path)?;
    if scheme == "file" {
        if !authority.is_empty() {
            return malformed("a file URL names no host: file:///path");
        }
        return Ok(Form::Local);
    }
    let Some(protocol) = protocol else {
        return malformed("its protocol is none of https, ssh, http, git and file");
    };
    // The colons of an IPv6 address stand within its brackets.
    let after_address = host_and_port.find(']').map_or(0, |at| at + 1);
    let host = match host_and_port[after_address..].find(':') {
        Some(colon) => {
            let (host, port) = host_and_port.split_at(after_address + colon);
            check_port(&port[1..])?;
            host
        }
        None => host_and_port,
    };
    let host = read_host(host)?;
    Ok(Form::Remote { protocol, host })
}

/// `host:path` or `user@host:path`, with an IPv6 address in brackets.
fn scp_like(text: &str) -> Result<Form, Refusal> {
    let after_address = match text.find("]:") {
        Some(close) if text.find(':') > text.find('[') => close,
        _ => 0,
    };
    let Some((authority, path)) = text[after_address..]
        .find(':')
        .map(|colon| text.split_at(after_address + colon))
    else {
        return malformed("its path is missing");
    };
    let path = &path[1..];
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            check_user(user)?;
            host
        }
        // Without a user before it, an '@' here ends a password.
        None if path.contains('@') => return credentials("it carries a password"),
        None => authority,
    };
    if path.starts_with('-') {
        return malformed("its path starts with '-'");
    }
    if text.contains("://") {
        // For git all that stands before is a protocol.
        return malformed("it holds '://' behind something that is no protocol");
    }
    check_path(path)?;
    let host = read_host(host)?;
    let protocol = Protocol::Ssh;
    Ok(Form::Remote { protocol, host })
}

fn read_host(host: &str) -> Result<HostName, Refusal> {
    HostName::parse(host).or_else(malformed)
}

fn check_user(user: &str) -> Result<(), Refusal> {
    if user.starts_with('-') {
        return malformed("its user name starts with '-'");
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
    if user.is_empty() || !user.bytes().all(plain) {
        return malformed("its user name holds something other than letters, digits, '._+-'");
    }
    Ok(())
}

fn check_port(port: &str) -> Result<(), Refusal> {
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if digits => Ok(()),
        _ => malformed("its port is not a number from 1 to 65535"),
    }
}

fn check_path(path: &str) -> Result<(), Refusal> {
    if path.trim_matches('/').is_empty() {
        return malformed("its path is empty");
    }
    // git hands the decoded path to programs that read lines.
    let mut escapes = path.split('%').skip(1).filter_map(|rest| rest.get(..2));
    if escapes.any(|hex| u8::from_str_radix(hex, 16).is_ok_and(|b| b.is_ascii_control())) {
        return malformed("its path holds an escaped control character");
    }
    Ok(())
}

fn malformed<T>(rule: &str) -> Result<T, Refusal> {
    Err(Refusal::new(
        rule,
        "give it as https://host/path, ssh://user@host/path or user@host:path",
    ))
}

fn credentials<T>(rule: &str) -> Result<T, Refusal> {
    Err(Refusal::new(
        rule,
        "keep credentials out of URLs: name where the token is kept, in [git.credentials.\"HOST\"] or [repos.NAME.credential], or use ssh",
    ))
}

fn is_scheme_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+-.".contains(c)
}

/// Plain spaces are judged apart: directories on this machine may have them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || get_general_category(c) == GeneralCategory::Format
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn urls_are_read_as_git_reads_them() {
        for (url, protocol, host) in [
            ("https://github.com/a/b.git", Protocol::Https, "github.com"),
            ("https://GitHub.com:8443/a", Protocol::Https, "github.com"),
            ("http://[::1]:80/a", Protocol::Http, "::1"),
            ("ssh://host/a", Protocol::Ssh, "host"),
            ("ssh://git@host:2222/~me/a", Protocol::Ssh, "host"),
            ("git://host/a", Protocol::Git, "host"),
            ("git@host:a/b.git", Protocol::Ssh, "host"),
            ("host:a", Protocol::Ssh, "host"),
            ("git@[::1]:a", Protocol::Ssh, "::1"),
            ("[fe80::1]:a/b]:c", Protocol::Ssh, "fe80::1"),
            ("git@host:/abs/ünï/@scope", Protocol::Ssh, "host"),
        ] {
            let host = HostName::parse(host).unwrap();
            assert_eq!(read(url).unwrap(), Form::Remote { protocol, host }, "{url}");
        }
        for url in ["/srv/a", "/srv/a b:c@d", "file:///srv/a"] {
            assert_eq!(read(url).unwrap(), Form::Local, "{url}");
        }
    }

    #[test]
    fn what_git_could_take_for_something_else_is_refused() {
        let long = format!("https://host/{}", "x".repeat(MAX_BYTES));
        for (url, rule) in [
            ("", "it is empty"),
            (&*long, "longer than 2048"),
            ("ext::sh -c id", "a space"),
            ("ext::id", "remote helper"),
            ("fd::17", "remote helper"),
            ("https::https://host/a", "remote helper"),
            ("::1:a", "remote helper"),
            ("ssh://-oProxyCommand=id/x", "starts with '-'"),
            ("ssh://git@-oProxyCommand=id/x", "starts with '-'"),
            ("ssh://-oProxyCommand=id@host/x", "starts with '-'"),
            ("-oProxyCommand=id:x", "starts with '-'"),
            ("git@-x:a", "starts with '-'"),
            ("-x@host:a", "starts with '-'"),
            ("host:-x", "path starts with '-'"),
            ("--upload-pack=id", "neither"),
            ("https://host", "path is empty"),
            ("https://host/", "path is empty"),
            ("https://host//", "path is empty"),
            ("git@host:", "path is empty"),
            ("/", "path is empty"),
            ("file:///", "path is empty"),
            ("https:///a", "host is empty"),
            ("https://:80/a", "host is empty"),
            ("https://host:/a", "port"),
            ("https://host:0/a", "port"),
            ("https://host:+1/a", "port"),
            ("https://host:99999/a", "port"),
            ("https://::1/a", "port"),
            ("https://1::2/a", "port"),
            ("https://ho%73t/a", "character"),
            ("https://host\\@evil/a", "backslash"),
            ("https://host/a\nb", "control"),
            ("/srv/a\tb", "control"),
            ("https://host/a%0ab", "escaped control"),
            ("https://host/a%00", "escaped control"),
            ("https://host/a\u{202e}b", "invisible"),
            ("https://host/a\u{a0}b", "invisible"),
            ("https://host/a b", "space"),
            ("HTTPS://host/a", "protocol"),
            ("ftp://host/a", "protocol"),
            ("git+ssh://host/a", "protocol"),
            ("file://host/a", "names no host"),
            ("./a", "neither"),
            ("~/a", "neither"),
            ("a/b:c", "neither"),
            ("a", "neither"),
            ("[host:22]:a", "IPv6"),
            ("ssh://@host/a", "user name"),
            ("ssh://a%41@host/a", "user name"),
        ] {
            match read(url) {
                Ok(form) => panic!("{url:?} was read as {form:?}"),
                Err(refusal) => assert!(refusal.rule.contains(rule), "{url:?}: {}", refusal.rule),
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([a-z]{0,5}(://|::|:))?[-@:/\\[\\]%?#.a-z0-9\u{e9}]{0,30}") {
            let _ = read(&text);
        }
    }
}
