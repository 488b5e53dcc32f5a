//! Holds the rules about the source that the compiler does not: who imports whom, how large a type may get and who
//! sees its fields, and which calls are made in one room only.

#![allow(unreachable_pub, reason = "no other package uses what is here")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the source has failed"
)]

mod imports;
mod layers;
mod source;
mod types;
mod walls;
