//! Instructions: how long each is, and where it may go.

/// The instructions that insertions look at.
pub(crate) mod op {
    pub(crate) const ACONST_NULL: u8 = 0x01;
    pub(crate) const ICONST_M1: u8 = 0x02;
    pub(crate) const ICONST_0: u8 = 0x03;
    pub(crate) const ICONST_1: u8 = 0x04;
    pub(crate) const ICONST_2: u8 = 0x05;
    pub(crate) const ICONST_3: u8 = 0x06;
    pub(crate) const LCONST_0: u8 = 0x09;
    pub(crate) const LCONST_1: u8 = 0x0a;
    pub(crate) const BIPUSH: u8 = 0x10;
    pub(crate) const LDC_W: u8 = 0x13;
    pub(crate) const LDC2_W: u8 = 0x14;
    pub(crate) const ILOAD: u8 = 0x15;
    pub(crate) const ALOAD: u8 = 0x19;
    pub(crate) const ALOAD_0: u8 = 0x2a;
    pub(crate) const IALOAD: u8 = 0x2e;
    pub(crate) const AALOAD: u8 = 0x32;
    pub(crate) const SALOAD: u8 = 0x35;
    pub(crate) const ISTORE: u8 = 0x36;
    pub(crate) const ASTORE: u8 = 0x3a;
    pub(crate) const ASTORE_0: u8 = 0x4b;
    pub(crate) const IASTORE: u8 = 0x4f;
    pub(crate) const LASTORE: u8 = 0x50;
    pub(crate) const FASTORE: u8 = 0x51;
    pub(crate) const DASTORE: u8 = 0x52;
    pub(crate) const AASTORE: u8 = 0x53;
    pub(crate) const SASTORE: u8 = 0x56;
    pub(crate) const POP: u8 = 0x57;
    pub(crate) const POP2: u8 = 0x58;
    pub(crate) const DUP: u8 = 0x59;
    pub(crate) const DUP_X2: u8 = 0x5b;
    pub(crate) const DUP2: u8 = 0x5c;
    pub(crate) const DUP2_X1: u8 = 0x5d;
    pub(crate) const DUP2_X2: u8 = 0x5e;
    pub(crate) const IADD: u8 = 0x60;
    pub(crate) const LADD: u8 = 0x61;
    pub(crate) const LSUB: u8 = 0x65;
    pub(crate) const ISHL: u8 = 0x78;
    pub(crate) const LSHL: u8 = 0x79;
    pub(crate) const IUSHR: u8 = 0x7c;
    pub(crate) const LUSHR: u8 = 0x7d;
    pub(crate) const IAND: u8 = 0x7e;
    pub(crate) const LAND: u8 = 0x7f;
    pub(crate) const IOR: u8 = 0x80;
    pub(crate) const I2L: u8 = 0x85;
    pub(crate) const L2I: u8 = 0x88;
    pub(crate) const LCMP: u8 = 0x94;
    pub(crate) const IFEQ: u8 = 0x99;
    pub(crate) const IFNE: u8 = 0x9a;
    pub(crate) const IFLT: u8 = 0x9b;
    pub(crate) const IFGE: u8 = 0x9c;
    pub(crate) const IF_ICMPNE: u8 = 0xa0;
    pub(crate) const IF_ICMPGE: u8 = 0xa2;
    pub(crate) const IF_ACMPEQ: u8 = 0xa5;
    pub(crate) const IF_ACMPNE: u8 = 0xa6;
    pub(crate) const GOTO: u8 = 0xa7;
    pub(crate) const JSR: u8 = 0xa8;
    pub(crate) const TABLESWITCH: u8 = 0xaa;
    pub(crate) const LOOKUPSWITCH: u8 = 0xab;
    pub(crate) const IRETURN: u8 = 0xac;
    pub(crate) const RETURN: u8 = 0xb1;
    pub(crate) const GETSTATIC: u8 = 0xb2;
    pub(crate) const PUTSTATIC: u8 = 0xb3;
    pub(crate) const GETFIELD: u8 = 0xb4;
    pub(crate) const PUTFIELD: u8 = 0xb5;
    pub(crate) const INVOKEVIRTUAL: u8 = 0xb6;
    pub(crate) const INVOKESPECIAL: u8 = 0xb7;
    pub(crate) const INVOKESTATIC: u8 = 0xb8;
    pub(crate) const INVOKEINTERFACE: u8 = 0xb9;
    pub(crate) const INVOKEDYNAMIC: u8 = 0xba;
    pub(crate) const NEW: u8 = 0xbb;
    pub(crate) const NEWARRAY: u8 = 0xbc;
    pub(crate) const ANEWARRAY: u8 = 0xbd;
    pub(crate) const ARRAYLENGTH: u8 = 0xbe;
    pub(crate) const ATHROW: u8 = 0xbf;
    pub(crate) const CHECKCAST: u8 = 0xc0;
    pub(crate) const MONITORENTER: u8 = 0xc2;
    pub(crate) const MONITOREXIT: u8 = 0xc3;
    pub(crate) const WIDE: u8 = 0xc4;
    pub(crate) const MULTIANEWARRAY: u8 = 0xc5;
    pub(crate) const IFNULL: u8 = 0xc6;
    pub(crate) const IFNONNULL: u8 = 0xc7;
    pub(crate) const GOTO_W: u8 = 0xc8;
    pub(crate) const JSR_W: u8 = 0xc9;
}

fn word(code: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(code.get(at..at + 4)?.try_into().ok()?))
}

fn half(code: &[u8], at: usize) -> Option<i32> {
    Some(i16::from_be_bytes(code.get(at..at + 2)?.try_into().ok()?).into())
}

/// Where the operands of a switch begin.
fn aligned(at: usize) -> usize {
    (at + 4) & !3
}

/// The length of the instruction at `at`.
pub(crate) fn length(code: &[u8], at: usize) -> Option<usize> {
    let length = match *code.get(at)? {
        op::TABLESWITCH => {
            let start = aligned(at);
            let count = i64::from(word(code, start + 8)?) - i64::from(word(code, start + 4)?) + 1;
            start - at + 12 + 4 * usize::try_from(count).ok()?
        }
        op::LOOKUPSWITCH => {
            let start = aligned(at);
            start - at + 8 + 8 * usize::try_from(word(code, start + 4)?).ok()?
        }
        op::WIDE => {
            if *code.get(at + 1)? == 0x84 {
                6
            } else {
                4
            }
        }
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | 0xa9 | op::NEWARRAY => 2,
        0x11 | 0x13 | 0x14 | 0x84 | 0x99..=0xa8 | 0xb2..=0xb8 | op::NEW | op::ANEWARRAY | 0xc0 | 0xc1 | 0xc6 | 0xc7 => {
            3
        }
        op::MULTIANEWARRAY => 4,
        op::INVOKEINTERFACE | op::INVOKEDYNAMIC | op::GOTO_W | op::JSR_W => 5,
        0..=0xc9 => 1,
        _ => return None,
    };
    code.get(at..at + length)?;
    Some(length)
}

/// Whether the instruction chooses between ways.
pub(crate) fn decides(opcode: u8) -> bool {
    matches!(opcode, op::IFEQ..=0xa6 | op::TABLESWITCH | op::LOOKUPSWITCH | op::IFNULL | op::IFNONNULL)
}

/// Whether the instruction goes elsewhere, or may end by an exception for other values: calls, divisions, casts, sizes of arrays, what is read
/// through references.
pub(crate) fn may_throw(opcode: u8) -> bool {
    matches!(
        opcode,
        op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC
            | op::NEWARRAY..=op::ATHROW
            | op::MULTIANEWARRAY
            | op::GETFIELD
            | op::PUTFIELD
            | op::IALOAD..=op::SALOAD
            | op::IASTORE..=op::SASTORE
            | 0x6c
            | 0x6d
            | 0x70
            | 0x71
            | 0xc0
    )
}

/// Where the instruction may jump to.
pub(crate) fn targets(code: &[u8], at: usize) -> Option<Vec<usize>> {
    let to = |offset: i32| usize::try_from(at as i64 + i64::from(offset)).ok().filter(|&to| to < code.len());
    match code[at] {
        op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => Some(vec![to(half(code, at + 1)?)?]),
        op::GOTO_W | op::JSR_W => Some(vec![to(word(code, at + 1)?)?]),
        op::TABLESWITCH | op::LOOKUPSWITCH => {
            let start = aligned(at);
            let end = at + length(code, at)?;
            let (first, step) = if code[at] == op::TABLESWITCH { (start + 12, 4) } else { (start + 12, 8) };
            let mut all = vec![to(word(code, start)?)?];
            for place in (first..end).step_by(step) {
                all.push(to(word(code, place)?)?);
            }
            Some(all)
        }
        _ => Some(Vec::new()),
    }
}

/// Writes the instruction so that it does at `place` what it did at `at`; `label` says where places have gone.
pub(crate) fn moved(
    code: &[u8],
    at: usize,
    place: usize,
    label: &dyn Fn(usize) -> usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let length = length(code, at)?;
    let bytes = &code[at..at + length];
    let offset = |to: usize| label(to) as i64 - place as i64;
    let targets = targets(code, at)?;
    match code[at] {
        op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => {
            out.push(bytes[0]);
            out.extend(i16::try_from(offset(targets[0])).ok()?.to_be_bytes());
        }
        op::GOTO_W | op::JSR_W => {
            out.push(bytes[0]);
            out.extend((offset(targets[0]) as i32).to_be_bytes());
        }
        op::TABLESWITCH | op::LOOKUPSWITCH => {
            let start = aligned(at);
            out.push(bytes[0]);
            out.extend(std::iter::repeat_n(0, aligned(place) - place - 1));
            let mut targets = targets.into_iter();
            out.extend((offset(targets.next()?) as i32).to_be_bytes());
            out.extend(&code[start + 4..start + 8]);
            if code[at] == op::TABLESWITCH {
                out.extend(&code[start + 8..start + 12]);
            }
            for (nth, target) in targets.enumerate() {
                if code[at] == op::LOOKUPSWITCH {
                    out.extend(&code[start + 8 + 8 * nth..start + 12 + 8 * nth]);
                }
                out.extend((offset(target) as i32).to_be_bytes());
            }
        }
        _ => out.extend(bytes),
    }
    Some(())
}

/// How long the instruction is at another place.
pub(crate) fn moved_length(code: &[u8], at: usize, place: usize) -> Option<usize> {
    let length = length(code, at)?;
    Some(match code[at] {
        op::TABLESWITCH | op::LOOKUPSWITCH => length + (aligned(place) - place) - (aligned(at) - at),
        _ => length,
    })
}
