// Both interleavings of a finding, the recorded and the possible run. They share lanes, zoom and selection, so that a step of
// one is easily found in the other.

/** Panels grow with their rows up to this height. */
const TALL = 640;

class Picture {
  constructor(report, finding) {
    this.steps = report.steps;
    this.finding = finding;
    this.kind = finding.kind;
    this.targets = finding.targets;
    // A target that frees says so, and not that it writes.
    this.verbs = new Map(finding.targets.map((step, i) => [step, finding.does[i]]));
    this.selected = -1;
    this.hovered = -1;
    this.zoom = DEFAULT_ZOOM;
    this.panels = [];
    /** What the program called its threads. */
    this.threadNames = new Map(finding.events.filter((side) => side.thread_name).map((side) => [side.thread, side.thread_name]));
    this.prepare();
  }

  prepare() {
    const { finding, steps } = this;
    const story = new Uint8Array(steps.count);
    for (const step of decodeRuns(finding.story.runs, finding.story.count)) story[step] = 1;
    for (const step of finding.targets) story[step] = 1;
    const told = new Uint8Array(steps.names.threads.length);
    for (let step = 0; step < steps.count; step++) if (story[step]) told[steps.thread[step]] = 1;
    const orders = [];
    const order = (list, next) => {
      orders.push(new Interleaving(steps, list, next, story, told));
      return orders[orders.length - 1];
    };
    const listed = (part) => decodeRuns(part.runs, part.count);
    this.observed = order(listed(finding.observed), 0);
    if (finding.possible) {
      const ran = listed(finding.possible);
      const list = new Int32Array(ran.length + finding.next.length);
      list.set(ran);
      list.set(finding.next, ran.length);
      this.possible = order(list, finding.next.length);
    }
    // A story that leaves nothing out is shown in full.
    this.foldable = orders.some((o) => o.folds.includes(1));
    this.folded = this.foldable;
    this.story = story;
    this.changed = new Set(this.possible ? finding.changed : []);
    // A read that the finding is about and that is next sees another write by definition.
    if (this.kind === 'nondeterminism' || this.kind === 'order') {
      for (const step of finding.next) if (steps.op[step] === READ) this.changed.add(step);
    }
    // Room for the event numbers on the left.
    const largest = steps.count > 0 ? String(steps.event[steps.count - 1]) : '';
    this.gutter = Math.max(46, 16 + 6.8 * largest.length);
    this.chooseLanes();
  }

  /** Threads with a step to show. */
  chooseLanes() {
    const { steps } = this;
    const lanes = new Set();
    for (const order of [this.observed, this.possible]) {
      for (let at = 0; order && at < order.count; at++) {
        const step = order.list[at];
        if (!this.folded || this.story[step]) lanes.add(steps.thread[step]);
      }
    }
    this.lanes = Array.from(lanes).sort((a, b) => a - b);
    this.laneByThread = new Int32Array(steps.names.threads.length).fill(-1);
    this.lanes.forEach((thread, lane) => {
      this.laneByThread[thread] = lane;
    });
    this.locks = new Map();
  }

  /** A thread for people: `main.1 "uploader"`. */
  threadLabel(thread) {
    const name = this.steps.names.threads[thread];
    return this.threadNames.has(name) ? `${name} "${this.threadNames.get(name)}"` : name;
  }

  laneOf(step) {
    return this.laneByThread[this.steps.thread[step]];
  }

  /** A small number for the lock of a step, the same in both panels. */
  lockOf(step) {
    const lock = this.steps.object[step];
    if (!this.locks.has(lock)) this.locks.set(lock, this.locks.size);
    return this.locks.get(lock);
  }

  isTarget(step) {
    return this.targets.includes(step);
  }

  /** What a step does, as the finding says it. */
  verb(step) {
    return (this.steps.op[step] === WRITE && this.verbs.get(step)) || this.steps.verb(step);
  }

  /** "writes queue.head" */
  action(step) {
    const object = this.steps.objectName(step);
    return this.verb(step) + (object === '' ? '' : ' ' + object);
  }

  isLinked(step) {
    return step === this.selected || step === this.hovered;
  }

  sameLock(step) {
    const of = (other) => other >= 0 && this.steps.op[other] >= ACQUIRE && this.steps.op[other] <= SHARED_RELEASE
      && this.steps.object[other] === this.steps.object[step];
    return of(this.selected) || of(this.hovered);
  }

  /** A read that sees another write in the possible interleaving than in the observed one. */
  isChanged(step) {
    return this.changed.has(step);
  }

  get rowHeight() {
    return ZOOMS[this.zoom];
  }

  /** The step in words, for the tooltip, the line below and screen readers. */
  describe(panel, step) {
    const { steps } = this;
    const order = panel.order;
    const at = order.positions[step];
    const parts = [`event ${steps.event[step]}`, `${steps.threadName(step)}: ${this.action(step)}`];
    const location = steps.locationName(step);
    if (location) parts.push(`at ${location}`);
    if (at >= order.ran) parts.push('next, has not run');
    const held = order.heldAt(at).map((a) => steps.objectName(order.list[a]));
    if (held.length > 0) parts.push(`holds ${held.join(', ')}`);
    if (steps.op[step] === READ && !(this.kind === 'race' && at >= order.ran)) parts.push(`sees ${this.saw(order.seenAt(at))}`);
    if (this.isChanged(step)) {
      const other = order === this.observed ? this.possible : this.observed;
      const word = order === this.observed ? 'in the possible run' : 'in the recorded run';
      parts.push(`${word} ${this.saw(other.seenAt(other.positions[step]))}`);
    }
    return parts.join(' · ');
  }

  saw(step) {
    return step >= 0 ? `the write of event ${this.steps.event[step]} (${this.steps.threadName(step)})` : 'the initial value';
  }

  // The view.

  build() {
    const { finding } = this;
    const count = (part, order) => {
      const left = part.left_out ? `, ${counted(part.left_out, 'further step')} not in this file` : '';
      return counted(order.ran, 'step') + left;
    };
    const title = { observed: 'Recorded run', possible: finding.verdict === 'confirmed' ? 'Possible run, reproduced by replay' : 'Possible run' };
    this.panels.push(new Panel(this, 'observed', this.observed, {
      title: title.observed,
      label: 'Recorded interleaving, one option per step',
      count: count(finding.observed, this.observed),
    }));
    if (this.possible) {
      this.panels.push(new Panel(this, 'possible', this.possible, {
        title: title.possible,
        label: 'Possible interleaving, one option per step',
        count: count(finding.possible, this.possible),
      }));
    }
    this.active = this.panels[this.panels.length - 1];
    this.inspector = el('p', { class: 'inspector' });
    this.root = el(
      'div',
      { class: 'picture' },
      this.toolbar(),
      el('div', { class: `panels n${this.panels.length}` }, this.panels.map((panel) => panel.root)),
      this.inspector,
      this.legend(),
    );
    this.observer = new ResizeObserver(() => this.layOut());
    this.observer.observe(this.root);
    return this.root;
  }

  /** For paper: every row of the story, as far as paper goes. */
  still(width, most) {
    this.zoom = ZOOMS.indexOf(18);
    this.build();
    this.observer.disconnect();
    const each = this.panels.length > 1 ? Math.floor(width / 2) - 8 : width;
    return el('div', { class: 'picture' }, el('div', { class: `panels n${this.panels.length}` }, this.panels.map((p) => p.still(each, most))), this.legend());
  }

  toolbar() {
    const button = (label, name, action) =>
      el('button', { type: 'button', 'aria-label': name, title: name, on: { click: action } }, label);
    this.modes = [['Story', true], ['All steps', false]].map(([label, folded]) =>
      el('button', { type: 'button', class: 'mode', 'aria-pressed': String(this.folded === folded), on: { click: () => this.setFolded(folded) } }, label),
    );
    return el(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Interleavings' },
      this.foldable && el('span', { class: 'group', role: 'group', 'aria-label': 'What to show' }, this.modes),
      el(
        'span',
        { class: 'group', role: 'group', 'aria-label': 'Step through' },
        button('▲', 'Previous step (k)', () => this.stepBy(-1)),
        button('▼', 'Next step (j)', () => this.stepBy(1)),
        button('◎', 'Go to the target (g)', () => this.goToTarget()),
      ),
      el(
        'span',
        { class: 'group', role: 'group', 'aria-label': 'Zoom' },
        button('−', 'Zoom out (-)', () => this.zoomBy(-1)),
        button('+', 'Zoom in (+)', () => this.zoomBy(1)),
        button('Fit', 'Fit the whole interleaving (0)', () => this.fit()),
      ),
    );
  }

  legend() {
    const entry = (kind, text) => {
      const sample = svg('svg', { class: `sample ${kind}`, width: 26, height: 14, 'aria-hidden': 'true' });
      if (kind === 'section') add(sample, svg('rect', { class: 'section l0', x: 2, y: 1, width: 22, height: 12, rx: 4 }));
      else if (kind === 'target') add(sample, svg('g', { class: 'step target' }, svg('rect', { class: 'pill', x: 2, y: 1, width: 22, height: 12, rx: 4 })));
      else add(sample, svg('g', { class: `arrow ${kind}` }, svg('path', { class: 'shaft', d: 'M2 7H18' }), svg('path', { class: 'tip', d: 'M25 7l-7 -3.5v7z' })));
      return el('li', {}, sample, text);
    };
    return el(
      'ul',
      { class: 'legend', 'aria-label': 'Legend' },
      entry('target', 'an event of the finding'),
      entry('section', 'a lock is held'),
      entry('seen', 'a read sees a write'),
      this.kind !== 'race' && this.kind !== 'deadlock' && entry('changed', 'a read sees a different write'),
      this.kind === 'deadlock' && entry('waits', 'waits for the holder'),
      el('li', { class: 'letters' }, 'R reads, W writes, L locks, U unlocks' + (this.kind === 'deadlock' ? ', ✗ waits for' : '')),
    );
  }

  get tallest() {
    return Math.max(Math.min(TALL, window.innerHeight * 0.7), 220);
  }

  layOut() {
    // Side by side they are equally high; one above the other each is as high as it needs to be.
    const [first, last] = [this.panels[0], this.panels[this.panels.length - 1]];
    const beside = first.root.offsetTop === last.root.offsetTop;
    const most = Math.max(...this.panels.map((panel) => panel.rows));
    for (const panel of this.panels) {
      const rows = beside ? most : panel.rows;
      panel.layOut(Math.min(rows * Math.max(this.rowHeight, 18) + HEAD + 12, this.tallest));
    }
    this.say();
  }

  /** Brings the target into sight. */
  revealTarget() {
    for (const panel of this.panels) {
      const places = this.targets.map((step) => panel.order.positions[step]).filter((at) => at >= 0);
      if (places.length > 0) panel.reveal(panel.order.rowOf(Math.max(...places), this.folded));
    }
  }

  draw() {
    for (const panel of this.panels) panel.draw();
  }

  activate(panel) {
    this.active = panel;
    if (this.selected >= 0 && panel.order.positions[this.selected] < 0) this.selected = -1;
    this.say();
  }

  hover(step) {
    if (step === this.hovered) return;
    this.hovered = step;
    this.draw();
    this.say();
  }

  select(step) {
    this.selected = step;
    for (const panel of this.panels) {
      const at = panel.order.positions[step];
      if (at >= 0) panel.reveal(panel.order.rowOf(at, this.folded));
    }
    this.draw();
    this.say();
  }

  /** The next or previous step of the panel in use; folds are skipped. */
  stepBy(by) {
    const { order } = this.active;
    const shown = (at) => !this.folded || at >= order.ran || !order.isFold(order.rowOf(at, true), true);
    let at = this.selected >= 0 ? order.positions[this.selected] : by > 0 ? -1 : order.count;
    do {
      at += by;
      // A fold is crossed in one step.
      if (at >= 0 && at < order.count && !shown(at)) {
        const row = order.rowOf(at, true);
        at = by > 0 ? order.rowEnd(row, true) : order.rowStart(row, true) - 1;
      }
    } while (at >= 0 && at < order.count && !shown(at));
    if (at >= 0 && at < order.count) this.select(order.list[at]);
  }

  goToTarget() {
    const { order } = this.active;
    const there = this.targets.filter((step) => order.positions[step] >= 0);
    if (there.length > 0) this.select(there[(there.indexOf(this.selected) + 1) % there.length]);
  }

  setFolded(folded) {
    if (folded === this.folded || !this.foldable) return;
    this.folded = folded;
    this.chooseLanes();
    this.modes.forEach((mode, i) => mode.setAttribute('aria-pressed', String((i === 0) === folded)));
    this.layOut();
    if (this.selected >= 0) this.select(this.selected);
    else this.revealTarget();
  }

  unfold(panel, step) {
    this.activate(panel);
    this.selected = step;
    this.setFolded(false);
  }

  /** Zooms about the selected step, or the middle of each panel. */
  zoomBy(by) {
    const fits = (zoom) => this.panels.every((panel) => panel.rows * ZOOMS[zoom] <= panel.inner);
    const zoom = this.zoom + by;
    // There is no point in zooming beyond the size at which everything is visible and readable.
    if (zoom < 0 || zoom >= ZOOMS.length || (by < 0 && ZOOMS[zoom] < 13 && fits(this.zoom))) return;
    this.setZoom(zoom);
  }

  setZoom(zoom) {
    const anchors = this.panels.map((panel) => {
      const at = this.selected >= 0 ? panel.order.positions[this.selected] : -1;
      const row = at >= 0 ? panel.order.rowOf(at, this.folded) : (panel.offset + panel.inner / 2) / panel.rowHeight;
      return [panel, row, row * panel.rowHeight - panel.offset];
    });
    this.zoom = zoom;
    this.layOut();
    for (const [panel, row, y] of anchors) panel.scrollTo(row * this.rowHeight - y);
  }

  fit() {
    const rows = Math.max(...this.panels.map((panel) => panel.rows));
    let zoom = DEFAULT_ZOOM;
    while (zoom > 0 && rows * ZOOMS[zoom] + HEAD > this.tallest) zoom--;
    this.setZoom(zoom);
  }

  /** Puts the selected step, or the one pointed at, into words. */
  say() {
    for (const panel of this.panels) {
      const at = this.selected >= 0 ? panel.order.positions[this.selected] : -1;
      panel.current.textContent = at >= 0 ? visible(this.describe(panel, this.selected)) : '';
      panel.current.setAttribute('aria-posinset', at + 1);
      panel.current.setAttribute('aria-setsize', panel.order.count);
    }
    const step = this.hovered >= 0 ? this.hovered : this.selected;
    const panel = step >= 0 && this.active.order.positions[step] < 0 ? this.panels.find((p) => p.order.positions[step] >= 0) : this.active;
    const missing = this.panels.filter((p) => step >= 0 && p.order.positions[step] < 0).map((p) => p.name);
    const cut = missing.length > 0 && this.finding[missing[0]].left_out > 0;
    const side = missing[0] === 'observed' ? 'recorded' : missing[0];
    const suffix = missing.length === 0 ? '' : cut ? ` · not in the part of the ${side} run that this file has` : ` · does not run in the ${side} run`;
    this.inspector.textContent = step >= 0 ? visible(this.describe(panel, step) + suffix) : 'Point at a step, or move through the steps with j and k.';
  }
}
