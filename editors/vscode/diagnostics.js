// Findings as entries of the Problems panel.
"use strict";

const vscode = require("vscode");
const { columns, functionText, locksText, placeText, primary, sideText, visible } = require("./report");

const { Error: ERROR, Warning, Information } = vscode.DiagnosticSeverity;
const SEVERITIES = { error: ERROR, warning: Warning, note: Information };

/** The range of a side: what the report marks, from 0. */
function range(report, side) {
  const line = side.source.line - 1;
  const [from, to] = columns(report, side);
  return new vscode.Range(line, from, line, Math.max(from, to));
}

/** The diagnostics of each file: `[[uri, diagnostics]]`, and the findings that have no file here. */
function diagnostics(report, findings, sources) {
  const byFile = new Map();
  const without = [];
  for (const finding of findings) {
    const first = primary(finding);
    const file = first && sources.find(first.source.file);
    if (!file) {
      without.push(finding);
      continue;
    }
    const message = [finding.title, finding.message, finding.why].filter(Boolean).map(visible).join("\n");
    const entry = new vscode.Diagnostic(range(report, first), message, SEVERITIES[finding.severity] ?? Information);
    entry.source = "mayhap";
    entry.code = `${finding.verdict} ${finding.id}`;
    entry.relatedInformation = related(report, finding, sources);
    byFile.set(file, [...(byFile.get(file) ?? []), entry]);
  }
  return { entries: [...byFile].map(([file, list]) => [vscode.Uri.file(file), list]), without };
}

/** Every side, and the calls that led to it. */
function related(report, finding, sources) {
  const all = [];
  const add = (source, range, message) => {
    const file = source?.file && source.line && sources.find(source.file);
    if (file) {
      all.push(new vscode.DiagnosticRelatedInformation(new vscode.Location(vscode.Uri.file(file), range), message));
    }
  };
  for (const side of finding.events) {
    if (side.source?.line) {
      add(side.source, range(report, side), `${sideText(finding, side)}; ${locksText(side)}`);
    }
    for (const frame of (side.stack ?? []).slice(1)) {
      const at = new vscode.Range((frame.line ?? 1) - 1, (frame.column ?? 1) - 1, (frame.line ?? 1) - 1, (frame.column ?? 1) - 1);
      add(frame, at, visible(`  called from ${functionText(frame.function) || placeText(frame)}`));
    }
  }
  return all;
}

module.exports = { diagnostics };
