//! Stack map frames: only where they are changes.

use super::{Bytes, put2};

/// Copies a verification type; `moved` says where an instruction has gone.
fn copy_type(bytes: &mut Bytes<'_>, moved: &dyn Fn(usize) -> usize, out: &mut Vec<u8>) -> Option<()> {
    let tag = bytes.u1()?;
    out.push(tag);
    match tag {
        7 => put2(out, bytes.u2()?),
        8 => put2(out, u16::try_from(moved(bytes.u2()?.into())).ok()?),
        _ => {}
    }
    Some(())
}

/// Copies a table of frames. `label` says where a frame has gone, `moved` where an instruction has. `extra` is a last frame: its place, and its
/// contents after the distance from the frame before.
pub(crate) fn copy(
    bytes: &mut Bytes<'_>,
    label: &dyn Fn(usize) -> usize,
    moved: &dyn Fn(usize) -> usize,
    extra: Option<(usize, &[u8])>,
) -> Option<Vec<u8>> {
    let count = if bytes.is_empty() { 0 } else { bytes.u2()? };
    let mut out = Vec::new();
    put2(&mut out, count.checked_add(extra.is_some().into())?);
    let (mut before, mut before_now) = (None, None);
    let step = |now: usize, before_now: &mut Option<usize>| {
        let delta = before_now.map_or(now, |before| now.wrapping_sub(before + 1));
        *before_now = Some(now);
        u16::try_from(delta).ok()
    };
    for _ in 0..count {
        let kind = bytes.u1()?;
        let delta = match kind {
            0..=63 => kind.into(),
            64..=127 => u16::from(kind) - 64,
            128..=246 => return None,
            _ => bytes.u2()?,
        };
        let at = before.map_or(usize::from(delta), |before: usize| before + 1 + usize::from(delta));
        before = Some(at);
        let delta = step(label(at), &mut before_now)?;
        match kind {
            0..=63 | 251 => {
                out.push(251);
                put2(&mut out, delta);
            }
            64..=127 | 247 => {
                out.push(247);
                put2(&mut out, delta);
                copy_type(bytes, moved, &mut out)?;
            }
            248..=250 => {
                out.push(kind);
                put2(&mut out, delta);
            }
            252..=254 => {
                out.push(kind);
                put2(&mut out, delta);
                for _ in 251..kind {
                    copy_type(bytes, moved, &mut out)?;
                }
            }
            _ => {
                out.push(255);
                put2(&mut out, delta);
                for _ in 0..2 {
                    let types = bytes.u2()?;
                    put2(&mut out, types);
                    for _ in 0..types {
                        copy_type(bytes, moved, &mut out)?;
                    }
                }
            }
        }
    }
    if let Some((at, contents)) = extra {
        out.push(255);
        put2(&mut out, step(at, &mut before_now)?);
        out.extend(contents);
    }
    Some(out)
}
