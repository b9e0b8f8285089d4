"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const report = require("../report");
const { race } = require("./sample");

test("what is no report is refused, with what it is", () => {
  assert.throws(() => report.parse("{", "x.json"), /x\.json is not a report/);
  assert.throws(() => report.parse('{"runs": []}', "x.sarif"), /this is SARIF/);
  for (const version of [1, 2]) {
    assert.deepEqual(report.parse(`{"format": "mayhap-report", "version": ${version}, "findings": []}`, "x").findings, []);
  }
  assert.throws(() => report.parse('{"format": "mayhap-report", "version": 9, "findings": []}', "x"), /version 9/);
  assert.throws(() => report.parse('{"format": "mayhap-report", "version": 1, "findings": [1]}', "x"), /damaged/);
  assert.throws(() => report.parse("null", "x"), /not a report/);
  assert.equal(report.parse(JSON.stringify(race()), "x").findings.length, 1);
});

test("suppressed and known findings are not shown", () => {
  const all = race();
  all.findings.push({ ...all.findings[0], suppressed_by: "race:work" }, { ...all.findings[0], baseline: "known" }, { ...all.findings[0], baseline: "new" });
  assert.equal(report.shown(all).length, 2);
});

test("columns are counted as editors count them", () => {
  const one = race();
  const side = one.findings[0].events[0];
  assert.deepEqual(report.columns(one, side), [4, 9]);
  // 🦀 is one character and two units.
  one.sources[0].lines[2] = "  🦀 total++;";
  assert.deepEqual(report.columns(one, side), [5, 10]);
  delete side.highlight;
  assert.deepEqual(report.columns(one, side), [2, 13]);
  one.sources = [];
  assert.deepEqual(report.columns(one, side), [0, 0]);
});

test("names are short and spelled out", () => {
  const finding = race().findings[0];
  assert.equal(report.sideText(finding, finding.events[0]), "main.1 writes `total`");
  assert.equal(report.locksText(finding.events[1]), "holds `m`");
  const side = { thread: "main.2", thread_name: "logger\u202e", op: "w", frees: true, object: "main/heap3@src/a.c:12:Session.refs" };
  assert.equal(report.sideText({ events: [side] }, side), 'main.2 "logger\\u{202e}" frees `Session.refs`');
  assert.equal(report.functionText("Queue<int, std::less<int> >::push(int const&)"), "Queue::push()");
  assert.equal(report.functionText("void f<int>(int)"), "f()");
  assert.equal(report.functionText("operator()"), "a lambda");
  assert.equal(report.functionText("std::function<void (Tick const&)>::operator()(Tick const&) const"), "std::function::operator()()");
  assert.equal(report.functionText("A::operator<(B const&)"), "A::operator<()");
  const end = { thread: "main.2", op: "r", role: "end of the program", object: "" };
  assert.equal(report.sideText({ events: [end] }, end), "main.2 ends the program");
  assert.equal(report.visible("a\x1b[31m\tb"), "a\\u{1b}[31m\\tb");
});

test("a step is where the schedule says, which has the whole path", () => {
  const finding = race().findings[0];
  assert.deepEqual(report.stepPlace(finding, { event: 6, location: "race.c:4" }), { function: "work", file: "src/race.c", line: 12, column: undefined });
  assert.equal(report.stepPlace(finding, { event: 5 }).file, "race.c");
  assert.equal(report.placeOf("a::f(int, char const*) /x y/q.cpp:3:7").file, "/x y/q.cpp");
  assert.equal(report.placeOf("work two words/my prog.c:3").file, "two words/my prog.c");
  assert.equal(report.placeOf("prog.c:3").file, "prog.c");
  assert.equal(report.placeOf("374"), undefined);
});

test("version 2 has one table of steps for all findings", () => {
  const old = race();
  const [row] = old.findings[0].schedules.rows;
  const { rows, witness, ...names } = old.findings[0].schedules;
  delete old.findings[0].schedules;
  const elsewhere = [6, 0, "w", 0, null, null];
  const table = { ...names, rows: [elsewhere, row], of: [{ finding: 0, rows: [], witness: [[1, 1]] }] };
  const read = report.parse(JSON.stringify({ ...old, version: 2, schedules: table }), "x");
  assert.equal(report.stepPlace(read.findings[0], { event: 6 }).file, "src/race.c");
});

test("sources are found in other folders", () => {
  const there = new Set(["/projects/mine/src/a.c", "/projects/mine/b.c"]);
  const sources = new report.Sources(["/projects/mine/build/out", "/projects/mine"], (file) => there.has(file));
  assert.equal(sources.find("src/a.c"), "/projects/mine/src/a.c");
  assert.equal(sources.find("/ci/build/7/src/a.c"), "/projects/mine/src/a.c");
  assert.equal(sources.find("b.c"), "/projects/mine/b.c");
  assert.equal(sources.find("/usr/include/stdio.h"), undefined);
});
