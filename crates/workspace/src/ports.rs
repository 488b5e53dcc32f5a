//! Ports of workspaces, so that the servers of two branches do not meet. A lease is stable, over restarts too, and holds
//! for as long as its workspace is there: what is gone needs to give nothing back.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use branchyard_config::{PORTS_EACH, PortRange};
use branchyard_git::read_plain;
use branchyard_model::{BranchName, RepoName, sha256};

const MAX_SIZE: u64 = 16 << 20;

#[derive(Debug)]
pub(crate) struct Ports {
    range: PortRange,
    /// The directory of all repos.
    yard: PathBuf,
    file: PathBuf,
    /// Read when it is first needed.
    leases: Mutex<Option<Leases>>,
}

/// By the first port.
type Leases = BTreeMap<u16, Lease>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    repo: RepoName,
    branch: BranchName,
}

impl Ports {
    pub(crate) fn at(file: PathBuf, range: PortRange, yard: &Path) -> Self {
        Self {
            range,
            yard: yard.to_owned(),
            file,
            leases: Mutex::default(),
        }
    }

    /// The first port of a workspace; none if it was never asked for.
    pub(crate) fn known(&self, repo: &RepoName, branch: &BranchName) -> Option<u16> {
        let mut leases = self.leases.lock();
        self.find(self.read(&mut leases), repo, branch)
    }

    /// The first port of a workspace, which has them from now on; none where all are taken.
    pub(crate) fn lease(&self, repo: &RepoName, branch: &BranchName) -> io::Result<Option<u16>> {
        let mut kept = self.leases.lock();
        let leases = self.read(&mut kept);
        if let Some(first) = self.find(leases, repo, branch) {
            return Ok(Some(first));
        }
        let mut new = leases.clone();
        new.retain(|first, lease| self.is_there(lease) && self.range.firsts().any(|f| f == *first));
        let Some(first) = self.free(&new, repo, branch) else {
            return Ok(None);
        };
        let (repo, branch) = (repo.clone(), branch.clone());
        new.insert(first, Lease { repo, branch });
        let fresh = self.file.with_extension("new");
        fs::write(&fresh, serde_json::to_vec(&new)?)?;
        fs::rename(&fresh, &self.file)?;
        *leases = new;
        Ok(Some(first))
    }

    /// The nearest free one to where the name points, so that a workspace that is made anew most often has what it had.
    fn free(&self, leases: &Leases, repo: &RepoName, branch: &BranchName) -> Option<u16> {
        let firsts: Vec<_> = self.range.firsts().collect();
        let digest = sha256(format!("{repo}\0{branch}").as_bytes());
        let wish = usize::from_str_radix(digest.get(..8)?, 16).ok()? % firsts.len();
        let (before, from) = firsts.split_at(wish);
        let mut nearest = from.iter().chain(before).copied();
        nearest.find(|first| !leases.contains_key(first) && is_free(*first))
    }

    fn find(&self, leases: &Leases, repo: &RepoName, branch: &BranchName) -> Option<u16> {
        let own = |lease: &Lease| lease.repo == *repo && lease.branch == *branch;
        let (first, _) = leases.iter().find(|(_, lease)| own(lease))?;
        // The operator may have moved the range.
        self.range.firsts().find(|known| known == first)
    }

    fn is_there(&self, lease: &Lease) -> bool {
        let home = self.yard.join(lease.repo.dir().as_str());
        home.join(lease.branch.dir().as_str()).is_dir()
    }

    fn read<'kept>(&self, leases: &'kept mut Option<Leases>) -> &'kept mut Leases {
        leases.get_or_insert_with(|| {
            let read = read_plain(&self.file, MAX_SIZE).and_then(|json| match json {
                Some(json) => Ok(serde_json::from_slice(&json)?),
                None => Ok(Leases::default()),
            });
            read.unwrap_or_else(|error| {
                // All that it costs is other ports.
                tracing::warn!(%error, "which ports workspaces have cannot be read");
                Leases::default()
            })
        })
    }
}

/// Whether nothing on this machine listens there.
fn is_free(first: u16) -> bool {
    (first..first + PORTS_EACH).all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(branch: &str) -> (RepoName, BranchName) {
        let branch = BranchName::parse(branch).unwrap();
        (RepoName::parse("demo").unwrap(), branch)
    }

    #[test]
    fn ports_are_stable_and_free_again_once_their_workspace_is_gone() {
        let yard = tempfile::tempdir().unwrap();
        let make =
            |branch: &str| fs::create_dir_all(yard.path().join("demo").join(branch)).unwrap();
        // Two that are free here and now, whatever else listens.
        let first = (1500..6000)
            .map(|tens| tens * 10)
            .find(|first| is_free(*first) && is_free(*first + 10))
            .unwrap();
        let range = PortRange::parse(&format!("{first}-{}", first + 19)).unwrap();
        let open = || Ports::at(yard.path().join("ports.json"), range.clone(), yard.path());
        let ports = open();
        let lease = |ports: &Ports, branch: &str| {
            let (repo, branch) = names(branch);
            let leased = ports.lease(&repo, &branch).unwrap();
            assert_eq!(ports.known(&repo, &branch), leased);
            leased
        };
        for branch in ["a", "b", "c"] {
            make(branch);
        }
        let (a, b) = (lease(&ports, "a").unwrap(), lease(&ports, "b").unwrap());
        assert_ne!(a, b);
        assert_eq!(lease(&ports, "a"), Some(a));
        assert_eq!(lease(&ports, "c"), None, "all are taken");
        let ports = open();
        assert_eq!(lease(&ports, "b"), Some(b), "over a restart");
        fs::remove_dir(yard.path().join("demo/a")).unwrap();
        assert_eq!(lease(&ports, "c"), Some(a), "given back");
        fs::write(yard.path().join("ports.json"), "not json").unwrap();
        assert!(lease(&open(), "b").is_some());
    }

    #[test]
    fn what_others_listen_on_is_left_to_them() {
        let yard = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = listener.local_addr().unwrap().port();
        let range = PortRange::parse(&format!("{taken}-{}", taken + 9)).unwrap();
        let ports = Ports::at(yard.path().join("ports.json"), range, yard.path());
        let (repo, branch) = names("a");
        assert_eq!(ports.lease(&repo, &branch).unwrap(), None);
    }
}
