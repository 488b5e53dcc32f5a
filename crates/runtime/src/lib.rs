//! What the long-lived parts of the daemon share: clock, background tasks, disk space, event bus, telemetry

pub mod ansi;
pub mod background;
pub mod clock;
pub mod disk;
pub mod single_flight;
pub mod telemetry;
pub mod yard_events;
