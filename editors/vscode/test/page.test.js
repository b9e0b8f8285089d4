"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { page, prose } = require("../page");
const { race } = require("./sample");

test("the page has the interleaving, both stacks and the source", () => {
  const one = race();
  const html = page(one, one.findings[0], "abc");
  for (const part of [
    "Recorded run", "Possible run", "⋮ 3 steps", "▶ reads total", "(at the same time)", "stack of main.1", "stack of main.2", "started by main",
    "<mark>total</mark>++;", "run()", "(inlined)", "mayhap replay w.json -- ./race", "<code>total</code>",
  ]) {
    assert.ok(html.includes(part), part);
  }
  assert.ok(html.includes("script-src 'nonce-abc'") && html.includes("default-src 'none'"));
  // Two steps that are next at the same time share a row.
  assert.equal(html.match(/<tr><td class="t0"><div class="step next/g).length, 1);
});

test("calls within libraries share a line", () => {
  const one = race();
  const of = (file, name) => ({ function: name, file, line: 7 });
  const library = "/usr/include/c++/12/bits/invoke.h";
  one.findings[0].events[0].stack = [of("a.cpp", "operator()"), of(library, "std::__invoke_impl"), of(library, "std::__invoke"), of("a.cpp", "main")];
  const html = page(one, one.findings[0], "abc");
  assert.ok(html.includes("a lambda") && html.includes("… 2 calls within libraries"));
});

test("names of the program never become markup", () => {
  const evil = `"><img src=x onerror=alert(1)><script>alert(2)</script>\u202e'`;
  const one = race(evil);
  const finding = one.findings[0];
  const poison = (value) => {
    for (const [key, held] of Object.entries(value)) {
      if (typeof held === "string" && !["op", "mark", "role"].includes(key)) {
        value[key] = evil;
      } else if (held && typeof held === "object") {
        poison(held);
      }
    }
  };
  poison(finding);
  finding.life = [{ what: evil, thread: evil, source: { file: evil, line: 3 } }];
  finding.tests = [evil];
  one.sources[0].lines = [evil, evil, evil, evil];
  const html = page(one, finding, "abc");
  assert.equal(html.match(/<script/g).length, 1);
  assert.ok(!html.includes("<img") && !html.includes("\u202e"));
  assert.equal(prose("a `b<c` d"), "a <code>b&lt;c</code> d");
});

test("a finding without source, story or sides has a page", () => {
  const finding = { id: "hang-1", verdict: "observed", severity: "error", title: "Hang", events: [{ event: 1, thread: "T1", op: "r", object: "x", location: "374" }] };
  const html = page({ findings: [finding] }, finding, "abc");
  assert.ok(html.includes("374") && html.includes("T1 reads <code>x</code>"), html);
});
