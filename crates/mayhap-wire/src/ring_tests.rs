use super::*;

#[test]
fn units_say_what_was_put_into_them() {
    for (site, difference) in [(1, 0u64), (7 | BRANCHED, 65535), (unit::MAX_SITE, 65536u64.wrapping_neg())] {
        let shifted = unit::access(site, difference).expect("it fits");
        assert_eq!(unit::split(shifted), Some((site, difference)));
        assert_eq!(unit::length(&[shifted]), Some(1));
        assert_eq!(unit::moved(0x7fff_0000_1000, difference), 0x7fff_0000_1000u64.wrapping_add(difference));
    }
    for (site, difference) in [(0, 4), (unit::MAX_SITE + 1, 4), (1, 65536), (1, 65537u64.wrapping_neg())] {
        assert_eq!(unit::access(site, difference), None);
    }
    let record = record_word(Tag::Alloc, 2, 7);
    assert_eq!(unit::length(&[unit::RECORD, record as u32, (record >> 32) as u32, 0]), Some(7));
    assert_eq!((unit::length(&[unit::ACCESS]), unit::length(&[unit::RECORD, 1])), (Some(3), None));
    assert_eq!((unit::split(unit::ACCESS), unit::length(&[0]), unit::length(&[])), (None, None, None));
}

#[test]
fn words_say_what_was_put_into_them() {
    let address = 0x7fff_ffff_fff8;
    assert_eq!(split_access(access_word(MAX_SITE, address)), Some((MAX_SITE, address)));
    let record = record_word(Tag::Alloc, 2, 0x7fff_ffff);
    assert_eq!(split_access(record), None);
    assert_eq!(split_record(record), Some((Tag::Alloc, 2, 0x7fff_ffff)));
    assert_eq!(split_record(0), None);
    let site = site_word(0x7fff_1234_5678, SiteKind::Write, 16);
    assert_eq!((split_site(site), split_site(9 << 48)), (Some((0x7fff_1234_5678, SiteKind::Write, 16)), None));
    assert_eq!(split_atomic(atomic_word(AtomicKind::Update, order::ACQ_REL, 8)), Some((AtomicKind::Update, 4, 8)));
    assert_eq!(split_atomic(3), None);
}

#[test]
fn every_code_names_one_tag() {
    assert!((0..=u8::MAX).all(|code| Tag::from_code(code).is_none_or(|tag| tag as u8 == code)));
}
