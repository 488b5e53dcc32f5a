//! Where a list that was cut goes on: a place in it, which means nothing to the client.

use branchyard_model::Problem;

pub(super) fn write(place: usize) -> String {
    place.to_string()
}

pub(super) fn read(cursor: Option<&str>) -> Result<usize, Problem> {
    cursor.map_or(Ok(0), |text| {
        text.parse().map_err(|_| {
            Problem::unprocessable("cursor", format!("{text:?} is not a cursor of this tool"))
                .help("pass the next_cursor of the answer before, as it is")
        })
    })
}
