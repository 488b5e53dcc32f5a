//! Warm starts: what a new workspace takes over from a sibling, what it never takes, and that a build there
//! makes what it would have made in an empty one.

pub mod equal;
mod project;
mod protected;
mod refused;
mod removed;
mod restless;
mod taken;
mod tools;
mod whose;
