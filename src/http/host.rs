//! Names of hosts as a request writes them.

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
pub(super) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && !name.ends_with(':')
                && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}
