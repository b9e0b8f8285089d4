//! Events from any source into a file, chunk by chunk.

use std::path::Path;

use mayhap_trace::format::{StdOptions, create_with};
use mayhap_trace::{Columns, Error, Position, Source};

use crate::Failure;
use crate::input::NO_EVENTS;
use crate::notes::note;

/// Writes all events of `source` to `path`, in the format of its name, and notes what the user should know, such as what
/// that format cannot carry. `failed` makes a failure of an error in the source.
///
/// `attached` goes with the events: block kinds of the native format and their bytes. `options` are for STD text.
///
/// The file appears under its name only when it is whole: a failure leaves whatever was there before.
pub fn transfer(
    source: &mut dyn Source,
    attached: &[(u8, Vec<u8>)],
    path: &Path,
    options: StdOptions,
    failed: impl Fn(Error) -> Failure,
) -> Result<(), Failure> {
    let written = |e: Error| Failure::at(path, e);
    let mut writer = create_with(path, options).map_err(written)?;
    for (code, bytes) in attached {
        writer.attach(*code, bytes).map_err(written)?;
    }
    let mut chunk = Columns::default();
    let mut empty = true;
    while source.next_chunk(&mut chunk).map_err(&failed)? {
        writer.write(&chunk, source.tables()).map_err(written)?;
        empty = false;
    }
    if empty {
        return Err(failed(Error::syntax(Position::Whole, NO_EVENTS)));
    }
    for message in writer.finish(source.tables()).map_err(written)? {
        note(format_args!("{}: {message}", path.display()));
    }
    Ok(())
}
