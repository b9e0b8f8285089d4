//! Which instructions may lead elsewhere for other values. An access through a reference does, since the reference may be null and the array too short; that
//! is decided by what was read before, and not by what the access itself reads. So its branch comes before it.

use crate::class::instructions::{decides, may_throw, op};

/// What is known of the top of the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    Unknown,
    This,
    /// A reference lies there twice.
    Twice {
        is_this: bool,
    },
    /// An array and an index lie there twice.
    TwiceTwo,
    /// Through what lies below, something was read. What is put there by this instruction, with this operand, goes to the same place.
    Read(u8, u16),
}

/// Follows the instructions of a method in their order.
pub(super) struct Branches {
    top: Top,
    has_this: bool,
}

impl Branches {
    /// `has_this`: the first local variable is the method's object throughout.
    pub(super) fn new(has_this: bool) -> Branches {
        Branches { top: Top::Unknown, has_this }
    }

    /// Whether the instruction may be left for another place by what was read before it, and after it. `joins`: other instructions may lead to it.
    pub(super) fn at(&mut self, code: &[u8], at: usize, joins: bool) -> (bool, bool) {
        if joins {
            self.top = Top::Unknown;
        }
        let opcode = code[at];
        let is_access =
            matches!(opcode, op::GETFIELD | op::PUTFIELD | op::IALOAD..=op::SALOAD | op::IASTORE..=op::SASTORE);
        let operand = match opcode {
            op::GETFIELD | op::PUTFIELD => u16::from_be_bytes([code[at + 1], code[at + 2]]),
            _ => 0,
        };
        let is_safe = match self.top {
            Top::This | Top::Twice { is_this: true } => opcode == op::GETFIELD,
            Top::Read(put, same) => opcode == put && operand == same,
            _ => false,
        };
        self.top = self.after(opcode, operand);
        (is_access && !is_safe, decides(opcode) || may_throw(opcode) && !is_access)
    }

    fn after(&self, opcode: u8, operand: u16) -> Top {
        match (self.top, opcode) {
            (_, op::ALOAD_0) if self.has_this => Top::This,
            (top, op::DUP) => Top::Twice { is_this: top == Top::This },
            (_, op::DUP2) => Top::TwiceTwo,
            (Top::Twice { .. }, op::GETFIELD) => Top::Read(op::PUTFIELD, operand),
            // References are put elsewhere: what is put may not fit the array.
            (Top::TwiceTwo, op::IALOAD..=op::SALOAD) if opcode != op::AALOAD => {
                Top::Read(opcode + (op::IASTORE - op::IALOAD), 0)
            }
            (read @ Top::Read(..), _) if computes(opcode) => read,
            _ => Top::Unknown,
        }
    }
}

/// Whether the instruction only computes with numbers: constants, local variables, arithmetic, conversions, and copies below what lies there.
fn computes(opcode: u8) -> bool {
    matches!(opcode, 0x02..=0x18 | 0x1a..=0x29 | 0x5a | 0x5b | 0x5d | 0x5e | 0x60..=0x83 | 0x85..=0x93)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes before each instruction of a method that has an object.
    fn before(code: &[&[u8]]) -> Vec<bool> {
        let mut branches = Branches::new(true);
        code.iter().map(|instruction| branches.at(instruction, 0, false).0).collect()
    }

    #[test]
    fn a_field_that_was_read_can_be_written() {
        let (get, put) = ([op::GETFIELD, 0, 7], [op::PUTFIELD, 0, 7]);
        let other = [op::PUTFIELD, 0, 8];
        let (one, add) = ([0x04], [0x60]);
        assert_eq!(before(&[&[op::ALOAD_0], &get]), [false, false]);
        assert_eq!(before(&[&[0x2b], &get]), [false, true]);
        assert_eq!(before(&[&[0x2b], &[op::DUP], &get, &one, &add, &put]), [false, false, true, false, false, false]);
        assert!(before(&[&[0x2b], &[op::DUP], &get, &one, &add, &other])[5]);
        // Another reference comes to lie on top.
        assert!(before(&[&[0x2b], &[op::DUP], &get, &[0x2c], &one, &put])[5]);
    }

    #[test]
    fn an_element_that_was_read_can_be_written() {
        let update = |load: u8, store: u8| before(&[&[op::DUP2], &[load], &[0x04], &[store]]);
        assert_eq!(update(op::IALOAD, op::IASTORE), [false, true, false, false]);
        assert!(update(op::IALOAD, op::LASTORE)[3]);
        assert!(update(op::AALOAD, op::AASTORE)[3]);
    }
}
