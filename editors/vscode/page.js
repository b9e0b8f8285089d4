// The page of one finding: the interleaving, both stacks, the reasons. It is a string; every name in it is escaped, and its policy
// allows one script and one style.
"use strict";

const {
  columns, excerpt, functionText, isLibrary, locksText, placeText, sideText, stepPlace, threadLabel, visible,
} = require("./report");

/** Lines shown before and after a marked one. */
const BEFORE = 2;
const AFTER = 1;

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text as markup that shows it literally. */
function text(value) {
  return visible(value ?? "").replace(/[&<>"']/gu, (c) => ESCAPES[c]);
}

/** Text in which names between backticks are code. */
function prose(value) {
  return String(value ?? "").split("`").map((part, i) => (i % 2 ? `<code>${text(part)}</code>` : text(part))).join("");
}

/** A link that asks the editor to open a place. */
function link(place, shown, kind = "place") {
  if (!place?.file || !place?.line) {
    return `<span class="${kind}">${text(shown)}</span>`;
  }
  const column = place.column ? ` data-column="${Number(place.column)}"` : "";
  return `<button class="${kind}" data-file="${text64(place.file)}" data-line="${Number(place.line)}"${column}>${text(shown)}</button>`;
}

/** A value that the script hands back unchanged. */
function text64(value) {
  return Buffer.from(String(value), "utf8").toString("base64");
}

const MARKS = { next: "▶ ", blocked: "✗ " };

/** One run as a table: a column for each thread, a row for each step. */
function table(finding, title, steps) {
  const story = finding.story;
  const heads = story.threads.map((thread, i) => `<th scope="col" class="t${i % 8}">${text(threadLabel(finding, thread))}</th>`);
  const rows = [];
  const blank = () => story.threads.map(() => "");
  const cell = (step) => {
    const place = stepPlace(finding, step);
    const where = step.location ? ` ${link(place, step.location)}` : "";
    const mark = String(step.mark ?? "plain").replace(/\W/gu, "");
    const depth = Math.min(Number(step.depth) || 0, 8);
    const remark = step.remark ? `<div class="remark d${depth}">(${text(step.remark)})</div>` : "";
    return `<div class="step ${mark} d${depth}">${MARKS[mark] ?? ""}${text(step.text)}${where}</div>${remark}`;
  };
  const add = (cells) => rows.push(`<tr>${cells.map((c, i) => `<td class="t${i % 8}">${c}</td>`).join("")}</tr>`);
  const skipped = (step) => {
    if (step.skipped > 0) {
      rows.push(`<tr><td class="skipped" colspan="${story.threads.length}">⋮ ${step.skipped} ${step.skipped === 1 ? "step" : "steps"}</td></tr>`);
    }
  };
  const ends = steps.filter((step) => step.mark === "next" || step.mark === "blocked");
  for (const step of steps.filter((step) => !ends.includes(step))) {
    skipped(step);
    const cells = blank();
    cells[step.column] = cell(step);
    add(cells);
  }
  // Steps that are next at the same time share a row.
  if (ends.length) {
    skipped(ends[0]);
    const cells = blank();
    for (const step of ends) {
      cells[step.column] = cell(step);
    }
    add(cells);
  }
  const head = `<thead><tr>${heads.join("")}</tr></thead>`;
  return `<section class="run"><h3>${title}</h3><div class="scroll"><table>${head}<tbody>${rows.join("")}</tbody></table></div></section>`;
}

/** The source around an access, with the access marked. */
function source(report, side, colour) {
  const lines = excerpt(report, side.source, BEFORE, AFTER);
  const shown = lines.map(({ number, text: line }) => {
    let code = text(line.replace(/\t/gu, "    "));
    if (number === side.source.line) {
      const [from, to] = columns(report, side);
      const part = (a, b) => text(line.slice(a, b).replace(/\t/gu, "    "));
      code = `${part(0, from)}<mark>${part(from, to)}</mark>${part(to, line.length)}`;
    }
    return `<div class="line${number === side.source.line ? " marked" : ""}"><span class="number">${number}</span>${code}</div>`;
  });
  return shown.length ? `<div class="source t${colour}">${shown.join("")}</div>` : "";
}

function stack(title, frames) {
  if (!frames?.length) {
    return "";
  }
  const item = (frame) => {
    const inlined = frame.inlined ? ' <span class="soft">(inlined)</span>' : "";
    const place = frame.file ? ` ${link(frame, placeText(frame))}` : "";
    return `<li>${text(functionText(frame.function))}${place}${inlined}</li>`;
  };
  // Calls within libraries share a line, which unfolds.
  const runs = [];
  for (const frame of frames) {
    const last = runs[runs.length - 1];
    if (last && isLibrary(frame) && isLibrary(last[0])) {
      last.push(frame);
    } else {
      runs.push([frame]);
    }
  }
  const within = (run) => `<li><details><summary>… ${run.length} calls within libraries</summary><ol>${run.map(item).join("")}</ol></details></li>`;
  const items = runs.map((run) => (run.length > 1 ? within(run) : item(run[0])));
  return `<details open><summary>${text(title)}</summary><ol>${items.join("")}</ol></details>`;
}

function side(report, finding, event, threads) {
  let number = threads.indexOf(event.thread);
  if (number < 0) {
    number = threads.push(event.thread) - 1;
  }
  const colour = number % 8;
  const frames = event.stack?.length ? event.stack : event.source ? [event.source] : [];
  const created = event.created;
  const started = created ? stack(`started by ${created.thread}`, created.stack?.length ? created.stack : [created.source].filter(Boolean)) : "";
  const where = event.source ? link(event.source, placeText(event.source)) : text(event.location ?? "");
  return `<section class="side"><h3 class="t${colour}">${prose(sideText(finding, event))}</h3>
<p class="soft">${where} · ${prose(locksText(event))}</p>
${source(report, event, colour)}${stack(`stack of ${threadLabel(finding, event.thread)}`, frames)}${started}</section>`;
}

function life(finding) {
  const moments = (finding.life ?? []).map((moment) => {
    const by = moment.thread ? ` by ${text(moment.thread)}` : "";
    const at = moment.source ? ` ${link(moment.source, placeText(moment.source))}` : "";
    return `<li>${text(moment.what)}${by}${at}</li>`;
  });
  return moments.length ? `<h3>Life of the memory</h3><ol>${moments.join("")}</ol>` : "";
}

/** The document. `nonce` is what its policy allows the style and the script by. */
function page(report, finding, nonce) {
  const threads = [...(finding.story?.threads ?? [])];
  const sides = finding.events.map((event) => side(report, finding, event, threads)).join("");
  const story = finding.story
    ? `<div class="runs">${table(finding, "Recorded run", finding.story.observed)}${table(finding, "Possible run", finding.story.possible)}</div>`
    : "";
  const facts = [finding.verdict, finding.id, finding.occurrences > 1 ? `${finding.occurrences} times in this run` : "", ...(finding.tests ?? [])];
  const said = [["Why", finding.why], ["Verdict", finding.certainty]].filter(([, words]) => words);
  const command = finding.replay_command
    ? `<p><code>${text(finding.replay_command)}</code> <button class="copy" data-copy="${text64(finding.replay_command)}">Copy</button></p>`
    : "";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width"><title>${text(finding.title)}</title>
<style nonce="${nonce}">${STYLE}</style></head>
<body><h2><span class="${text(finding.severity)}">${text(finding.severity)}</span> ${prose(finding.title)}</h2>
<p class="soft">${facts.filter(Boolean).map(text).join(" · ")}</p>
<p>${prose(finding.message)}</p>
${story}<div class="sides">${sides}</div>${life(finding)}
<dl>${said.map(([name, words]) => `<dt>${name}</dt><dd>${prose(words)}</dd>`).join("")}</dl>${command}
<script nonce="${nonce}">${SCRIPT}</script></body></html>`;
}

/** Colours are the editor's; the second values are for a page outside of one. */
const STYLE = `
body { color-scheme: light dark; background: var(--vscode-editor-background, Canvas); color: var(--vscode-editor-foreground, CanvasText); padding: 4px 20px 24px;
  font: var(--vscode-font-size, 13px)/1.5 var(--vscode-font-family, system-ui, sans-serif);
  /* Charts' colours are for areas; as text they need more contrast. */
  --t0: color-mix(in srgb, var(--vscode-charts-blue, #2a6fc9) 60%, var(--vscode-editor-foreground, CanvasText));
  --t1: color-mix(in srgb, var(--vscode-charts-orange, #b4570b) 60%, var(--vscode-editor-foreground, CanvasText));
  --t2: color-mix(in srgb, var(--vscode-charts-green, #227a4b) 60%, var(--vscode-editor-foreground, CanvasText));
  --t3: color-mix(in srgb, var(--vscode-charts-purple, #7d4bb5) 60%, var(--vscode-editor-foreground, CanvasText));
  --t4: color-mix(in srgb, var(--vscode-terminal-ansiCyan, #0d7c86) 60%, var(--vscode-editor-foreground, CanvasText));
  --t5: color-mix(in srgb, var(--vscode-terminal-ansiMagenta, #b03a78) 60%, var(--vscode-editor-foreground, CanvasText));
  --t6: color-mix(in srgb, var(--vscode-charts-yellow, #7a6d12) 60%, var(--vscode-editor-foreground, CanvasText));
  --t7: color-mix(in srgb, var(--vscode-descriptionForeground, #5b6672) 60%, var(--vscode-editor-foreground, CanvasText));
  --danger: var(--vscode-errorForeground, #b3261e); --warn: var(--vscode-editorWarning-foreground, #8a5a00);
  --soft: var(--vscode-descriptionForeground, #5b6672); --line: var(--vscode-editorWidget-border, #8886); }
h2 { font-size: 1.35em; line-height: 1.3; margin: 12px 0 4px; overflow-wrap: anywhere; } h3 { font-size: 1.05em; margin: 12px 0 4px; overflow-wrap: anywhere; }
p { margin: 4px 0; max-width: 96ch; overflow-wrap: anywhere; } .soft, .remark, .skipped { color: var(--soft); } .error { color: var(--danger); } .warning { color: var(--warn); }
.note { color: var(--vscode-editorInfo-foreground, #1f6fb8); }
code, td, th, .source, .place, li { font-family: var(--vscode-editor-font-family, ui-monospace, monospace); font-size: var(--vscode-editor-font-size, 12px); unicode-bidi: isolate; }
code { background: var(--vscode-textCodeBlock-background, #8882); border-radius: 3px; padding: 0 3px; }
.t0 { --own: var(--t0); } .t1 { --own: var(--t1); } .t2 { --own: var(--t2); } .t3 { --own: var(--t3); } .t4 { --own: var(--t4); } .t5 { --own: var(--t5); } .t6 { --own: var(--t6); } .t7 { --own: var(--t7); }
h3[class], th { color: var(--own); } .step { color: var(--own); }
.runs, .sides { display: flex; flex-wrap: wrap; gap: 8px 32px; } .side { flex: 1 1 26em; min-width: 0; } .run { flex: 1 1 max-content; min-width: 0; max-width: 100%; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; } th { text-align: left; border-bottom: 2px solid var(--own); padding: 2px 14px 2px 8px; white-space: nowrap; }
td { padding: 1px 14px 1px 8px; border-left: 2px solid color-mix(in srgb, var(--own, transparent) 35%, transparent); vertical-align: top; white-space: nowrap; }
td.skipped { border-left-color: transparent; }
.target { font-weight: 700; } .next, .blocked { font-weight: 700; color: var(--danger); } .changed { color: var(--warn); font-weight: 700; }
.d1 { padding-left: 2ch; } .d2 { padding-left: 4ch; } .d3 { padding-left: 6ch; } .d4, .d5, .d6, .d7, .d8 { padding-left: 8ch; }
button { font: inherit; border: 0; background: none; padding: 0; cursor: pointer; color: var(--vscode-textLink-foreground, #0b57a4); } button:hover { text-decoration: underline; }
.step button { color: var(--soft); font-weight: 400; }
button:focus-visible, summary:focus-visible { outline: 1px solid var(--vscode-focusBorder, Highlight); outline-offset: 1px; }
.source { border-left: 3px solid var(--own); padding: 2px 0; margin: 4px 0; overflow-x: auto; white-space: pre; background: var(--vscode-textCodeBlock-background, #8881); }
.line { color: var(--soft); } .line.marked { color: inherit; } .number { display: inline-block; width: 5ch; text-align: right; padding-right: 2ch; color: var(--soft); user-select: none; }
mark { background: color-mix(in srgb, var(--own) 28%, transparent); color: inherit; border-bottom: 2px solid var(--own); }
details { margin: 4px 0; } summary { cursor: pointer; color: var(--soft); } ol { margin: 2px 0; padding-left: 3ch; } li { overflow-wrap: anywhere; }
dl { max-width: 96ch; } dt { font-weight: 700; margin-top: 8px; } dd { margin: 0; overflow-wrap: anywhere; }
`;

/** Clicks become messages. The page makes no markup. */
const SCRIPT = `
const editor = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : { postMessage: (message) => { window.lastMessage = message; } };
for (const mark of document.querySelectorAll(".source mark")) {
  const box = mark.closest(".source");
  const over = mark.getBoundingClientRect().right - box.getBoundingClientRect().right + 20;
  if (over > 0) box.scrollLeft += over;
}
const plain = (encoded) => new TextDecoder().decode(Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0)));
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.file) {
    editor.postMessage({ open: plain(button.dataset.file), line: Number(button.dataset.line), column: Number(button.dataset.column || 0) });
  } else if (button?.dataset.copy) {
    editor.postMessage({ copy: plain(button.dataset.copy) });
  }
});
`;

module.exports = { page, prose, text };
