//! Where a list that was cut goes on: a place in it, which means nothing to the client.

use branchyard_model::Problem;

pub(super) fn read(cursor: Option<&str>) -> Result<usize, Problem> {
    cursor.map_or(Ok(0), |text| text.parse().map_err(|_| unknown(text)))
}

pub(super) fn unknown(cursor: &str) -> Problem {
    Problem::unprocessable("cursor", format!("{cursor:?} is not a cursor of this tool"))
        .help("pass the next_cursor of the answer before, as it is")
}
