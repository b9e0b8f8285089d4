// The report as the file carries it: names as tables, steps as columns, schedules as runs.
//
// Steps are numbered by their place in one table that all findings share, in observed order. Columns and runs are bytes in
// base64: numbers as LEB128, differences in zigzag. html/encode.rs writes them.

const OPS = ['r', 'w', 'acq', 'rel', 'racq', 'rrel', 'fork', 'join', 'wait', 'notify', 'notifyall', 'br', 'begin', 'end',
  'try', 'facq', 'fracq', 'fwait', 'fence',
];
const READ = 0, WRITE = 1, ACQUIRE = 2, RELEASE = 3, SHARED_ACQUIRE = 4, SHARED_RELEASE = 5;
const VERBS = [
  'reads', 'writes', 'locks', 'unlocks', 'locks shared', 'unlocks shared', 'starts', 'joins', 'is woken by', 'notifies', 'notifies all',
  'branches', 'begins', 'ends', 'tries', 'fails to lock', 'fails to lock shared', 'fails to take', 'passes a fence',
];
/** Where there is no room for more. */
const SHORT_VERBS = { reads: 'R', writes: 'W', locks: 'L', unlocks: 'U', 'waits for': '✗', 'locks shared': 'L⁺', 'unlocks shared': 'U⁺', 'is woken by': 'woken', notifies: 'wakes', 'notifies all': 'wakes*' };

const isAcquire = (op) => op === ACQUIRE || op === SHARED_ACQUIRE;
const isRelease = (op) => op === RELEASE || op === SHARED_RELEASE;

/** Numbers out of base64. */
class Bytes {
  constructor(text) {
    const binary = atob(text);
    this.bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) this.bytes[i] = binary.charCodeAt(i);
    this.at = 0;
  }

  get more() {
    return this.at < this.bytes.length;
  }

  number() {
    let value = 0;
    let weight = 1;
    while (this.at < this.bytes.length) {
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) break;
      weight *= 128;
    }
    return value;
  }

  signed() {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

/** A list of step numbers from runs: how far the run starts from the end of the one before, and its length. */
function decodeRuns(text, count) {
  const bytes = new Bytes(text);
  const list = new Int32Array(count);
  let at = 0;
  let next = 0;
  while (bytes.more && at < count) {
    next += bytes.signed();
    for (let left = bytes.number(); left > 0 && at < count; left--) list[at++] = next++;
  }
  return at === count ? list : list.subarray(0, at);
}

/** The steps that the pictures show. */
class Steps {
  constructor(json, names) {
    this.names = names;
    this.count = json.count;
    this.event = this.column(json.event, Float64Array);
    let last = 0;
    for (let i = 0; i < this.count; i++) this.event[i] = last += this.event[i];
    this.thread = this.column(json.thread, Int32Array);
    this.op = this.column(json.op, Uint8Array);
    // Cells of things an event may lack are shifted by one: 0 is nothing.
    this.object = this.column(json.object, Int32Array);
    this.location = this.column(json.location, Int32Array);
  }

  column(text, Type) {
    const bytes = new Bytes(text);
    const column = new Type(this.count);
    for (let i = 0; i < this.count; i++) column[i] = bytes.number();
    return column;
  }

  threadName(step) {
    return this.names.threads[this.thread[step]];
  }

  objectName(step) {
    const object = this.object[step];
    return object === 0 ? '' : this.names.objects[object - 1];
  }

  locationName(step) {
    const location = this.location[step];
    return location === 0 ? '' : this.names.locations[location - 1];
  }

  /** "queue.c:12" of "push src/queue.c:12" */
  shortLocation(step) {
    return /(?:^|[ /])([^ /]+:\d+)(?::\d+)?$/.exec(this.locationName(step))?.[1] ?? '';
  }

  verb(step) {
    return VERBS[this.op[step]] ?? OPS[this.op[step]] ?? 'passes';
  }
}

/** Reads what the file carries. */
function loadReport() {
  const report = JSON.parse(document.getElementById('report').textContent);
  report.steps = new Steps(report.steps, report.names);
  report.findings.forEach((finding, i) => {
    finding.index = i;
  });
  return report;
}
