//! What the daemon has found of the means to contain builds, each with what to do where it is missing.

use super::{Check, Client};
use branchyard::app::Readiness;
use branchyard_model::SandboxProfile;
use branchyard_runs::SandboxReport;

const NAME: &str = "sandbox";

/// The profile in use, and every mechanism.
pub(super) async fn look(client: &Client) -> Vec<Check> {
    let answer = match client.get("/readyz").await {
        Ok(answer) => answer.parse::<Readiness>(),
        Err(error) => Err(error.into()),
    };
    match answer {
        Ok(ready) => checks(ready.sandbox),
        Err(failure) => vec![Check::of_failure(NAME, failure)],
    }
}

fn checks(sandbox: SandboxReport) -> Vec<Check> {
    let profile = format!("profile {}", sandbox.profile.as_str());
    let mut checks = vec![match sandbox.profile {
        SandboxProfile::None => Check::warn(
            NAME,
            format!("{profile}: builds may do all that the daemon's user may"),
            "let only those build whom you trust as that user; or mend what is missing, and see \
             sandbox.profile",
        ),
        _ => Check::ok(NAME, profile),
    }];
    for (profile, why) in sandbox.obstacles {
        let found = format!("{profile} cannot be had: {why}");
        checks.push(Check::warn(
            NAME,
            found,
            "install bubblewrap 0.7 or later and allow user namespaces; then start the daemon anew",
        ));
    }
    for mechanism in sandbox.mechanisms {
        let found = format!("{}: {}", mechanism.name, mechanism.detail);
        checks.push(match mechanism.available {
            true => Check::ok(NAME, found),
            false => Check::warn(NAME, found, mend(&mechanism.name)),
        });
    }
    checks
}

fn mend(mechanism: &str) -> &'static str {
    match mechanism {
        "bubblewrap" => "install the package bubblewrap",
        "user_namespaces" => {
            "allow them to the daemon's user (user.max_user_namespaces, kernel.unprivileged_userns_clone, \
             AppArmor)"
        }
        "confined_git" => {
            "mend what bubblewrap lacks: until then git may run what a build left in a worktree"
        }
        "landlock" => "use a kernel that has landlock, 6.12 or later",
        "cgroups" => {
            "delegate a group to the daemon (in its unit: Delegate=yes, DelegateSubgroup=daemon)"
        }
        _ => "use a kernel that has it",
    }
}
