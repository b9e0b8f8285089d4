"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const manifest = require("../package.json");
const { race } = require("./sample");
const { activated } = require("./vscode");

/** A folder that is gone after the test. */
function folder(t) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), "mayhap test ü-"));
  t.after(() => fs.rmSync(made, { recursive: true }));
  return made;
}

function saved(t, report, name = "race.c") {
  const here = folder(t);
  fs.writeFileSync(path.join(here, name), "int total;\n");
  const file = path.join(here, "report.json");
  fs.writeFileSync(file, JSON.stringify(report));
  return { here, file };
}

/** An executable that acts as `mayhap`. */
function command(here, script) {
  const file = path.join(here, "pretend");
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

const opens = (vscode, here, name, language) => {
  vscode.workspace.workspaceFolders = [{ uri: { fsPath: here } }];
  vscode.window.activeTextEditor = { document: { uri: vscode.Uri.file(path.join(here, name)), languageId: language, isDirty: false } };
};

test("every command of the manifest is registered", () => {
  const { seen } = activated();
  for (const { command } of manifest.contributes.commands) {
    assert.ok(seen.commands.has(command), command);
  }
  for (const name of [manifest.main, "./page.js", "./report.js", "./tree.js", "./diagnostics.js"]) {
    assert.ok(fs.existsSync(path.join(__dirname, "..", name)), name);
  }
});

test("a report becomes diagnostics with the other side and the calls", async (t) => {
  const { vscode, seen } = activated();
  const { here, file } = saved(t, race());
  seen.chosen = [vscode.Uri.file(file)];
  await seen.commands.get("mayhap.openReport")();
  const [[uri, [problem]]] = seen.problems;
  assert.equal(uri.fsPath, path.join(here, "race.c"));
  assert.deepEqual([problem.range.start, problem.range.end], [{ line: 3, character: 4 }, { line: 3, character: 9 }]);
  assert.deepEqual([problem.severity, problem.source, problem.code], [0, "mayhap", "confirmed race-00000000000000aa"]);
  const related = problem.relatedInformation.map((one) => [one.message, one.location.range.start.line]);
  assert.deepEqual(related, [
    ["main.1 writes `total`; no lock held", 3], ["  called from run()", 8], ["main.2 reads `total`; holds `m`", 3], ["  called from run()", 8],
  ]);
  assert.equal(seen.contexts["mayhap.hasReport"], true);
  assert.deepEqual(seen.messages, [["information", "mayhap: 1 finding"]]);
});

test("the tree has sides with stacks, and both runs", async (t) => {
  const { vscode, seen } = activated();
  const { here, file } = saved(t, race());
  await seen.commands.get("mayhap.openReport")(vscode.Uri.file(file));
  const labels = (node) => seen.tree.getChildren(node).map((child) => seen.tree.getTreeItem(child).label);
  const [root] = seen.tree.getChildren();
  const item = seen.tree.getTreeItem(root);
  assert.deepEqual([item.description, item.collapsibleState, item.command.command], ["confirmed · race.c:4", 1, "mayhap.showFinding"]);
  assert.deepEqual(labels(root), ["main.1 writes `total`", "main.2 reads `total`", "recorded run", "possible run"]);
  const [side, , observed, possible] = seen.tree.getChildren(root);
  assert.deepEqual(labels(side), ["work()", "run()", "started by main"]);
  assert.deepEqual(labels(observed), ["⋮ 3 steps", "main.1: writes total", "main.2: reads total"]);
  assert.equal(labels(possible)[2], "main.2: reads total (at the same time)");
  const frame = seen.tree.getTreeItem(seen.tree.getChildren(side)[1]);
  await seen.commands.get(frame.command.command)(...frame.command.arguments);
  assert.deepEqual(seen.opened, [[path.join(here, "race.c"), { line: 8, character: 0 }]]);
});

test("the page opens places and copies the command", async (t) => {
  const { vscode, seen } = activated();
  const { here, file } = saved(t, race("zwölf räume.c"), "zwölf räume.c");
  await seen.commands.get("mayhap.openReport")(vscode.Uri.file(file));
  const [action] = seen.actions.provideCodeActions(null, null, { diagnostics: [seen.problems[0][1][0], { source: "other" }] });
  seen.commands.get(action.command.command)(...action.command.arguments);
  const [panel] = seen.panels;
  assert.ok(panel.webview.html.includes("Possible run"));
  await panel.post({ open: "zwölf räume.c", line: 4, column: 5 });
  await panel.post({ copy: "mayhap replay" });
  await panel.post({ open: 7 });
  assert.deepEqual(seen.opened, [[path.join(here, "zwölf räume.c"), { line: 3, character: 4 }]]);
  assert.equal(seen.copied, "mayhap replay");
  // The same panel shows the next finding; closing the report closes it.
  seen.commands.get("mayhap.showFinding")(seen.tree.getChildren()[0]);
  assert.equal(seen.panels.length, 1);
  seen.commands.get("mayhap.clear")();
  assert.deepEqual([seen.problems, seen.tree.getChildren(), seen.contexts["mayhap.hasReport"]], [[], [], false]);
});

test("a report whose sources are elsewhere is in the tree", async (t) => {
  const { vscode, seen } = activated();
  const { file } = saved(t, race("elsewhere/gone.c"));
  await seen.commands.get("mayhap.openReport")(vscode.Uri.file(file));
  assert.deepEqual([seen.problems, seen.tree.getChildren().length], [[], 1]);
  assert.match(seen.messages[0][1], /1 finding; the sources of 1 were not found here/);
  await seen.commands.get("mayhap.openPlace")({ file: "elsewhere/gone.c", line: 1 });
  assert.deepEqual(seen.messages[1], ["warning", "mayhap: elsewhere/gone.c is not in this workspace"]);
});

test("what is no report is said as such", async (t) => {
  const { vscode, seen } = activated();
  const { here } = saved(t, race());
  await seen.commands.get("mayhap.openReport")(vscode.Uri.file(path.join(here, "race.c")));
  assert.match(seen.messages[0][1], /race\.c is not a report/);
  await seen.commands.get("mayhap.openReport")(vscode.Uri.file(path.join(here, "absent.json")));
  assert.match(seen.messages[1][1], /no such file/);
  seen.chosen = undefined;
  await seen.commands.get("mayhap.openReport")();
  assert.equal(seen.messages.length, 2);
});

test("running a file shows the report that it saves", async (t) => {
  const { vscode, seen } = activated();
  const { here, file } = saved(t, race());
  // The third word is the report's name.
  seen.settings = { command: command(here, `echo "in $PWD: $*"; cp "${file}" "$3"; exit 1`), arguments: ["--budget", "9s"] };
  opens(vscode, here, "race.c", "c");
  await seen.commands.get("mayhap.runFile")();
  assert.match(seen.output, /: run --save \S.*report\.json --budget 9s race\.c\n/);
  assert.ok(seen.output.includes(`in ${here}`), seen.output);
  assert.equal(seen.problems.length, 1);
  assert.deepEqual(seen.messages, [["information", "mayhap: 1 finding"]]);
  // A Rust file: the tests of its package.
  fs.mkdirSync(path.join(here, "crate/src"), { recursive: true });
  fs.writeFileSync(path.join(here, "crate/Cargo.toml"), "");
  opens(vscode, here, "crate/src/lib.rs", "rust");
  const job = activated().mayhap.job.call({}, "rust", path.join(here, "crate/src/lib.rs"), "r.json");
  assert.deepEqual([job.words, job.folder], [["cargo", "test", "--save", "r.json"], path.join(here, "crate")]);
});

test("what went wrong is said in the words of the command", async (t) => {
  const { vscode, seen } = activated();
  const { here } = saved(t, race());
  opens(vscode, here, "race.c", "c");
  seen.settings = { command: command(here, "echo 'race.c:1: error' >&2; echo 'mayhap: race.c: compilation failed' >&2; exit 2") };
  await seen.commands.get("mayhap.runFile")();
  seen.settings = { command: path.join(here, "absent") };
  await seen.commands.get("mayhap.runFile")();
  vscode.window.activeTextEditor = undefined;
  await seen.commands.get("mayhap.runFile")();
  const said = seen.messages.map(([kind, text]) => `${kind} ${text}`);
  assert.equal(said[0], "error mayhap: race.c: compilation failed");
  assert.match(said[1], /no such command; the setting mayhap\.command/);
  assert.match(said[2], /open a C, C\+\+ or Rust file first/);
});

test("cancelling is Ctrl-C, and what was found is shown", async (t) => {
  const { vscode, seen } = activated();
  const { here, file } = saved(t, race());
  const ready = path.join(here, "ready");
  // The job says when it is under way; it saves what it found when it is interrupted.
  seen.settings = { command: command(here, `trap 'cp "${file}" "$3"; exit 1' INT; : > "${ready}"; while :; do sleep 0.05; done`) };
  opens(vscode, here, "race.c", "c");
  const running = seen.commands.get("mayhap.runFile")();
  while (!fs.existsSync(ready)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  seen.cancel();
  await running;
  assert.deepEqual(seen.messages, [["information", "mayhap: 1 finding"]]);
});

// With a real report: `MAYHAP_REPORT` names one.
test("a report of the tool is shown", { skip: !process.env.MAYHAP_REPORT }, async () => {
  const { vscode, seen } = activated();
  await seen.commands.get("mayhap.openReport")(vscode.Uri.file(process.env.MAYHAP_REPORT));
  const [[uri, [problem]]] = seen.problems;
  assert.ok(fs.existsSync(uri.fsPath));
  const line = fs.readFileSync(uri.fsPath, "utf8").split("\n")[problem.range.start.line];
  assert.equal(line.slice(problem.range.start.character, problem.range.end.character), "hits");
  assert.ok(problem.relatedInformation.length >= 2);
  const [root] = seen.tree.getChildren();
  assert.ok(seen.tree.getChildren(root).length >= 4);
  seen.commands.get("mayhap.showFinding")(root);
  const { html } = seen.panels[0].webview;
  assert.ok(html.includes("Possible run") && html.includes("<mark>hits</mark>"), html);
  if (process.env.MAYHAP_PAGE) {
    fs.writeFileSync(process.env.MAYHAP_PAGE, html);
  }
});

test("the tool itself runs on a file", { skip: !process.env.MAYHAP }, async () => {
  const { vscode, seen } = activated();
  const file = process.env.MAYHAP_FILE;
  seen.settings = { command: process.env.MAYHAP, arguments: ["--no-replay", "--explore", "0"] };
  opens(vscode, path.dirname(file), path.basename(file), "c");
  await seen.commands.get("mayhap.runFile")();
  assert.deepEqual(seen.messages, [["information", "mayhap: 1 finding"]], seen.output);
  assert.equal(seen.problems[0][0].fsPath, file);
});
