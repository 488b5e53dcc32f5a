//! How a number comes to be in the report: methods take turns round by round, so that whatever else the
//! machine does meets all of them, and a ratio is that of the same round.

mod machine;
mod report;
mod row;
mod scale;
mod series;

pub use report::Report;
pub use row::{Aim, Row, Unit};
pub use scale::{Scale, thousands};
pub use series::{Series, interleave, timed};
