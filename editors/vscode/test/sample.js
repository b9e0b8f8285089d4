// A small report: a data race in a file that may have any name.
"use strict";

function race(file = "race.c") {
  const side = (event, thread, op) => ({
    event, thread, op, object: "total", location: `work ${file}:4`, role: "access", source: { function: "work", file, line: 4 },
    stack: [{ function: "work", file, line: 4 }, { function: "run(int)", file, line: 9, inlined: true }],
    highlight: [5, 10], locks: event === 7 ? [{ name: "m", event: 6 }] : [],
    created: { event: 1, thread: "main", location: `main ${file}:20`, source: { function: "main", file, line: 20 } },
  });
  const step = (event, column, text, mark) => ({ event, column, text, location: `${file}:4`, mark });
  return {
    format: "mayhap-report", version: 1, tool: { name: "mayhap", version: "0.1.0" },
    trace: { path: "trace.mhp", events: 9, threads: 3, locks: 1, variables: 1 }, model: "causal", program: ["./race"],
    sources: [{ file, from: 2, lines: ["int total;", "void *work(void *p) {", "    total++;", "}"] }],
    summary: { candidates: 1, proven: 1, refuted: 0, unknown: 0, suspected: 0, seconds: 0.1 },
    findings: [{
      id: "race-00000000000000aa", kind: "race", verdict: "confirmed", severity: "error", engine: "seqcheck", model: "causal", occurrences: 2,
      distance: 1, witness: [1, 2], title: "Data race on `total`: work() writes while work() reads", message: "Both at once.", why: "No lock.",
      certainty: "Confirmed: reproduced in 1 of 1 replays.", replay_command: "mayhap replay w.json -- ./race",
      events: [side(5, "main.1", "w"), side(7, "main.2", "r")],
      story: {
        threads: ["main.1", "main.2"],
        observed: [{ ...step(5, 0, "writes total", "target"), skipped: 3 }, step(7, 1, "reads total", "target")],
        possible: [step(6, 1, "locks m", "plain"), step(5, 0, "writes total", "next"), { ...step(7, 1, "reads total", "next"), remark: "at the same time" }],
      },
      schedules: { threads: ["main.1", "main.2"], objects: ["total"], locations: [`work src/${file}:12`], rows: [[6, 1, "acq", 0, 0, null]], witness: [0], observed_total: 9, witness_total: 5 },
    }],
  };
}

module.exports = { race };
