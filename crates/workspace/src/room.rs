//! Whether there is room on the disk for what is about to be written.

use crate::Error;
use crate::repos::Repo;
use branchyard_model::{CommitId, ErrorKind, Problem};
use branchyard_runtime::disk::{Amount, Room};

/// An error if the files of `target` need more than there is.
pub(crate) fn check_room(repo: &Repo, target: &CommitId, need: Amount) -> Result<(), Error> {
    let room = Room::of(repo.home()).map_err(Error::io("see how full the disk is"))?;
    let Some(shortage) = room.less_than(need) else {
        return Ok(());
    };
    let detail = format!("the files of {target} do not fit: {shortage}");
    Err(Problem::new(ErrorKind::StorageFull, "disk_full", detail).into())
}
