// One interleaving: a list of steps, some of which have not run but are next.
//
// A *position* is a place in the list; a *row* is a line of the picture. In the story only the steps that matter have a row
// each, and the steps between two of them share one, a *fold*. The steps that are next share the last row: none of them has
// run. Everything is stored in arrays of numbers, so that a million steps take tens of megabytes and a fraction of a second.

const NOT_A_READ = -2, INITIAL = -1;
/** Positions between two snapshots of the open critical sections. */
const SNAPSHOT = 2048;
/** Fewer steps than this are not folded. */
const FOLD = 3;

class Interleaving {
  /**
   * `list`: steps in their order; the last `next` of them are next. `story`: 1 for each step of the table that matters;
   * `told`: 1 for each thread that does such a step.
   */
  constructor(steps, list, next, story, told) {
    this.steps = steps;
    this.list = list;
    this.count = list.length;
    this.ran = this.count - next;
    this.positions = new Int32Array(steps.count).fill(-1);
    for (let at = 0; at < this.count; at++) this.positions[list[at]] = at;
    this.analyse();
    this.fold(story, told);
  }

  /** Which write each read sees, and which positions each critical section spans. */
  analyse() {
    const { steps, list, count } = this;
    this.from = new Int32Array(count).fill(NOT_A_READ);
    this.mate = new Int32Array(count).fill(-1);
    // Sections that a position is in, its own counted for acquires and releases.
    this.depth = new Uint8Array(count);
    this.snapshots = [];
    const lastWrite = new Map();
    const open = new Map();
    for (let at = 0; at < count; at++) {
      if (at % SNAPSHOT === 0) this.snapshots.push(Array.from(open.values()).flat());
      const step = list[at];
      const op = steps.op[step];
      const held = open.get(steps.thread[step]) ?? [];
      this.depth[at] = Math.min(held.length + (isAcquire(op) && at < this.ran), 255);
      if (op === READ) {
        this.from[at] = lastWrite.get(steps.object[step]) ?? INITIAL;
      } else if (at >= this.ran) {
        continue;
      } else if (op === WRITE) {
        lastWrite.set(steps.object[step], at);
      } else if (isAcquire(op)) {
        this.mate[at] = count;
        held.push(at);
        open.set(steps.thread[step], held);
      } else if (isRelease(op)) {
        this.close(at, held);
      }
    }
  }

  close(at, held) {
    const { steps, list } = this;
    for (let i = held.length - 1; i >= 0; i--) {
      if (steps.object[list[held[i]]] === steps.object[list[at]]) {
        this.mate[held[i]] = at;
        this.mate[at] = held[i];
        held.splice(i, 1);
        return;
      }
    }
  }

  /** Positions of the acquires whose sections are open just before a position. */
  openAt(position) {
    const slot = Math.min(Math.floor(position / SNAPSHOT), this.snapshots.length - 1);
    if (slot < 0) return [];
    const open = this.snapshots[slot].filter((at) => this.mate[at] >= position);
    for (let at = slot * SNAPSHOT; at < position; at++) {
      if (isAcquire(this.steps.op[this.list[at]]) && this.mate[at] >= position) open.push(at);
    }
    return open;
  }

  /** Positions of the acquires whose sections the thread of this position is in. */
  heldAt(position) {
    const thread = this.steps.thread[this.list[position]];
    return this.openAt(position).filter((at) => this.steps.thread[this.list[at]] === thread);
  }

  /** The step that the read at this position sees; `INITIAL` if none wrote before. */
  seenAt(position) {
    const from = this.from[position];
    return from >= 0 ? this.list[from] : from;
  }

  /** Lays out the rows of the story. A few steps are not worth folding, unless their threads have no lane to show them in. */
  fold(story, told) {
    const starts = [];
    const folds = [];
    for (let at = 0; at < this.ran; ) {
      let end = at;
      let untold = false;
      while (end < this.ran && !story[this.list[end]]) {
        untold ||= !told[this.steps.thread[this.list[end]]];
        end++;
      }
      if (end - at >= FOLD || untold) {
        starts.push(at);
        folds.push(1);
        at = end;
      } else {
        for (end = Math.max(end, at + 1); at < end; at++) {
          starts.push(at);
          folds.push(0);
        }
      }
    }
    if (this.count > this.ran) {
      starts.push(this.ran);
      folds.push(0);
    }
    this.starts = Int32Array.from(starts);
    this.folds = Uint8Array.from(folds);
  }

  /** How many rows there are. */
  rows(folded) {
    return folded ? this.starts.length : this.ran + (this.count > this.ran ? 1 : 0);
  }

  /** The first position of a row. */
  rowStart(row, folded) {
    return folded ? this.starts[row] : row;
  }

  /** The position after the last one of a row. */
  rowEnd(row, folded) {
    const start = this.rowStart(row, folded);
    if (start >= this.ran) return this.count;
    return folded && row + 1 < this.starts.length ? this.starts[row + 1] : folded ? this.ran : row + 1;
  }

  /** The row that shows a position. */
  rowOf(position, folded) {
    const at = Math.min(position, this.ran);
    if (!folded) return at;
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** A row that stands for steps that are not shown. */
  isFold(row, folded) {
    return folded && this.folds[row] === 1;
  }
}
