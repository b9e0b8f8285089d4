//! Integers of varying length: seven bits a byte, low bits first, the high bit set on all bytes but the last. Only the
//! shortest form of a number is valid, so that a number has one form.

/// The most bytes that a number takes.
pub const LONGEST: usize = 10;

/// Writes `value` to the front of `out` and returns how many bytes that took; `None` where `out` is too short.
#[inline]
pub fn put(mut value: u64, out: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let byte = out.get_mut(at)?;
        at += 1;
        if value < 0x80 {
            *byte = value as u8;
            return Some(at);
        }
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
}

/// Takes a number from the front of `bytes`; `None` where they end within it or it is not in its shortest form.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for at in 0..LONGEST {
        let byte = *bytes.get(at)?;
        let bits = u64::from(byte & 0x7f);
        if at == LONGEST - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte < 0x80 {
            if byte == 0 && at > 0 {
                return None;
            }
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

/// The difference from `from` to `to`, wrapping, with its sign in the lowest bit so that small steps either way are
/// small numbers.
#[inline]
pub const fn zigzag(from: u32, to: u32) -> u32 {
    let step = to.wrapping_sub(from) as i32;
    ((step << 1) ^ (step >> 31)) as u32
}

/// Returns the number that [`zigzag`] stepped to.
#[inline]
pub const fn unzigzag(from: u32, step: u32) -> u32 {
    from.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg())
}

/// [`zigzag`] of eight bytes.
#[inline]
pub const fn zigzag_long(from: u64, to: u64) -> u64 {
    let step = to.wrapping_sub(from) as i64;
    ((step << 1) ^ (step >> 63)) as u64
}

/// Returns the number that [`zigzag_long`] stepped to.
#[inline]
pub const fn unzigzag_long(from: u64, step: u64) -> u64 {
    from.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_in_their_shortest_form() {
        let mut edges = [0u64; 129];
        for (i, edge) in edges.iter_mut().enumerate().skip(1) {
            *edge = (1u64 << ((i - 1) / 2)).wrapping_sub((i % 2) as u64);
        }
        for value in edges.into_iter().chain([u64::MAX]) {
            let mut out = [0; LONGEST];
            let length = put(value, &mut out).unwrap();
            let mut rest = &out[..length];
            assert_eq!(take(&mut rest), Some(value));
            assert!(rest.is_empty());
            assert_eq!(take(&mut &out[..length - 1]), None);
            assert_eq!(put(value, &mut [0; LONGEST][..length - 1]), None);
        }
    }

    #[test]
    fn other_forms_are_refused() {
        assert_eq!(take(&mut &[0x80, 0x00][..]), None);
        assert_eq!(take(&mut &[0x80; 11][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
    }

    #[test]
    fn steps_wrap_both_ways() {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (5, u32::MAX), (u32::MAX, 5), (0, 1 << 31), (7, 1 << 30)] {
            assert_eq!(unzigzag(from, zigzag(from, to)), to);
        }
        for (from, to) in [(0, 0), (1, 0), (5, u64::MAX), (u64::MAX, 5), (0, 1 << 63)] {
            assert_eq!(unzigzag_long(from, zigzag_long(from, to)), to);
        }
        assert_eq!([zigzag(4, 4), zigzag(4, 3), zigzag(4, 5)], [0, 1, 2]);
    }
}
