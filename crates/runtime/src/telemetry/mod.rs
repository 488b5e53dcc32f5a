//! Logs and metrics. Both are process-wide by the nature of their crates, and are set up once.

use std::io::IsTerminal;
use std::sync::OnceLock;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error by `filter`; a second call changes nothing.
pub fn start_logging(filter: &str) {
    // Below info rmcp prints what agents send as it is, secrets and all, whatever else is asked for; and as info three
    // lines for each call.
    let filter = EnvFilter::try_new(format!("{filter},rmcp=warn"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    // Colour is for people, and on a terminal NO_COLOR is heeded.
    let logging = match std::io::stderr().is_terminal() {
        true => logging,
        false => logging.with_ansi(false),
    };
    // Fails only where a subscriber is already set, which is what is wanted then.
    let _ = logging.try_init();
}

/// The metrics of this process, to be rendered for whoever scrapes them.
pub fn metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new().build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder was set first");
            }
            handle
        })
        .clone()
}
