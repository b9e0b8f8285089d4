//! All renderings of every kind of finding, as snapshots.

mod common;

use common::cases;
use mayhap_report::text::{self, Detail, Style};
use mayhap_report::{Report, junit, perfetto, sarif};

fn text(report: &Report, width: usize, colour: bool, detail: Detail) -> String {
    let mut out = Vec::new();
    text::write(&mut out, report, &Style { width, colour, detail }).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn text_wide_narrow_and_in_colour() {
    for case in cases() {
        for width in [120, 60] {
            let plain = text(&case.report, width, false, Detail::Normal);
            insta::assert_snapshot!(format!("text_{}_{width}", case.name), plain);
            let coloured = text(&case.report, width, true, Detail::Normal);
            assert_eq!(without_codes(&coloured), plain, "colour changes nothing but colour");
        }
        let coloured = text(&case.report, 80, true, Detail::Normal);
        insta::assert_snapshot!(format!("text_{}_colour", case.name), coloured.replace('\x1b', "ESC"));
        insta::assert_snapshot!(format!("text_{}_quiet", case.name), text(&case.report, 80, false, Detail::Quiet));
    }
}

fn without_codes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    out + rest
}

#[test]
fn no_line_is_wider_than_asked_for_but_commands() {
    for case in cases() {
        for width in 60..140 {
            for line in text(&case.report, width, false, Detail::Verbose).lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width || line.contains("mayhap replay"), "{} at {width}: {line}", case.name);
            }
        }
    }
}

#[test]
fn a_refutation_is_told_as_a_cycle_of_reasons() {
    let report = common::refuted::report();
    for width in [120, 60] {
        let plain = text(&report, width, false, Detail::Normal);
        assert!(plain.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= width), "{plain}");
        insta::assert_snapshot!(format!("text_refuted_{width}"), plain);
    }
    let schema: serde_json::Value = serde_json::from_str(include_str!("../../../docs/report.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert!(schema.is_valid(&json));
    assert_eq!(serde_json::from_value::<Report>(json.clone()).unwrap(), report);
    let mut broken = json;
    broken["refutation"]["cycle"][0]["why"] = "magic".into();
    assert!(!schema.is_valid(&broken), "the schema refuses what is wrong");
}

#[test]
fn json_of_every_kind_keeps_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../../../docs/report.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for case in cases() {
        let json = serde_json::to_value(&case.report).unwrap();
        let errors: Vec<String> = schema.iter_errors(&json).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", case.name);
        assert_eq!(serde_json::from_value::<Report>(json.clone()).unwrap(), case.report);
        insta::assert_snapshot!(format!("json_{}", case.name), serde_json::to_string_pretty(&json).unwrap());
    }
    let mut broken = serde_json::to_value(&cases()[0].report).unwrap();
    broken["findings"][0]["verdict"] = "maybe".into();
    assert!(!schema.is_valid(&broken), "the schema refuses what is wrong");
}

fn sarif_schema() -> jsonschema::Validator {
    let schema: serde_json::Value = serde_json::from_str(include_str!("data/sarif-schema-2.1.0.json")).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn sarif_of_every_kind_keeps_the_official_schema() {
    let schema = sarif_schema();
    for case in cases() {
        let json = sarif::document(&case.report);
        let errors: Vec<String> = schema.iter_errors(&json).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", case.name);
        let mut run = json["runs"][0].clone();
        run["tool"] = "as in every document".into();
        insta::assert_snapshot!(format!("sarif_{}", case.name), serde_json::to_string_pretty(&run).unwrap());
    }
    let rules = sarif::document(&cases()[0].report)["runs"][0]["tool"].clone();
    insta::assert_snapshot!("sarif_tool", serde_json::to_string_pretty(&rules).unwrap());
    let mut broken = sarif::document(&cases()[0].report);
    broken["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!schema.is_valid(&broken), "the schema refuses what is wrong");
}

#[test]
fn sarif_orders_steps_across_threads_and_trims_them() {
    let mut report = cases().remove(0).report;
    let flow = &sarif::document(&report)["runs"][0]["results"][0]["codeFlows"][0];
    let mut orders: Vec<u64> = (flow["threadFlows"].as_array().unwrap().iter())
        .flat_map(|f| f["locations"].as_array().unwrap().iter().map(|l| l["executionOrder"].as_u64().unwrap()))
        .collect();
    orders.sort_unstable();
    assert_eq!(orders, (1..=8).collect::<Vec<u64>>(), "six steps and the two accesses");
    let schedules = report.findings[0].schedules.as_mut().unwrap();
    schedules.witness = schedules.witness.iter().copied().cycle().take(5_000).collect();
    let flow = &sarif::document(&report)["runs"][0]["results"][0]["codeFlows"][0];
    let steps: usize =
        flow["threadFlows"].as_array().unwrap().iter().map(|f| f["locations"].as_array().unwrap().len()).sum();
    assert_eq!(steps, 1_000);
    let text = flow.to_string();
    assert!(text.contains("(event 4)") && text.contains("(event 11)"), "the target's own steps are kept");
}

#[test]
fn junit_of_every_kind_is_well_formed() {
    for case in cases() {
        let mut out = Vec::new();
        junit::write(&mut out, &case.report).unwrap();
        let xml = String::from_utf8(out).unwrap();
        let document = roxmltree::Document::parse(&xml).unwrap();
        let cases: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testcase")).collect();
        assert_eq!(cases.len(), 1);
        insta::assert_snapshot!(format!("junit_{}", case.name), xml);
    }
    let mut empty = cases().remove(0).report;
    empty.findings.clear();
    let mut out = Vec::new();
    junit::write(&mut out, &empty).unwrap();
    insta::assert_snapshot!("junit_nothing", String::from_utf8(out).unwrap());
}

#[test]
fn chrome_trace_has_both_runs() {
    let report = cases().remove(0).report;
    let document = perfetto::document(&report);
    let events = document["traceEvents"].as_array().unwrap();
    for event in events {
        assert!(event["ph"].is_string() && event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        assert!(event["ph"] == "M" || event["ts"].is_u64(), "{event}");
    }
    let slices = |pid: u64| events.iter().filter(|e| e["ph"] == "X" && e["pid"] == pid).count();
    assert_eq!(
        (slices(1), slices(2)),
        (11, 8),
        "all events were recorded; six steps and the two accesses are possible"
    );
    insta::assert_snapshot!("perfetto_race", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn many_findings_are_printed_in_full_only_on_request() {
    let mut report = cases().remove(0).report;
    let one = report.findings[0].clone();
    report.findings = (0..25).map(|i| mayhap_report::Finding { id: format!("race-{i:016x}"), ..one.clone() }).collect();
    let count = |detail| text(&report, 100, false, detail).matches("possible run").count();
    assert_eq!((count(Detail::Quiet), count(Detail::Normal), count(Detail::Verbose)), (0, 20, 25));
    let normal = text(&report, 100, false, Detail::Normal);
    assert!(normal.contains("the last 5 findings in one line each; --verbose prints all in full"), "{normal}");
}
