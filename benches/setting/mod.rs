//! What is measured: repositories, a daemon in a process of its own, and the plain tools beside it.

mod answer;
mod ask;
mod dice;
mod plain;
mod project;
mod repository;
mod served;
mod site;

pub use answer::Answer;
pub use ask::Ask;
pub use plain::{ByHand, command, git_in, quiet, same_files};
pub use project::CProject;
pub use repository::{Branches, branch_out, generate};
pub use served::{Asker, Served};
pub use site::Site;
