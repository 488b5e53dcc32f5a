//! Processor time that a run took: of its control group where the kernel keeps it there; otherwise of its processes and of the
//! children that they waited for.

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::Pid;

use super::cgroup::Cgroup;
use super::descendants;

/// What everything below `supervisor` took until now. The run is in `cgroup`, or was.
pub(super) fn taken(supervisor: Pid, cgroup: &Cgroup) -> Duration {
    let seen = descendants::of(supervisor).into_iter();
    let alive: u64 = seen
        .filter_map(times)
        .map(|[own, waited]| own + waited)
        .sum();
    let ended = times(supervisor).map_or(0, |[_, waited]| waited);
    let seen = Duration::from_secs(alive + ended) / ticks_per_second();
    seen.max(cgroup.cpu_time())
}

fn ticks_per_second() -> u32 {
    u32::try_from(clock_ticks_per_second())
        .unwrap_or(100)
        .max(1)
}

/// In ticks: its own, and those of the children that it waited for.
fn times(pid: Pid) -> Option<[u64; 2]> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(&String::from_utf8_lossy(&stat))
}

fn parse(stat: &str) -> Option<[u64; 2]> {
    // The name in parentheses may itself have spaces and parentheses, the fields after it have none.
    let fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let ticks: Vec<u64> = fields
        .skip(11)
        .take(4)
        .map_while(|field| field.parse().ok())
        .collect();
    match ticks[..] {
        [user, system, children_user, children_system] => {
            Some([user + system, children_user + children_system])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_stand_after_the_name_whatever_that_is() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 300 400 20 0 1 0 5 6";
        assert_eq!(parse(stat), Some([30, 700]));
        assert_eq!(parse("7 (cut) S 1"), None);
    }
}
