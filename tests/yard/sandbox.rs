//! Builds that are contained: what they cannot reach, that everything else about a run stays as it is, and
//! what becomes of one whose sandbox cannot be had.

mod asked;
mod builds;
mod egress;
mod hostile;
mod life;
mod reach;
mod strict;

use crate::support::{Options, Yard};

/// A yard whose builds are contained, with this Makefile on `main` and these further lines of `[sandbox]`.
async fn contained(profile: &str, more: &str, makefile: &str) -> Yard {
    let mut yard = asleep(profile, more, makefile);
    yard.start().await;
    yard
}

fn asleep(profile: &str, more: &str, makefile: &str) -> Yard {
    let yard = Yard::asleep(options(profile, more));
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("contained");
    yard.origin.push("main");
    yard
}

fn options(profile: &str, more: &str) -> Options {
    Options {
        tables: format!("[sandbox]\nprofile = {profile:?}\n{more}\n"),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    }
}

/// What the daemon says of a mechanism: whether it is there, and its words about it.
async fn mechanism(yard: &Yard, name: &str) -> (bool, String) {
    let ready = yard.get_json("/readyz").await;
    let mechanisms = ready["sandbox"]["mechanisms"].as_array().unwrap();
    let found = mechanisms.iter().find(|one| one["name"] == name).unwrap();
    let detail = found["detail"].as_str().unwrap().to_owned();
    (found["available"].as_bool().unwrap(), detail)
}
