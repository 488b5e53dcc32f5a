//! Branches of agents: `agent-{agent_id}-{task_id}`, each for one task of one agent.

use serde::{Deserialize, Serialize};

use super::{BranchName, Problem};

const PREFIX: &str = "agent-";
const MAX_ID: usize = 64;

/// The task of an agent that a branch was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTask {
    pub agent_id: String,
    pub task_id: String,
}

impl AgentTask {
    pub fn parse(agent_id: &str, task_id: &str) -> Result<Self, Problem> {
        check("agent_id", agent_id)?;
        check("task_id", task_id)?;
        Ok(Self {
            agent_id: agent_id.to_owned(),
            task_id: task_id.to_owned(),
        })
    }

    /// The branch of this task. Two tasks may have the same one, as those of `a-b` and `c` and of `a` and
    /// `b-c`: whoever makes it has to look whose it is.
    pub fn branch(&self) -> Result<BranchName, Problem> {
        BranchName::parse(&format!("{PREFIX}{}-{}", self.agent_id, self.task_id))
            .map_err(|problem| problem.field("task_id"))
    }
}

/// Whether a branch is named as one of an agent's own.
pub fn is_agent_branch(branch: &BranchName) -> bool {
    let rest = branch.as_str().strip_prefix(PREFIX);
    rest.and_then(|rest| rest.split_once('-'))
        .is_some_and(|(agent, task)| !agent.is_empty() && !task.is_empty())
}

fn check(field: &str, id: &str) -> Result<(), Problem> {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let is_fine = |c: char| is_plain(c) || "._-".contains(c);
    let is_framed = id.starts_with(is_plain) && id.ends_with(is_plain) && !id.contains("..");
    let rule = match id {
        "" => "it is empty",
        _ if id.len() > MAX_ID => "it is longer than 64 characters",
        _ if !id.chars().all(is_fine) => "it holds a character that is not allowed",
        _ if !is_framed => "it does not start and end with a letter or digit, or holds '..'",
        _ => return Ok(()),
    };
    Err(Problem::bad(field, format!("{id:?} cannot be part of a branch name: {rule}"))
        .help("use letters, digits, '.', '_' and '-', at most 64 characters, starting and ending with a letter or digit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_a_branch_or_are_refused_by_field() {
        let task = AgentTask::parse("claude-7", "fix.login_2").unwrap();
        assert_eq!(
            task.branch().unwrap().as_str(),
            "agent-claude-7-fix.login_2"
        );
        assert!(is_agent_branch(&task.branch().unwrap()));
        for bad in ["", "-a", "a-", "a b", "a/b", "a..b", "ä", "a\n", "--x"] {
            let problem = AgentTask::parse(bad, "1").unwrap_err();
            assert_eq!(problem.field.as_deref(), Some("agent_id"), "{bad:?}");
            let problem = AgentTask::parse("1", bad).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some("task_id"), "{bad:?}");
        }
        assert!(AgentTask::parse(&"a".repeat(65), "1").is_err());
        // Git keeps this ending for itself.
        let lock = AgentTask::parse("a", "x.lock").unwrap();
        assert_eq!(lock.branch().unwrap_err().field.as_deref(), Some("task_id"));
    }

    #[test]
    fn only_names_of_the_form_are_an_agents() {
        for (name, expected) in [
            ("agent-1-2", true),
            ("agent-1", false),
            ("agent--2", false),
            ("agents-1-2", false),
            ("x/agent-1-2", false),
        ] {
            let branch = BranchName::parse(name).unwrap();
            assert_eq!(is_agent_branch(&branch), expected, "{name}");
        }
    }
}
