//! Which places of a function's code are surely after one of its blocks: the variables of the block are gone there.
//!
//! The debug information says which code belongs to a block, and the compiler which line each instruction is of. A place is after a block if
//! it is no code of the block, none of a function that was inlined there, and of a line between the block's last one and the function's last
//! one. Each condition is there for a reason:
//!
//! - clang counts the destructors at the end of a block as code around it, in the line of the closing brace. So with clang the first line
//!   after the block's own lines may still be the block's end.
//! - Code that handles exceptions, and code that compilers make up, can have the line of the function's own braces, in the block and outside.
//! - Compilers merge equal code. What clang merged has no line or no column. gcc says nothing, so it must have been asked not to merge
//!   (`mayhap cc` asks it), or not to optimise that far.
//!
//! So the answer "after" is certain, and the answer "not after" may be wrong. That is what callers need: the end of a variable may be noticed
//! late, never early.

use addr2line::gimli::{self, Dwarf, Range, Unit};

use crate::members::Slice;

/// A block in a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// Its code.
    pub(crate) code: Vec<Range>,
    /// The inlined function that it is in, by its number; `None` if it is in the function itself.
    pub(crate) inlined: Option<usize>,
}

/// Who made the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Compiler {
    /// One of which nothing is known, or that may have merged equal code.
    #[default]
    Other,
    Gcc,
    Clang,
}

/// An instruction from which on the code is of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    address: u64,
    file: u64,
    /// 0 if there is none.
    line: u64,
    has_column: bool,
}

/// The code of a function.
#[derive(Debug, Default)]
pub(crate) struct Code {
    compiler: Compiler,
    ranges: Vec<Range>,
    /// The code of the functions inlined in it, outer ones first.
    inlined: Vec<Vec<Range>>,
    rows: Vec<Row>,
}

pub(crate) fn is_in(ranges: &[Range], pc: u64) -> bool {
    ranges.iter().any(|range| (range.begin..range.end).contains(&pc))
}

/// The compiler that describes itself so, if what it says of blocks and lines can be relied on.
fn compiler(producer: &str) -> Compiler {
    let options = || producer.split(' ');
    if producer.contains("clang version") && !producer.contains("rustc") {
        return Compiler::Clang;
    }
    let is_gcc = ["GNU C", "GNU C++"].iter().any(|name| {
        producer.strip_prefix(name).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == ' '))
    });
    let level = options().rfind(|option| option.starts_with("-O")).unwrap_or("-O0");
    let is_low = matches!(level, "-O0" | "-O" | "-O1" | "-Og");
    let has = |option: &str| options().any(|other| other == option);
    let is_asked = has("-fcrossjumping") || has("-ftree-tail-merge");
    let is_kept_from_it = has("-fno-crossjumping") && has("-fno-tree-tail-merge");
    if is_gcc && !is_asked && (is_low || is_kept_from_it) { Compiler::Gcc } else { Compiler::Other }
}

impl Code {
    /// Reads the lines of a function's code.
    pub(crate) fn read<'a>(
        dwarf: &Dwarf<Slice<'a>>,
        unit: &Unit<Slice<'a>>,
        ranges: &[Range],
        inlined: Vec<Vec<Range>>,
    ) -> Option<Code> {
        let mut entries = unit.entries();
        let root = entries.next_dfs().ok()??;
        let producer = dwarf.attr_string(unit, root.attr_value(gimli::DW_AT_producer)?).ok()?;
        let compiler = compiler(std::str::from_utf8(&producer).ok()?);
        let mut code = Code { compiler, ranges: ranges.to_vec(), inlined, rows: Vec::new() };
        if compiler != Compiler::Other {
            code.read_rows(unit)?;
        }
        Some(code)
    }

    fn read_rows<'a>(&mut self, unit: &Unit<Slice<'a>>) -> Option<()> {
        let mut rows = unit.line_program.clone()?.rows();
        while let Some((_, row)) = rows.next_row().ok()? {
            let line = row.line().map_or(0, |line| line.get());
            let has_column = matches!(row.column(), gimli::ColumnType::Column(_));
            if !row.end_sequence() && is_in(&self.ranges, row.address()) {
                self.rows.push(Row { address: row.address(), file: row.file_index(), line, has_column });
            }
        }
        // Of several rows for one address the last counts: the others have no code.
        self.rows.reverse();
        self.rows.sort_by_key(|row| row.address);
        self.rows.dedup_by_key(|row| row.address);
        Some(())
    }

    /// The number of the innermost inlined function at an instruction.
    fn inlined_at(&self, pc: u64) -> Option<usize> {
        self.inlined.iter().rposition(|ranges| is_in(ranges, pc))
    }

    /// The instruction is surely reached only after the block was left.
    pub(crate) fn is_after(&self, block: &Block, pc: u64) -> bool {
        let around = block.inlined.map_or(&self.ranges, |number| &self.inlined[number]);
        let Some(at) = self.rows.iter().rfind(|row| row.address <= pc) else { return false };
        if self.compiler == Compiler::Other
            || is_in(&block.code, pc)
            || !is_in(around, pc)
            || self.inlined_at(pc) != block.inlined
            || at.line == 0
            || !at.has_column
        {
            return false;
        }
        let own = |row: &&Row| row.line != 0 && row.file == at.file && self.inlined_at(row.address) == block.inlined;
        let lines = |inside| {
            let own = self.rows.iter().filter(own);
            own.filter(move |row| is_in(&block.code, row.address) == inside).map(|row| row.line)
        };
        let Some(end) = lines(false).max() else { return false };
        let Some(last) = lines(true).filter(|&line| line < end).max() else { return false };
        let first_after = match self.compiler {
            Compiler::Clang => lines(false).filter(|&line| line > last).min().unwrap_or(end),
            _ => last,
        };
        at.line > first_after && at.line < end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(address: u64, line: u64) -> Row {
        Row { address, file: 1, line, has_column: true }
    }

    fn code(compiler: Compiler) -> Code {
        // Line 3 to 5 are a block, 6 is its brace; 20 to 23 was inlined; 30 was merged.
        let rows = [(0, 1), (4, 3), (8, 5), (12, 6), (16, 7), (20, 90), (24, 8), (30, 0), (34, 3), (38, 9), (42, 10)];
        let range = |begin, end| Range { begin, end };
        Code {
            compiler,
            ranges: vec![range(0, 50)],
            inlined: vec![vec![range(20, 24)]],
            rows: rows.map(|(address, line)| row(address, line)).to_vec(),
        }
    }

    fn after(compiler: Compiler) -> Vec<u64> {
        let block = Block { code: vec![Range { begin: 4, end: 12 }], inlined: None };
        let code = code(compiler);
        (0..50).step_by(2).filter(|&pc| code.is_after(&block, pc)).collect()
    }

    #[test]
    fn only_later_lines_of_the_function_itself_are_after_a_block() {
        assert_eq!(after(Compiler::Gcc), [12, 14, 16, 18, 24, 26, 28, 38, 40]);
        // The closing brace may be the block's.
        assert_eq!(after(Compiler::Clang), [16, 18, 24, 26, 28, 38, 40]);
        assert!(after(Compiler::Other).is_empty());
    }

    #[test]
    fn what_may_have_merged_code_is_not_relied_on() {
        let gcc = |options: &str| compiler(&format!("GNU C17 12.2.0 -mtune=generic {options} -fsanitize=thread"));
        assert_eq!(gcc("-g -O0"), Compiler::Gcc);
        assert_eq!(gcc("-g"), Compiler::Gcc);
        assert_eq!(gcc("-O1 -O2"), Compiler::Other);
        assert_eq!(gcc("-O2 -fno-crossjumping -fno-tree-tail-merge"), Compiler::Gcc);
        assert_eq!(compiler("GNU GIMPLE 12.2.0 -O1"), Compiler::Other);
        assert_eq!(compiler("Debian clang version 14.0.6"), Compiler::Clang);
        assert_eq!(compiler("clang LLVM (rustc version 1.95.0)"), Compiler::Other);
    }
}
