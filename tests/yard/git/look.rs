//! status, diff, show.

mod answers;
mod equal;
mod porcelain;
mod refused;
mod shown;
mod states;
