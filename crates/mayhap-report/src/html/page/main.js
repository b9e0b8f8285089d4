// Connects the parts: selection, keys, theme, printing.

const report = loadReport();
const main = document.getElementById('main');
let shown = null;

const list = new FindingList(report, show);

/** Shows a finding, or that there is none; `move` takes the focus along. */
function show(index, move) {
  const finding = report.findings[index];
  document.body.dataset.view = move ? 'finding' : document.body.dataset.view;
  if (shown && finding && shown.index === index && !move) return;
  shown?.picture?.observer?.disconnect();
  list.mark(finding ? index : -1);
  if (!finding) {
    shown = null;
    main.replaceChildren(emptyView());
    return;
  }
  const { article, picture, heading } = findingView(report, finding);
  const back = el('button', { type: 'button', class: 'back', on: { click: backToList } }, '‹ All findings');
  main.replaceChildren(back, article);
  shown = { index, picture };
  main.scrollTop = 0;
  picture?.layOut();
  picture?.revealTarget();
  remember(finding.id);
  if (move) heading.focus({ preventScroll: true });
}

function backToList() {
  document.body.dataset.view = 'list';
  list.box.focus();
  list.drawNow();
}

function emptyView() {
  if (report.refutation && report.findings.length === 0) return refutationView(report, report.refutation);
  const none = report.findings.length === 0;
  return el(
    'div',
    { class: 'empty' },
    el('h2', {}, none ? 'Nothing found' : 'No finding matches'),
    el('p', {}, none ? summaryText() : 'Remove a filter, or search for something else.'),
    none && el('ul', {}, (report.notes ?? []).map((note) => el('li', {}, note))),
  );
}

function summaryText() {
  const { summary } = report;
  if (!summary.candidates) return 'There was nothing to decide.';
  const open = summary.unknown > 0 ? `, ${grouped(summary.unknown)} undecided` : '';
  return `${counted(summary.candidates, 'candidate')}: ${grouped(summary.proven)} proven, ${grouped(summary.refuted)} not implied by this run${open}.`;
}

/** Keeps the finding in the address, so that it can be linked to. */
function remember(id) {
  try {
    history.replaceState(null, '', '#' + encodeURIComponent(id));
  } catch {
    // A page without an address cannot remember the selection.
  }
}

function remembered() {
  try {
    const id = decodeURIComponent(location.hash.slice(1));
    return report.findings.findIndex((finding) => finding.id === id);
  } catch {
    return -1;
  }
}

// Theme: the system's choice until the reader chooses another.

const dark = matchMedia('(prefers-color-scheme: dark)');

function theme() {
  return document.documentElement.dataset.theme || (dark.matches ? 'dark' : 'light');
}

function toggleTheme() {
  document.documentElement.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem('mayhap-theme', document.documentElement.dataset.theme);
  } catch {
    // Storage may be disabled; the choice then lasts as long as the page is open.
  }
  tellTheme();
}

function tellTheme() {
  document.getElementById('theme').setAttribute('aria-pressed', String(theme() === 'dark'));
}

try {
  const kept = localStorage.getItem('mayhap-theme');
  if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
} catch {
  // Storage may be disabled.
}

// Keys, unless the focus is in a text field.

const help = document.getElementById('help');

const KEYS = {
  j: () => shown?.picture?.stepBy(1),
  k: () => shown?.picture?.stepBy(-1),
  g: () => shown?.picture?.goToTarget(),
  n: () => list.move(1),
  p: () => list.move(-1),
  '+': () => shown?.picture?.zoomBy(1),
  '=': () => shown?.picture?.zoomBy(1),
  '-': () => shown?.picture?.zoomBy(-1),
  0: () => shown?.picture?.fit(),
  s: () => shown?.picture?.setFolded(!shown.picture.folded),
  t: toggleTheme,
  '/': () => {
    document.body.dataset.view = 'list';
    list.search.focus();
  },
  '?': () => (help.open ? help.close() : help.showModal()),
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.('input, textarea, select')) return;
  const inPanel = event.target.closest?.('.viewport');
  const arrows = { ArrowDown: KEYS.j, ArrowUp: KEYS.k, Home: () => stepToEnd(-1), End: () => stepToEnd(1) };
  const action = (inPanel && arrows[event.key]) || KEYS[event.key];
  if (!action || (help.open && event.key !== '?')) return;
  event.preventDefault();
  action();
});

function stepToEnd(side) {
  const { order } = shown.picture.active;
  shown.picture.select(order.list[side < 0 ? 0 : order.count - 1]);
}

// Printing: the matching findings one after the other, up to a limit.

const PRINTED = 40, PRINTED_ROWS = 120;
const paper = document.getElementById('paper');

function prepareToPrint() {
  if (paper.childElementCount > 0) return;
  const findings = list.matching.slice(0, PRINTED);
  const size = { width: 980, rows: PRINTED_ROWS };
  for (const finding of findings) add(paper, findingView(report, finding, size).article);
  if (findings.length < list.matching.length) {
    add(paper, el('p', { class: 'rest' }, `${counted(list.matching.length - findings.length, 'further finding')} match; narrow the list to print them.`));
  }
}

addEventListener('beforeprint', prepareToPrint);
addEventListener('afterprint', () => paper.replaceChildren());
const printing = matchMedia('print');
printing.addEventListener('change', () => (printing.matches ? prepareToPrint() : paper.replaceChildren()));

// The page.

function headerText() {
  const { trace } = report;
  const parts = [
    counted(trace.events, 'event'),
    counted(trace.threads, 'thread'),
    counted(trace.locks, 'lock'),
    counted(trace.variables, 'variable'),
  ];
  return parts.join(' · ');
}

document.title = visible(`${counted(report.findings.length, 'finding')} in ${report.trace.path} – mayhap`);
document.getElementById('trace').textContent = visible(report.program?.length > 0 ? report.program.join(' ') : report.trace.path);
document.getElementById('figures').textContent = headerText();
document.getElementById('made-by').textContent = visible(`${report.tool.name} ${report.tool.version} · model ${report.model} · ${summaryText()}`);
add(document.getElementById('coverage'), coverageView(report.exploration));
add(document.getElementById('notes'), (report.notes ?? []).map((note) => el('li', {}, note)));
document.getElementById('theme').addEventListener('click', toggleTheme);
document.getElementById('keys').addEventListener('click', () => help.showModal());
document.getElementById('help-close').addEventListener('click', () => help.close());
document.getElementById('sidebar').replaceWith(list.root);
tellTheme();
dark.addEventListener('change', tellTheme);
addEventListener('hashchange', () => {
  const index = remembered();
  if (index >= 0) show(index, true);
});
const start = remembered();
// A list of one is no choice.
if (start >= 0 || report.findings.length === 1) document.body.dataset.view = 'finding';
show(start >= 0 ? start : 0, false);
list.drawNow();
