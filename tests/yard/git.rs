//! Git verbs at the wire, over HTTP and as tools of agents.

mod agents;
mod beginnings;
mod beside_builds;
mod branch_removal;
mod branches;
mod checkout;
mod clean;
mod commit;
mod cut_off;
mod deliver;
mod history;
mod integrate;
mod lists;
mod local;
mod long;
mod look;
mod merged;
mod nested_repositories;
mod nothing_lost;
mod pull;
mod push;
mod push_states;
mod random;
mod remotes;
mod reset;
mod signing;
mod stash;
mod tags;

use crate::support::chance;
