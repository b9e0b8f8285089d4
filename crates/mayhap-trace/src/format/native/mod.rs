//! The native format, `.mhp`: blocks of columns, compressed and checksummed. `docs/formats/native.md` specifies it,
//! `mayhap_wire` holds its byte layout.
//!
//! Writing needs memory for one block, the number of names and two bytes an object; reading for one block and the names.

mod names;
mod read;
mod totals;
mod write;

pub use read::{NativeReader, attachments};
pub use write::NativeWriter;

use crate::names::{Names, Tables};

/// The tables in the order of their numbers in the file.
fn tables_in_order(tables: &Tables) -> [&Names; 5] {
    [&tables.threads, &tables.locks, &tables.variables, &tables.conditions, &tables.locations]
}

#[cfg(test)]
mod tests {
    use crate::op::{ObjectKind, Op};

    /// The runtime knows operations only through the wire crate.
    #[test]
    fn operations_mean_the_same_on_the_wire() {
        use mayhap_wire::{events, table};
        assert_eq!(Op::ALL.len(), events::OPS);
        for &op in Op::ALL {
            let table = match op.names() {
                ObjectKind::Thread => table::THREADS,
                ObjectKind::Lock => table::LOCKS,
                ObjectKind::Variable => table::VARIABLES,
                ObjectKind::Condition => table::CONDITIONS,
                ObjectKind::Nothing => events::NOTHING,
            };
            assert_eq!(events::OBJECT[op as usize], table, "{op:?}");
        }
        assert_eq!(crate::columns::CHUNK, mayhap_wire::limits::BLOCK_EVENTS);
    }
}
