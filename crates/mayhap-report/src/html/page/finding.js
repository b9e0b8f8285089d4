// One finding, from the claim down to the evidence.

/** The article about a finding. With `paper`, everything is unfolded and nothing moves. */
function findingView(report, finding, paper = null) {
  const heading = el('h2', { tabindex: '-1', id: paper ? null : 'title' }, withCode(finding.title));
  const article = el(
    'article',
    { class: 'finding', 'aria-labelledby': paper ? null : 'title' },
    el('div', { class: 'tags' },
      el('span', { class: `kind kind-${finding.kind}` }, KINDS[finding.kind]),
      el('span', { class: `verdict verdict-${finding.verdict}` }, VERDICTS[finding.verdict]),
      finding.severity && el('span', { class: 'severity' }, finding.severity),
      finding.baseline && el('span', { class: 'severity' }, finding.baseline === 'new' ? 'new' : 'in the baseline'),
    ),
    heading,
    finding.message && el('p', { class: 'message' }, withCode(finding.message)),
  );
  // The interleaving is what convinces: it comes first.
  const picture = finding.observed ? new Picture(report, finding) : null;
  if (picture) {
    const drawing = paper ? picture.still(paper.width, paper.rows) : picture.build();
    add(article, el('h3', {}, 'How it happens'), drawing, trimmedView(report, finding), stepsView(picture, paper));
  }
  const said = (label, text) => text && el('p', { class: 'why' }, el('strong', {}, `${label}. `), withCode(text));
  add(article,
    el('div', { class: 'said' }, said('Why', finding.why), finding.life?.length > 0 && lifeView(finding.life, paper), said('Verdict', finding.certainty), said('Fix', finding.fix),
      finding.tests?.length > 0 && said(finding.tests.length > 1 ? 'Tests' : 'Test', finding.tests.join(', ')),
      finding.suppressed_by && said('Suppressed by', finding.suppressed_by)),
    el('div', { class: `sides n${Math.min(finding.events.length, 3)}` }, finding.events.map((side) => sideView(report, finding, side, paper))));
  add(article, el('h3', {}, 'Try it yourself'), commandsView(report, finding), factsView(finding));
  return { article, picture, heading };
}

/** The life of the memory: each moment with its place, and the stacks where they are known. */
function lifeView(life, paper) {
  return el(
    'ol',
    { class: 'life', 'aria-label': 'The life of the memory' },
    life.map((moment) => el('li', {},
      moment.what === 'ended' && `${moment.thread || 'the thread'} `, el('b', {}, moment.what === 'left' ? 'its function returned' : moment.what),
      moment.what !== 'ended' && moment.thread ? ` ${({ shared: 'with', left: 'in' })[moment.what] ?? 'by'} ${moment.thread}` : '',
      moment.place && el('span', { class: 'path' }, ` at ${moment.place}`),
      moment.stack?.length > 1 && stackView('Stack', moment.stack, paper),
    )),
  );
}

/** One event of the finding: who, what, where, under which locks. */
function sideView(report, finding, side, paper) {
  const source = side.source ?? {};
  const excerpt = side.excerpt === undefined || side.excerpt === null ? null : report.excerpts[side.excerpt];
  const place = source.file ? `${source.file}${source.line ? ':' + source.line : ''}` : side.location ?? '';
  const name = source.function ?? place;
  const stack = side.stack ?? [];
  return el(
    'section',
    { class: 'side', 'aria-label': `${side.role || 'event'}: ${visible(side.thread)} ${side.does} ${visible(side.object)}` },
    el('header', {},
      side.role && el('span', { class: 'role' }, side.role),
      el('p', { class: 'act' }, el('b', { class: 'thread' }, side.thread), side.thread_name ? ` "${side.thread_name}"` : '', ' ', side.does, ' ', side.object && el('code', {}, side.object)),
      el('p', { class: 'place' }, source.function && el('span', {}, source.function, ' — '), el('span', { class: 'path' }, place), el('span', { class: 'event' }, `event ${side.event}`)),
    ),
    excerpt && excerptView(excerpt, source.line, side.highlight, name),
    el('dl', { class: 'held' },
      el('dt', {}, 'Locks held'),
      el('dd', {}, side.locks.length > 0 ? side.locks.map((lock) => el('span', { class: 'lock' }, withCode(lock))) : el('span', { class: 'none' }, 'none')),
    ),
    stack.length > 1 && stackView('Stack', stack, true),
    side.created && createdView(side.created, paper),
  );
}

/** A stack; calls within libraries share a line, which unfolds. */
function stackView(label, stack, open) {
  const view = (frame) => el('li', {}, el('code', {}, frame.function ?? '?'), el('span', { class: 'path' }, place(frame), frame.inlined && ' (inlined)'));
  const runs = [];
  for (const frame of stack) {
    const last = runs[runs.length - 1];
    if (frame.foreign && last?.[0].foreign) last.push(frame);
    else runs.push([frame]);
  }
  const lines = runs.map((run) => (run.length === 1 ? view(run[0])
    : el('li', { class: 'within' }, el('details', { open: open === 'all' }, el('summary', {}, `… ${run.length} calls within libraries`), el('ol', {}, run.map(view))))));
  return el('details', { class: 'stack', open: Boolean(open) }, el('summary', {}, label), el('ol', {}, lines));
}

function place(frame) {
  return frame.file ? `${frame.file}${frame.line ? ':' + frame.line : ''}` : '';
}

function createdView(created, paper) {
  const label = visible(created.words);
  if (!(created.stack?.length > 1)) return el('p', { class: 'created' }, label);
  return stackView(label, created.stack, paper);
}

/** What the picture leaves out of long schedules, and where the rest is. */
function trimmedView(report, finding) {
  const left = Math.max(finding.observed.left_out ?? 0, finding.possible?.left_out ?? 0);
  if (left === 0) return null;
  const again = checkCommand(report, finding);
  return el('p', { class: 'trimmed' },
    `Only the steps around the target are in this file; up to ${counted(left, 'further step')} of an interleaving are left out. `,
    finding.witness_file && ['The whole schedule is in ', el('code', {}, finding.witness_file), '. '],
    again && ['For a page with more steps, run ', el('code', {}, `${again} --html ${finding.kind}.html`)]);
}

/** The picture as tables: for screen readers, for search, and for copying. */
function stepsView(picture, paper) {
  const most = paper ? paper.rows : 400;
  const fill = (box) => {
    for (const panel of picture.panels) add(box, stepsTable(picture, panel, most));
  };
  if (paper) return null;
  const box = el('div', { class: 'tables' });
  const details = el('details', { class: 'as-text' }, el('summary', {}, 'The same as text'), box);
  details.addEventListener('toggle', () => {
    if (details.open && box.childElementCount === 0) fill(box);
  });
  return details;
}

function stepsTable(picture, panel, most) {
  const { order } = panel;
  const { steps } = picture;
  const folded = picture.foldable;
  const rows = order.rows(folded);
  const body = el('tbody');
  const first = Math.max(rows - most, 0);
  for (let row = first; row < rows; row++) {
    const [start, end] = [order.rowStart(row, folded), order.rowEnd(row, folded)];
    if (order.isFold(row, folded)) {
      add(body, el('tr', { class: 'fold' }, el('td', { colspan: 5 }, `${counted(end - start, 'step')} left out`)));
      continue;
    }
    for (let at = start; at < end; at++) {
      const step = order.list[at];
      const sees = steps.op[step] === READ && !(picture.kind === 'race' && at >= order.ran) ? `sees ${picture.saw(order.seenAt(at))}` : '';
      const notes = [at >= order.ran && 'next, has not run', picture.isTarget(step) && 'part of the finding', sees, picture.isChanged(step) && 'sees a different write in the other interleaving'];
      add(body, el('tr', { class: picture.isTarget(step) ? 'target' : null },
        el('td', { class: 'number' }, String(steps.event[step])), el('td', {}, steps.threadName(step)), el('td', {}, picture.action(step)),
        el('td', {}, steps.locationName(step)), el('td', {}, notes.filter(Boolean).join('; '))));
    }
  }
  const head = ['Event', 'Thread', 'Step', 'Location', 'Notes'].map((name) => el('th', { scope: 'col' }, name));
  const caption = `${panel.options.title}${first > 0 ? `, the last ${counted(most, 'line')} of ${grouped(rows)}` : ''}`;
  return el('table', {}, el('caption', {}, caption), el('thead', {}, el('tr', {}, head)), body);
}

/** A question whose answer is no: what was asked, and the orders that lead back to where they began. */
function refutationView(report, refutation) {
  const { cycle, premises } = refutation;
  const premiseView = (premise, i) => el('li', { id: `premise-${i}` },
    el('b', {}, `[${letter(i)}] `), premise.order, el('p', {}, 'because the opposite order is impossible:'),
    premise.given && el('p', { class: 'reason' }, premise.given),
    premise.because.length > 0 && el('ol', {}, premise.because.map(neededView)));
  return el(
    'article',
    { class: 'finding refutation', 'aria-labelledby': 'title' },
    el('div', { class: 'tags' },
      el('span', { class: `kind kind-${refutation.kind}` }, KINDS[refutation.kind]),
      el('span', { class: 'verdict verdict-refuted' }, VERDICTS.refuted)),
    el('h2', { tabindex: '-1', id: 'title' }, 'This cannot happen'),
    el('p', { class: 'why' }, `No reordering of this run reaches it: ${refutation.reason}.`),
    el('div', { class: `sides n${Math.min(refutation.events.length, 3)}` }, refutation.events.map((side) => sideView(report, refutation, side, null))),
    cycle.length > 0 && [
      el('h3', {}, 'Why it cannot happen'),
      el('p', {}, 'It would need all of these orders, and they form a cycle:'),
      el('ol', { class: 'cycle' }, cycle.map(neededView)),
    ],
    premises.length > 0 && [el('h3', {}, 'Why the derived orders hold'), el('ul', { class: 'premises' }, premises.map(premiseView))],
  );
}

/** One event before another, and why. */
function neededView(step) {
  const derived = step.premise !== undefined && step.premise !== null;
  const see = derived && el('a', { href: `#premise-${step.premise}` }, ` [${letter(step.premise)}]`);
  return el('li', {}, step.order, el('p', { class: 'reason' }, step.reason, see));
}

/** `A`, `B`, … `Z`, `A2`, … */
function letter(index) {
  return 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[index % 26] + (index < 26 ? '' : String(Math.floor(index / 26) + 1));
}

function commandsView(report, finding) {
  const commands = [];
  const command = (label, text) => commands.push(el('div', { class: 'command' }, el('span', { class: 'label' }, label), el('code', { tabindex: '0' }, text), copyButton(text, `the command: ${label}`)));
  const words = (finding.replay_command ?? '').split(' ');
  if (finding.replay_command && words[1] !== 'check') command(runsAgain(finding) ? 'Run again' : 'Replay', finding.replay_command);
  const again = checkCommand(report, finding);
  if (again) command('Check again', again);
  if (finding.fingerprint) command('Suppress', `fingerprint:${finding.fingerprint}`);
  return el('div', { class: 'commands' }, commands);
}

/** How many events `mayhap check` wants to know of each kind that it decides; 0: any number. */
const ASKED = { race: 2, 'use-after-free': 2, deadlock: 0, atomicity: 3, nondeterminism: 3 };

/** The `mayhap check` command that asks about the finding, if there is one and the trace was kept. */
function checkCommand(report, finding) {
  const events = finding.events.map((side) => side.event);
  const asked = ASKED[finding.kind];
  if (asked === undefined || (asked > 0 && events.length !== asked) || finding.engine === 'none' || runsAgain(finding)) return null;
  return `mayhap check ${shellWord(report.trace.path)} --${finding.kind} ${events.join(',')} --witness ${finding.kind}.json`;
}

/** What runs the program again, since no trace was kept. */
function runsAgain(finding) {
  return ['run', 'demo'].includes((finding.replay_command ?? '').split(' ')[1]);
}

function shellWord(text) {
  return /^[\w./+,:@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function factsView(finding) {
  const facts = [
    ['Id', finding.id],
    finding.occurrences > 1 && ['Instances in the trace', grouped(finding.occurrences)],
    finding.distance > 0 && ['Events apart', grouped(finding.distance)],
    ['Engine', finding.engine],
    ['Model', finding.model],
    finding.replay && ['Replayed', `reproduced in ${finding.replay.confirmed} of ${finding.replay.runs}`],
    finding.replay?.effect && ['Effect', finding.replay.effect],
    finding.replay?.diverged && ['Diverged', finding.replay.diverged],
    finding.replay?.blocked && ['Waits', `${finding.replay.blocked.thread} ${finding.replay.blocked.how}: ${finding.replay.blocked.stack.join(' < ')}`],
  ];
  return el('dl', { class: 'facts' }, facts.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}
