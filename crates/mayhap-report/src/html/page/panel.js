// One interleaving drawn as lanes: threads side by side, time downwards. Only the rows in sight are in the document.

const HEAD = 30, LANE = 112;
/** Room for arrows between the boxes of two lanes, in wide and in narrow ones, and between a lane's line and its boxes. */
const CHANNEL = 22, NARROW_CHANNEL = 14, EDGE = 8;
/** Lanes below this width are narrow: a phone's. */
const NARROW = 200;
/** Sizes of labels, the preferred one first; the smallest is for narrow lanes. */
const LABELS = [12, 11, 10];
/** Width of a character of 12 pixels. */
const RULE = 7.25;
/** Heights of a row in pixels. Labels need 13; below 2, steps are drawn as shades. */
const ZOOMS = [1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2, 2, 4, 8, 13, 18, 26, 36];
const DEFAULT_ZOOM = 11;
/** Browsers lay out boxes up to some 16 million pixels; longer lists scroll in proportion. */
const TALLEST = 8_000_000;

/** `:12` of `prog.c:12`. */
const lineOf = (place) => (place.includes(':') ? place.slice(place.lastIndexOf(':')) : place);

class Panel {
  /** `picture` has the mode, the zoom, the lanes and what is selected; `name` is "observed" or "possible". */
  constructor(picture, name, order, options) {
    this.picture = picture;
    this.name = name;
    this.order = order;
    this.options = options;
    this.offset = 0;
    this.drawing = svg('svg', { class: 'drawing', 'aria-hidden': 'true' });
    this.spacer = el('div', { class: 'spacer' });
    this.current = el('div', { class: 'unseen', role: 'option', id: `step-${name}`, 'aria-selected': 'true' });
    this.viewport = el(
      'div',
      { class: 'viewport', tabindex: '0', role: 'listbox', 'aria-label': options.label, 'aria-activedescendant': this.current.id },
      this.spacer,
      this.drawing,
      this.current,
    );
    this.overview = svg('svg', { class: 'overview', 'aria-hidden': 'true' });
    this.root = el(
      'section',
      { class: `panel ${name}`, 'aria-label': options.title },
      el('h4', {}, options.title, el('span', { class: 'count' }, options.count)),
      el('div', { class: 'frame' }, this.viewport, this.overview),
    );
    this.draw = oncePerFrame(() => this.drawNow());
    this.listen();
  }

  listen() {
    const { viewport } = this;
    viewport.addEventListener('scroll', () => this.scrolled(), { passive: true });
    viewport.addEventListener('wheel', (event) => this.wheeled(event), { passive: false });
    viewport.addEventListener('focus', () => this.picture.activate(this));
    viewport.addEventListener('mousemove', (event) => this.picture.hover(this.stepAt(event)));
    viewport.addEventListener('mouseleave', () => this.picture.hover(-1));
    viewport.addEventListener('click', (event) => this.clicked(event));
    this.overview.addEventListener('click', (event) => {
      const box = this.overview.getBoundingClientRect();
      this.scrollTo(((event.clientY - box.top) / box.height) * this.total - this.inner / 2);
    });
  }

  get folded() {
    return this.picture.folded;
  }

  get rowHeight() {
    return this.picture.rowHeight;
  }

  get rows() {
    return this.order.rows(this.folded);
  }

  /** Pixels of all rows, one below the other. */
  get total() {
    return Math.max(this.rows * this.rowHeight + 8, 1);
  }

  /** Pixels of rows in sight. */
  get inner() {
    return Math.max(this.viewport.clientHeight - HEAD, 1);
  }

  /** Sizes the scrolled box for the current rows. */
  layOut(height) {
    const lanes = this.picture.lanes.length;
    this.viewport.style.height = `${height}px`;
    this.width = this.viewport.clientWidth || 480;
    this.fit(this.width);
    const wide = this.picture.gutter + lanes * this.laneWidth + 8 > this.width + 1;
    this.spacer.style.width = wide ? `${this.picture.gutter + lanes * this.laneWidth + 8}px` : '100%';
    this.spacer.style.height = `${Math.min(this.total, TALLEST) + HEAD}px`;
    this.overview.style.display = this.total > this.inner ? '' : 'none';
    this.scrollTo(this.offset);
  }

  /** Chooses the width of the lanes, and the largest size at which the labels of the story fit into them. */
  fit(width) {
    const { picture, order } = this;
    this.laneWidth = Math.max(LANE, (width - picture.gutter - 8) / picture.lanes.length);
    const labels = [];
    for (let at = 0; at < order.count; at++) {
      const step = order.list[at];
      if (!picture.story[step] || picture.laneOf(step) < 0) continue;
      const [verb, object, place] = this.words(step, at >= order.ran);
      labels.push([verb.length + object.length + lineOf(place).length + 2, order.depth[at]]);
    }
    const fits = (size) => labels.every(([length, depth]) => length <= this.room(this.box(0, depth)[1], size));
    const size = LABELS.find(fits);
    this.labelSize = size ?? LABELS[this.laneWidth < NARROW ? LABELS.length - 1 : 0];
    this.abbreviates = size === undefined;
    this.root.classList.toggle('abbreviated', this.abbreviates);
  }

  get channel() {
    return this.laneWidth < NARROW ? NARROW_CHANNEL : CHANNEL;
  }

  /** Characters of a label that a box has room for. */
  room(width, size) {
    return Math.floor((width - (this.laneWidth < NARROW ? 10 : 14)) / ((RULE * size) / 12));
  }

  // `offset` is the exact position; the scroll bar follows it, or sets it when the reader moves the bar.
  get span() {
    return [Math.max(this.total - this.inner, 0), Math.max(Math.min(this.total, TALLEST) - this.inner, 0)];
  }

  scrollTo(offset) {
    const [exact, shown] = this.span;
    this.offset = Math.min(Math.max(offset, 0), exact);
    const top = exact > 0 ? (this.offset / exact) * shown : 0;
    this.expected = Math.round(top);
    this.viewport.scrollTop = top;
    this.draw();
  }

  scrolled() {
    const [exact, shown] = this.span;
    const top = this.viewport.scrollTop;
    if (Math.abs(top - this.expected) > 1) {
      this.offset = shown > 0 ? Math.min(top / shown, 1) * exact : 0;
      this.expected = Math.round(top);
    }
    this.draw();
  }

  wheeled(event) {
    if (event.ctrlKey) {
      event.preventDefault();
      this.picture.zoomBy(event.deltaY < 0 ? 1 : -1);
    } else if (this.total > TALLEST && event.deltaY !== 0) {
      // In proportion, one notch would skip rows.
      event.preventDefault();
      this.scrollTo(this.offset + event.deltaY);
    }
  }

  /** Makes a row visible. */
  reveal(row) {
    const top = row * this.rowHeight;
    const margin = Math.min(2 * this.rowHeight, this.inner / 3);
    if (top < this.offset + margin) this.scrollTo(top - margin);
    else if (top + this.rowHeight > this.offset + this.inner - margin) this.scrollTo(top + this.rowHeight - this.inner + margin);
  }

  rowAt(event) {
    const y = event.clientY - this.viewport.getBoundingClientRect().top - HEAD;
    if (y < 0) return -1;
    const row = Math.floor((y + this.offset) / this.rowHeight);
    return row < this.rows ? row : -1;
  }

  /** The step under the pointer, -1 if there is none. */
  stepAt(event) {
    const row = this.rowAt(event);
    if (row < 0 || this.order.isFold(row, this.folded)) return -1;
    const start = this.order.rowStart(row, this.folded);
    const end = this.order.rowEnd(row, this.folded);
    if (end - start === 1) return this.order.list[start];
    const x = event.clientX - this.viewport.getBoundingClientRect().left - this.picture.gutter + this.viewport.scrollLeft;
    const lane = Math.floor(x / this.laneWidth);
    for (let at = start; at < end; at++) {
      if (this.picture.laneOf(this.order.list[at]) === lane) return this.order.list[at];
    }
    return this.order.list[start];
  }

  clicked(event) {
    const row = this.rowAt(event);
    this.picture.activate(this);
    if (row < 0) return;
    if (this.order.isFold(row, this.folded)) {
      this.picture.unfold(this, this.order.list[this.order.rowStart(row, true)]);
    } else {
      this.picture.select(this.stepAt(event));
    }
  }

  // Drawing, back to front.

  drawNow() {
    const height = this.viewport.clientHeight;
    if (height === 0) return;
    const first = Math.max(Math.floor(this.offset / this.rowHeight) - 1, 0);
    const last = Math.min(Math.ceil((this.offset + height) / this.rowHeight) + 1, this.rows);
    this.paint(this.drawing, first, last, this.width, height, this.offset, this.viewport.scrollLeft);
    drawOverview(this, height);
  }

  /** All rows at once, for paper. */
  still(width, most) {
    const rows = Math.min(this.rows, most);
    this.width = width;
    this.fit(width);
    const height = rows * this.rowHeight + HEAD + 8;
    const drawing = svg('svg', { class: 'drawing still', 'aria-hidden': 'true' });
    // The end shows the finding.
    const first = this.rows - rows;
    this.paint(drawing, first, this.rows, this.picture.gutter + this.laneWidth * this.picture.lanes.length + 8, height, first * this.rowHeight, 0);
    return el('section', { class: `panel ${this.name}` }, el('h4', {}, this.options.title, el('span', { class: 'count' }, this.options.count)), drawing);
  }

  paint(drawing, first, last, width, height, offset, left) {
    Object.assign(this, { top: HEAD - offset, left });
    drawing.setAttribute('viewBox', `0 0 ${width} ${height}`);
    drawing.setAttribute('width', width);
    drawing.setAttribute('height', height);
    drawing.replaceChildren(
      ...this.stripes(height),
      ...this.marks(first, last),
      ...this.sections(first, last),
      ...this.arrows(first, last),
      ...this.pills(first, last),
      ...this.heads(width),
    );
  }

  y(row) {
    return this.top + row * this.rowHeight;
  }

  middle(row) {
    return this.y(row) + this.rowHeight / 2;
  }

  x(lane) {
    return this.picture.gutter + lane * this.laneWidth - this.left;
  }

  /** Left and width of what is drawn in a lane, `depth` sections deep. */
  box(lane, depth) {
    const inset = Math.min(depth, 7) * 4;
    return [this.x(lane) + EDGE + inset, Math.max(this.laneWidth - this.channel - EDGE - 2 * inset, 10)];
  }

  stripes(height) {
    return this.picture.lanes.map((_, lane) =>
      svg('line', { class: `lane c${lane % 8}`, x1: this.x(lane) + 2, x2: this.x(lane) + 2, y1: HEAD, y2: height }),
    );
  }

  /** The rows of the selected step, of the one pointed at, and of what is next. */
  marks(first, last) {
    const { picture, order } = this;
    const marks = [];
    const band = (row, kind) =>
      marks.push(svg('rect', { class: `band ${kind}`, x: 0, y: this.y(row), width: '100%', height: Math.max(this.rowHeight, 2) }));
    if (order.count > order.ran) band(this.rows - 1, 'next');
    for (const [step, kind] of [[picture.hovered, 'hovered'], [picture.selected, 'selected']]) {
      const at = step >= 0 ? order.positions[step] : -1;
      if (at < 0) continue;
      const row = order.rowOf(at, this.folded);
      if (row >= first && row < last) band(row, kind);
    }
    return marks;
  }

  sections(first, last) {
    if (first >= last || this.rowHeight < 4) return [];
    const { order } = this;
    const starts = order.openAt(order.rowStart(first, this.folded));
    for (let row = first; row < last; row++) {
      const [start, end] = [order.rowStart(row, this.folded), order.rowEnd(row, this.folded)];
      // Within a fold only sections that continue after it are visible.
      if (order.isFold(row, this.folded)) starts.push(...order.openAt(end).filter((at) => at >= start));
      else for (let at = start; at < end; at++) if (order.mate[at] > at) starts.push(at);
    }
    return starts.map((at) => this.section(at)).filter(Boolean);
  }

  section(at) {
    const { order, picture } = this;
    const step = order.list[at];
    const lane = picture.laneOf(step);
    if (lane < 0) return null;
    const end = order.mate[at];
    const startRow = order.rowOf(at, this.folded);
    const endRow = end < order.count ? order.rowOf(end, this.folded) : this.rows - 1;
    const [x, width] = this.box(lane, order.depth[at] - 1);
    // Far ends are clipped: browsers draw boxes of millions of pixels badly.
    const y = Math.max(this.y(startRow) + 2, -200);
    const bottom = Math.min(this.y(endRow + 1) - 2, this.viewport.clientHeight + 4000);
    const lock = picture.lockOf(step);
    return svg('rect', {
      class: `section l${lock % 6}${end >= order.count ? ' open' : ''}${picture.sameLock(step) ? ' linked' : ''}`,
      x,
      y,
      width,
      height: Math.max(bottom - y, 2),
      rx: Math.min(6, this.rowHeight / 3),
    });
  }

  /** Reads-from of the rows in sight, and who waits for whom. */
  arrows(first, last) {
    const { order, picture } = this;
    const arrows = [];
    if (this.rowHeight < 8) return arrows;
    for (let row = first; row < last; row++) {
      if (order.isFold(row, this.folded)) continue;
      for (let at = order.rowStart(row, this.folded); at < order.rowEnd(row, this.folded); at++) {
        const step = order.list[at];
        if (order.from[at] === INITIAL && picture.isChanged(step)) {
          arrows.push(this.fromBefore(row, picture.laneOf(step)));
        } else if (order.from[at] >= 0 && !(at >= order.ran && picture.kind === 'race')) {
          const kind = picture.isChanged(step) ? 'changed' : 'seen';
          const linked = picture.isLinked(step) || picture.isLinked(order.list[order.from[at]]);
          arrows.push(this.arrow(order.from[at], at, kind + (linked ? ' linked' : '')));
        } else if (at >= order.ran && isAcquire(this.picture.steps.op[step])) {
          const holder = this.holder(step);
          if (holder >= 0) arrows.push(this.arrow(at, holder, 'waits'));
        }
      }
    }
    return arrows.filter(Boolean);
  }

  /** The acquire whose open section keeps `step` waiting. */
  holder(step) {
    const { steps } = this.picture;
    const holders = this.order.openAt(this.order.ran).filter((at) => {
      const other = this.order.list[at];
      return steps.object[other] === steps.object[step] && steps.thread[other] !== steps.thread[step];
    });
    return holders.length > 0 ? holders[0] : -1;
  }

  arrow(from, to, kind) {
    const { order, picture } = this;
    const [a, b] = [picture.laneOf(order.list[from]), picture.laneOf(order.list[to])];
    if (a < 0 || b < 0) return null;
    const far = this.viewport.clientHeight + 4000;
    const y1 = Math.max(Math.min(this.middle(order.rowOf(from, this.folded)), far), -400);
    const y2 = Math.max(Math.min(this.middle(order.rowOf(to, this.folded)), far), -400);
    const left = (lane) => this.x(lane) + EDGE;
    const right = (lane) => this.x(lane) + this.laneWidth - this.channel;
    let path, tip;
    if (a === b) {
      const bow = right(a) + Math.min(14, Math.abs(y2 - y1) / 3);
      path = `M${right(a)} ${y1}C${bow} ${y1} ${bow} ${y2} ${right(b)} ${y2}`;
      tip = `M${right(b)} ${y2}l6 -3.5v7z`;
    } else {
      const forth = a < b;
      const [x1, x2] = forth ? [right(a), left(b)] : [left(a), right(b)];
      const bend = forth ? 22 : -22;
      path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
      tip = forth ? `M${x2} ${y2}l-7 -3.5v7z` : `M${x2} ${y2}l7 -3.5v7z`;
    }
    return svg('g', { class: `arrow ${kind}` }, svg('path', { class: 'shaft', d: path }), svg('path', { class: 'tip', d: tip }));
  }

  /** A read sees what was there before any write. */
  fromBefore(row, lane) {
    if (lane < 0) return null;
    const [x, y] = [this.x(lane) + this.laneWidth - this.channel, this.middle(row)];
    return svg(
      'g',
      { class: 'arrow changed' },
      svg('circle', { class: 'shaft', cx: x + 14, cy: y, r: 3.5 }),
      svg('path', { class: 'shaft', d: `M${x + 10.5} ${y}H${x + 6}` }),
      svg('path', { class: 'tip', d: `M${x} ${y}l7 -3.5v7z` }),
      svg('title', {}, 'sees the initial value'),
    );
  }

  pills(first, last) {
    if (this.rowHeight < 2) return this.shades(first, last);
    const pills = [];
    for (let row = first; row < last; row++) {
      const start = this.order.rowStart(row, this.folded);
      const end = this.order.rowEnd(row, this.folded);
      if (this.order.isFold(row, this.folded)) pills.push(this.foldMark(row, end - start));
      else for (let at = start; at < end; at++) pills.push(...this.pill(row, at));
    }
    return pills;
  }

  /** Rows thinner than a line: how much each thread does in each stretch. */
  shades(first, last) {
    const slots = Math.ceil((this.viewport.clientHeight - HEAD) / SLOT);
    const shades = densities(this, slots, first, last, this.rowHeight, this.offset);
    const box = (lane) => this.box(lane, 0);
    return shadePaths(this.picture.lanes.length, slots, shades, box, HEAD);
  }

  foldMark(row, count) {
    const label = this.rowHeight >= 13 ? `⋯ ${counted(count, 'step')} left out` : '';
    const x = this.x(0) + EDGE;
    const start = label ? x + label.length * 6.3 + 10 : this.picture.gutter;
    return svg(
      'g',
      { class: 'fold' },
      svg('line', { x1: start, x2: '100%', y1: this.middle(row), y2: this.middle(row) }),
      label && svg('text', { x, y: this.middle(row) }, label),
    );
  }

  pill(row, at) {
    const { picture, order } = this;
    const { steps } = picture;
    const step = order.list[at];
    const lane = picture.laneOf(step);
    if (lane < 0) return [];
    const next = at >= order.ran;
    const linked = picture.isLinked(step);
    const target = picture.isTarget(step);
    const [x, width] = this.box(lane, order.depth[at]);
    const kind = ['step', `c${lane % 8}`, `op-${OPS[steps.op[step]]}`];
    if (target) kind.push('target');
    if (next) kind.push('next');
    if (linked) kind.push('linked');
    const labelled = this.rowHeight >= 13;
    const gap = labelled ? 2.5 : this.rowHeight >= 8 ? 1 : 0;
    const parts = [
      svg('rect', { class: 'pill', x, y: this.y(row) + gap, width, height: Math.max(this.rowHeight - 2 * gap, 1.5), rx: labelled ? 4 : 1 }),
      svg('rect', { class: 'edge', x, y: this.y(row) + gap, width: 3, height: Math.max(this.rowHeight - 2 * gap, 1.5) }),
    ];
    if (labelled) {
      const size = Math.min(this.labelSize, Math.max(this.rowHeight - 3, 10));
      const room = this.room(width, size);
      parts.push(svg('text', { class: `label s${size}`, x: x + (this.laneWidth < NARROW ? 6 : 9), y: this.middle(row) }, ...this.label(step, next, room)));
    }
    parts.push(svg('title', {}, picture.describe(this, step)));
    const group = svg('g', { class: kind.join(' '), 'data-step': step }, parts);
    const number = labelled && (!next || at === order.ran)
      ? svg('text', { class: 'number', x: this.picture.gutter - 8, y: this.middle(row) }, next ? 'next' : String(steps.event[step]))
      : null;
    return number ? [number, group] : [group];
  }

  /** What a step does, to what, and where. */
  words(step, next) {
    const { steps } = this.picture;
    const verb = next && isAcquire(steps.op[step]) ? 'waits for' : this.picture.verb(step);
    return [verb, steps.objectName(step), steps.shortLocation(step)];
  }

  /** The label of a step. With little room the file goes first, then the verb is shortened, then the name; the line stays. */
  label(step, next, room) {
    const [verb, object, place] = this.words(step, next);
    if (object === '') return [svg('tspan', { class: 'verb' }, shorten(verb, room))];
    const line = lineOf(place);
    const long = verb.length + 1 + object.length;
    const short = this.abbreviates || long + (line && line.length + 1) > room ? SHORT_VERBS[verb] ?? verb : verb;
    const left = room - short.length - 1;
    const shown = (this.abbreviates ? [line] : [place, line]).find((text) => text && object.length + 1 + text.length <= left)
      ?? (line && left - line.length - 1 >= Math.min(object.length, 6) ? line : '');
    const name = shorten(object, Math.max(shown ? left - shown.length - 1 : left, 1));
    const parts = [svg('tspan', { class: 'verb' }, short + '\u00a0'), svg('tspan', { class: 'object' }, name)];
    if (shown) parts.push(svg('tspan', { class: 'verb' }, '\u00a0' + shown));
    return parts;
  }

  heads(width) {
    const heads = [svg('rect', { class: 'headband', x: 0, y: 0, width, height: HEAD - 2 })];
    this.picture.lanes.forEach((thread, lane) => {
      const x = this.x(lane);
      if (x > width || x + this.laneWidth < 0) return;
      const name = this.picture.threadLabel(thread);
      heads.push(
        svg(
          'g',
          { class: `head c${lane % 8}` },
          svg('rect', { class: 'dot', x: x - 2, y: HEAD / 2 - 4, width: 8, height: 8, rx: 2 }),
          svg('text', { x: x + 12, y: HEAD / 2 }, shorten(name, Math.floor((this.laneWidth - 20) / RULE))),
          svg('title', {}, name),
        ),
      );
    });
    heads.push(svg('text', { class: 'number', x: this.picture.gutter - 8, y: HEAD / 2 }, 'event'));
    return heads;
  }
}
