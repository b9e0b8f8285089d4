// Reads a saved report and answers what the views ask of it. Nothing here knows the editor.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

/** Versions of the format that can be read: they differ in schedules, which no view shows. */
const VERSIONS = [1, 2];

/** A larger file is no report that an editor can show. */
const MOST_BYTES = 512 * 1024 * 1024;

/** Characters that would control a terminal, be invisible or change the direction of text. */
const ACTS =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Spells such characters out, as `mayhap` does: names come from the program, which may be hostile. */
function visible(text) {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return String(text).replace(ACTS, (c) => short[c] ?? `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** Reads a report; throws an error whose message says what the file is instead. */
function read(file) {
  const size = fs.statSync(file).size;
  if (size > MOST_BYTES) {
    throw new Error(`${file} is larger than any report that can be shown`);
  }
  return parse(fs.readFileSync(file, "utf8"), file);
}

function parse(text, name) {
  let report;
  try {
    report = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is not a report: ${error.message}`);
  }
  if (report?.format !== "mayhap-report") {
    const sarif = Array.isArray(report?.runs) ? "; this is SARIF" : "";
    throw new Error(`${name} is not a report${sarif}: mayhap run --save FILE writes one`);
  }
  if (!VERSIONS.includes(report.version)) {
    throw new Error(`${name} has version ${visible(report.version)} of the format; this extension reads versions ${VERSIONS.join(" and ")}`);
  }
  if (!Array.isArray(report.findings) || !report.findings.every((finding) => Array.isArray(finding?.events))) {
    throw new Error(`${name} is damaged: its findings are incomplete`);
  }
  if (report.schedules) {
    takeSchedules(report);
  }
  return report;
}

/** Gives each finding its schedules, as in version 1: version 2 has one table of steps for all of them. */
function takeSchedules(report) {
  const { of = [], rows = [], ...names } = report.schedules ?? {};
  for (const { finding, rows: recorded = [], witness = [] } of of) {
    const own = new Set([...positions(recorded), ...positions(witness)]);
    if (report.findings[finding]) {
      report.findings[finding].schedules = { ...names, rows: [...own].map((row) => rows[row]).filter(Boolean) };
    }
  }
}

/** The numbers of a list in which `[first, last]` stands for consecutive ones. */
function* positions(runs) {
  for (const run of runs) {
    const [first, last] = Array.isArray(run) ? run : [run, run];
    for (let position = first; position <= last; position++) {
      yield position;
    }
  }
}

/** The findings that count: neither suppressed nor known to the baseline. */
function shown(report) {
  return report.findings.filter((finding) => !finding.suppressed_by && finding.baseline !== "known");
}

/** What a thread is called: `main.2 "logger"`. */
function threadLabel(finding, thread) {
  const side = finding.events.find((event) => event.thread === thread && event.thread_name);
  return side ? `${thread} "${side.thread_name}"` : thread;
}

/** The shortest name that still identifies an object: `Session.refs` of `main/heap3@a.c:12:Session.refs`. */
function briefObject(object) {
  const name = object.replace(/#\d+$/u, "");
  const heap = /^[^/]*\/heap\d*@(.*)$/su.exec(name);
  if (heap) {
    const part = /:([^:]*[^:\d][^:]*)$/su.exec(heap[1]);
    return part && /^\p{Alphabetic}/u.test(part[1]) ? part[1] : `heap@${heap[1].split("/").pop()}`;
  }
  return /^(?:main\.|thread)[^/]*\/(.*::.*)$/su.exec(name)?.[1] ?? name.split(" opened at ")[0];
}

/** The name of a lock or the like, which tells blocks of one place apart: `Account#2.lock`, `heap#2@bank.c:6+8`. */
function lockName(object) {
  const heap = /^([^/]*)\/heap(\d+)@(.*)$/su.exec(object);
  if (!heap || /#\d+$/u.test(object)) {
    return object;
  }
  const [, thread, number, rest] = heap;
  const whose = thread === "main" ? "" : `${thread}/`;
  const brief = briefObject(object);
  if (brief.startsWith("heap@")) {
    return `${whose}heap#${number}@${rest.split("/").pop()}`;
  }
  const at = brief.search(/[.[+]/u);
  return at < 0 ? `${whose}${brief}#${number}` : `${whose}${brief.slice(0, at)}#${number}${brief.slice(at)}`;
}

/** A function without arguments and template arguments: `Queue::push()`. */
function functionText(name) {
  if (!name) {
    return "";
  }
  let plain = name.replace(/\(anonymous namespace\)::/gu, "");
  if (plain === "operator()" || (plain.includes("::operator()") && /\{lambda\(|::\$_/u.test(plain))) {
    return "a lambda";
  }
  const closure = /^(.*?)(?:::\{(?:closure#\d+|\{closure\})\})+$/su.exec(plain);
  if (closure) {
    return `a closure in ${functionText(closure[1])}`;
  }
  const operator = /(?:^|::)operator.*$/su.exec(plain);
  if (operator) {
    const before = plain.slice(0, operator.index).replace(/<.*>/su, "");
    const itself = /^(?:::)?operator(?:\(\)|[^(]*)/u.exec(operator[0])[0];
    return visible(`${before.split(" ").pop()}${itself}()`);
  }
  for (let shorter = ""; shorter !== plain; ) {
    shorter = plain;
    plain = plain.replace(/<[^<>]*>/u, "");
  }
  plain = plain.replace(/\(.*$/su, "").trim();
  return visible(`${plain.split(" ").pop() || name}()`);
}

const VERBS = {
  r: "reads", w: "writes", acq: "locks", racq: "locks", rel: "unlocks", rrel: "unlocks", fork: "starts", join: "joins",
  wait: "is woken by", notify: "notifies", notifyall: "notifies",
};

/** How a program ends, by the role of its last step. */
const ENDS = { "misuse of memory": "misuses memory", "end of the program": "ends the program", panic: "panics" };

/** Whether a call is in the language's own library. */
function isLibrary(frame) {
  return frame.file
    ? /^\/usr\/(local\/)?include\/|\/include\/c\+\+\/|-linux-gnu\/c\+\+\/|(^|\/)library\/(core|std|alloc|test\/src)\//u.test(frame.file)
    : /\+0x|^std::/u.test(frame.function ?? "");
}

/** What an event does: "main.1 writes `total`". */
function sideText(finding, side) {
  let verb = VERBS[side.op] ?? "passes";
  if (ENDS[side.role]) {
    return visible(`${threadLabel(finding, side.thread)} ${ENDS[side.role]}`);
  }
  if (side.role === "blocked") {
    verb = { acq: "waits for", racq: "waits for", join: "waits for the end of", wait: "waits for a notify of" }[side.op] ?? verb;
  } else if (side.op === "w" && side.frees) {
    verb = { object: "destroys", descriptor: "closes" }[side.object_kind] ?? "frees";
  } else if (side.op === "r" && side.object_kind) {
    verb = "uses";
  }
  const name = side.op === "r" || side.op === "w" ? briefObject : lockName;
  const object = side.object ? ` \`${name(side.object)}\`` : "";
  return visible(`${threadLabel(finding, side.thread)} ${verb}${object}`);
}

/** The locks that a side holds, in words. */
function locksText(side) {
  const names = (side.locks ?? []).map((lock) => `\`${lockName(lock.name)}\`${lock.shared ? " shared" : ""}`);
  return names.length ? visible(`holds ${names.join(", ")}`) : "no lock held";
}

/** The source of an event's location, `function file.c:12` or `function file.c:12:3`. Both names may contain spaces. */
function placeOf(location) {
  const found = /^(.*?):(\d+)(?::(\d+))?$/su.exec(location ?? "");
  if (!found || !found[1]) {
    return undefined;
  }
  const [, text, line, column] = found;
  const absolute = text.indexOf(" /");
  const cut = absolute >= 0 ? absolute : /[(<{]|\boperator\b/u.test(text) ? text.lastIndexOf(" ") : text.indexOf(" ");
  const name = cut < 0 ? undefined : text.slice(0, cut);
  return { function: name, file: text.slice(cut + 1), line: Number(line), column: column && Number(column) };
}

/** Where a step of a story is: the schedules have the whole location, the story only its short form. */
function stepPlace(finding, step) {
  const { rows = [], locations = [] } = finding.schedules ?? {};
  const row = rows.find((row) => row[0] === step.event);
  const side = finding.events.find((event) => event.event === step.event);
  return side?.source ?? placeOf(row && row[4] !== null ? locations[row[4]] : step.location);
}

/** `file.c:12` */
function placeText(source) {
  if (!source?.file) {
    return source?.function ? visible(source.function) : "";
  }
  return visible(source.line ? `${source.file}:${source.line}` : source.file);
}

/** The text of a source line, if the report has it. */
function sourceLine(report, file, line) {
  for (const source of report.sources ?? []) {
    const text = source.file === file ? source.lines[line - source.from] : undefined;
    if (text !== undefined) {
      return text;
    }
  }
  return undefined;
}

/** Lines around one that the report has: `[{number, text}]`. */
function excerpt(report, source, before, after) {
  const lines = [];
  for (let number = (source?.line ?? 0) - before; source?.file && number <= source.line + after; number++) {
    const text = sourceLine(report, source.file, number);
    if (text !== undefined) {
      lines.push({ number, text });
    }
  }
  return lines;
}

/** How many UTF-16 units the first `count` characters of a line take: reports count characters, editors count units. */
function units(text, count) {
  return Array.from(text).slice(0, count).join("").length;
}

/** The marked part of a side's line, from 0, in UTF-16 units: `[from, to]`. The whole line if nothing is marked. */
function columns(report, side) {
  const text = sourceLine(report, side.source?.file, side.source?.line);
  if (text === undefined) {
    const from = Math.max((side.column ?? side.source?.column ?? 1) - 1, 0);
    return [from, from];
  }
  if (side.highlight) {
    return side.highlight.map((column) => units(text, column - 1));
  }
  return [text.length - text.trimStart().length, Math.max(text.trimEnd().length, 0)];
}

/** The side whose line stands for the finding: the first one with a source. */
function primary(finding) {
  return finding.events.find((side) => side.source?.file && side.source?.line);
}

/**
 * Finds source files of a report. A path in a report is relative to the folder that the program ran in, or absolute, perhaps on
 * another machine. It is looked for in each folder, and above the first one; of an absolute path that is not there, shorter and
 * shorter ends are tried.
 */
class Sources {
  constructor(folders, exists = fs.existsSync) {
    this.exists = exists;
    this.folders = [...new Set(folders.filter(Boolean))];
    this.above = [];
    for (let folder = this.folders[0]; folder && path.dirname(folder) !== folder; folder = path.dirname(folder)) {
      this.above.push(path.dirname(folder));
    }
    this.found = new Map();
  }

  find(file) {
    if (!this.found.has(file)) {
      this.found.set(file, this.search(file));
    }
    return this.found.get(file);
  }

  search(file) {
    if (path.isAbsolute(file)) {
      if (this.exists(file)) {
        return file;
      }
      const parts = file.split("/").filter(Boolean);
      for (let from = 1; from < parts.length; from++) {
        const found = this.within(this.folders, parts.slice(from).join("/"));
        if (found) {
          return found;
        }
      }
      return undefined;
    }
    return this.within([...this.folders, ...this.above], file);
  }

  within(folders, file) {
    return folders.map((folder) => path.join(folder, file)).find((candidate) => this.exists(candidate));
  }
}

module.exports = {
  Sources, columns, excerpt, functionText, isLibrary, locksText, parse, placeOf, placeText, primary, read, shown, sideText, sourceLine, stepPlace, threadLabel, visible,
};
