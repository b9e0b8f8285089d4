// The list of findings: filter, search, and only the entries in sight in the document.

const ENTRY = 96, MARGIN = 6;

const KINDS = {
  race: 'Data race',
  deadlock: 'Deadlock',
  atomicity: 'Atomicity',
  order: 'Order',
  nondeterminism: 'Nondeterministic read',
  crash: 'Crash',
  hang: 'Hang',
  'use-after-free': 'Use after free',
  'double-free': 'Double free',
  'null-dereference': 'Null dereference',
  uninitialised: 'Uninitialised read',
  'heap-overflow': 'Heap overflow',
  'mismatched-free': 'Mismatched free',
};
const VERDICTS = { observed: 'Observed', confirmed: 'Confirmed', proven: 'Proven', suspected: 'Suspected', note: 'Note', refuted: 'Refuted', unknown: 'Unknown' };

class FindingList {
  constructor(report, choose) {
    this.report = report;
    this.choose = choose;
    this.matching = report.findings;
    this.selected = -1;
    this.texts = report.findings.map(searchText);
    this.off = { kind: new Set(), verdict: new Set() };
    this.build();
  }

  build() {
    this.search = el('input', {
      type: 'search', id: 'search', placeholder: 'Search', 'aria-label': 'Search findings', autocomplete: 'off', spellcheck: 'false',
      on: { input: () => this.filter(), keydown: (event) => this.searchKey(event) },
    });
    this.tally = el('p', { class: 'tally', role: 'status', id: 'tally' });
    this.window = el('div', { class: 'entries' });
    this.box = el('div', {
      class: 'list', id: 'list', role: 'listbox', tabindex: '0', 'aria-label': 'Findings',
      on: { keydown: (event) => this.key(event), click: (event) => this.click(event) },
    }, this.window);
    this.draw = oncePerFrame(() => this.drawNow());
    this.box.addEventListener('scroll', this.draw, { passive: true });
    new ResizeObserver(this.draw).observe(this.box);
    this.root = el(
      'nav',
      { class: 'sidebar', 'aria-label': 'Findings' },
      el('div', { class: 'controls' }, this.search, this.chips('kind', KINDS, 'Kind'), this.chips('verdict', VERDICTS, 'Certainty'), this.tally),
      this.box,
    );
  }

  /** One switch for each value that occurs. */
  chips(field, names, label) {
    const counts = new Map();
    for (const finding of this.report.findings) counts.set(finding[field], (counts.get(finding[field]) ?? 0) + 1);
    const chips = Object.keys(names).filter((name) => counts.has(name)).map((name) => {
      const chip = el(
        'button',
        { type: 'button', class: `chip ${field}-${name}`, 'aria-pressed': 'true', 'data-filter': name },
        names[name],
        el('span', { class: 'number' }, grouped(counts.get(name))),
      );
      chip.addEventListener('click', () => {
        const off = this.off[field];
        if (!off.delete(name)) off.add(name);
        chip.setAttribute('aria-pressed', String(!off.has(name)));
        this.filter();
      });
      return chip;
    });
    return chips.length > 0 && el('div', { class: 'chips', role: 'group', 'aria-label': label }, chips);
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.matching = this.report.findings.filter((finding, i) =>
      !this.off.kind.has(finding.kind) && !this.off.verdict.has(finding.verdict) && words.every((word) => this.texts[i].includes(word)),
    );
    this.box.scrollTop = 0;
    const place = this.matching.findIndex((finding) => finding.index === this.selected);
    if (place >= 0) this.reveal(place);
    else if (this.matching.length > 0) this.choose(this.matching[0].index, false);
    else this.choose(-1, false);
    this.drawNow();
  }

  searchKey(event) {
    if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault();
      this.box.focus();
    } else if (event.key === 'Escape') {
      this.search.value = '';
      this.filter();
      this.box.focus();
    }
  }

  key(event) {
    const page = Math.max(Math.floor(this.box.clientHeight / ENTRY) - 1, 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      this.move(by);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      this.choose(this.selected, true);
    }
  }

  click(event) {
    const entry = event.target.closest('.entry');
    if (entry) this.choose(Number(entry.dataset.index), true);
  }

  /** Selects the finding so many places further down. */
  move(by) {
    if (this.matching.length === 0) return;
    const place = this.matching.findIndex((finding) => finding.index === this.selected);
    const to = Math.min(Math.max(place + by, 0), this.matching.length - 1);
    this.choose(this.matching[to].index, false);
  }

  /** Marks a finding as the one that is shown. */
  mark(index) {
    this.selected = index;
    const place = this.matching.findIndex((finding) => finding.index === index);
    if (place >= 0) this.reveal(place);
    this.draw();
  }

  reveal(place) {
    const top = place * ENTRY;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ENTRY > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ENTRY - this.box.clientHeight;
  }

  drawNow() {
    const { matching, box } = this;
    const all = this.report.findings.length;
    this.tally.textContent = matching.length === all ? counted(all, 'finding') : `${grouped(matching.length)} of ${counted(all, 'finding')}`;
    this.window.style.height = `${matching.length * ENTRY}px`;
    const first = Math.max(Math.floor(box.scrollTop / ENTRY) - MARGIN, 0);
    const last = Math.min(Math.ceil((box.scrollTop + box.clientHeight) / ENTRY) + MARGIN, matching.length);
    const entries = [];
    for (let place = first; place < last; place++) entries.push(this.entry(matching[place], place));
    this.window.replaceChildren(...entries);
    const current = entries.find((entry) => Number(entry.dataset.index) === this.selected);
    if (current) box.setAttribute('aria-activedescendant', current.id);
    else box.removeAttribute('aria-activedescendant');
  }

  entry(finding, place) {
    const entry = el(
      'div',
      {
        class: 'entry', role: 'option', id: `entry-${finding.index}`, 'data-index': finding.index,
        'aria-selected': String(finding.index === this.selected),
        'aria-posinset': place + 1, 'aria-setsize': this.matching.length,
      },
      el(
        'div',
        { class: 'tags' },
        el('span', { class: `kind kind-${finding.kind}` }, KINDS[finding.kind]),
        el('span', { class: `verdict verdict-${finding.verdict}` }, VERDICTS[finding.verdict]),
        finding.occurrences > 1 && el('span', { class: 'times' }, '×', grouped(finding.occurrences)),
      ),
      el('div', { class: 'name' }, withCode(finding.title)),
      el('div', { class: 'where' }, places(finding).join('  ↔  ')),
    );
    entry.style.top = `${place * ENTRY}px`;
    return entry;
  }
}

/** Where the events of a finding are, each place once. */
function places(finding) {
  const all = finding.events.map((side) => placeOf(side.source) || side.location || `event ${side.event}`);
  return Array.from(new Set(all));
}

/** "queue.c:41" */
function placeOf(source) {
  if (!source?.file) return '';
  return source.file.split('/').pop() + (source.line ? `:${source.line}` : '');
}

/** Everything of a finding that one may search for. */
function searchText(finding) {
  const parts = [finding.id, finding.kind, finding.verdict, finding.title];
  for (const side of finding.events) {
    parts.push(side.thread, side.object, side.location, `event ${side.event}`);
    for (const frame of [side.source, ...(side.stack ?? [])]) parts.push(frame?.function, frame?.file);
    parts.push(...side.locks);
  }
  return parts.filter(Boolean).join('\n').toLowerCase();
}

/** Text in which `this` is code. */
function withCode(text) {
  return String(text).split('`').map((part, i) => (i % 2 === 1 ? el('code', {}, part) : part));
}
