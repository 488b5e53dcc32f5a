//! Where in the cgroup file systems this process stands: read from `/proc/self/cgroup`, which names its
//! group in each hierarchy, and `/proc/self/mountinfo`, which says where that hierarchy is to be seen.

use std::path::{Path, PathBuf};

use branchyard_runtime::disk::Mount;

/// The directories of the groups that this process is in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    pub unified: Option<PathBuf>,
    /// Version 1, and only where the controller is not one of the unified hierarchy's.
    pub pids: Option<PathBuf>,
    pub memory: Option<PathBuf>,
}

impl Own {
    pub(super) fn parse(cgroup: &str, mountinfo: &str) -> Self {
        let mounts: Vec<_> = mountinfo.lines().filter_map(Mount::parse).collect();
        Self {
            unified: directory(cgroup, &mounts, None),
            pids: directory(cgroup, &mounts, Some("pids")),
            memory: directory(cgroup, &mounts, Some("memory")),
        }
    }
}

fn directory(cgroup: &str, mounts: &[Mount], controller: Option<&str>) -> Option<PathBuf> {
    let path = cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = match controller {
            None => id == "0" && controllers.is_empty(),
            Some(name) => controllers.split(',').any(|one| one == name),
        };
        is_it.then_some(path)
    })?;
    mounts.iter().find_map(|mount| {
        let is_it = match controller {
            None => mount.kind == "cgroup2",
            Some(name) => mount.kind == "cgroup" && mount.options.split(',').any(|one| one == name),
        };
        // A container sees a part of the hierarchy only; a group outside of it has no directory here.
        let below = Path::new(path).strip_prefix(&mount.root).ok()?;
        let inside = !below.components().any(|part| part.as_os_str() == "..");
        // Component by component: joining an empty path would leave a slash at the end.
        (is_it && inside).then(|| mount.at.components().chain(below.components()).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(cgroup: &str, mountinfo: &str) -> [Option<String>; 3] {
        let own = Own::parse(cgroup, mountinfo);
        [own.unified, own.pids, own.memory].map(|dir| dir.map(|dir| dir.display().to_string()))
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_hybrid_machine_has_all_three() {
        let cgroup = "9:name=systemd:/\n8:pids:/\n4:memory:/process_api/1ec9\n\
            2:cpuacct,cpu:/\n0::/\n";
        let mountinfo = "\
            31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
            35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
            39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(
            own(cgroup, mountinfo),
            [
                some("/sys/fs/cgroup/unified"),
                some("/sys/fs/cgroup/pids"),
                some("/sys/fs/cgroup/memory/process_api/1ec9"),
            ]
        );
    }

    #[test]
    fn under_systemd_there_is_one() {
        let cgroup = "0::/system.slice/branchyard.service/daemon\n";
        let mountinfo = "\
            23 29 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
            28 23 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 master:2 - \
            cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
        assert_eq!(
            own(cgroup, mountinfo),
            [
                some("/sys/fs/cgroup/system.slice/branchyard.service/daemon"),
                None,
                None
            ]
        );
    }

    #[test]
    fn a_container_sees_its_part_only() {
        let private = "651 649 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
        assert_eq!(own("0::/\n", private), [some("/sys/fs/cgroup"), None, None]);
        let shared = "\
            712 711 0:30 /docker/4f2e /sys/fs/cgroup/pids ro,nosuid master:17 - cgroup cgroup rw,pids\n\
            713 711 0:31 /docker/4f2e /sys/fs/cgroup/a\\040b ro - cgroup cgroup rw,memory\n";
        assert_eq!(
            own("5:pids:/docker/4f2e\n4:memory:/docker/4f2e/x\n", shared),
            [
                None,
                some("/sys/fs/cgroup/pids"),
                some("/sys/fs/cgroup/a b/x")
            ]
        );
        // Seen from another namespace, the own group lies outside.
        assert_eq!(own("0::/../7a1c\n", private), [None, None, None]);
        assert_eq!(own("5:pids:/docker/other\n", shared), [None, None, None]);
    }

    #[test]
    fn without_cgroups_there_is_none() {
        assert_eq!(
            own("", "22 1 0:1 / / rw - ext4 /dev/sda rw\n"),
            [None, None, None]
        );
    }
}
