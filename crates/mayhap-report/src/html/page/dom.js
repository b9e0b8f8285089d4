// Building blocks of the page.
//
// Names that a program under test chose reach the document as text nodes and as values of attributes that no browser runs,
// never as markup: nothing here parses HTML, and the policy in the page's head forbids that it does.

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element. `attributes.on` holds event listeners; children are nodes or text. */
function el(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** An SVG element, see `el`. */
function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (value === true) {
      node.setAttribute(name, '');
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  add(node, ...children);
  return node;
}

/** Appends nodes and text; what is missing is left out. */
function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      node.append(child instanceof Node ? child : visible(child));
    }
  }
}

// Characters that are invisible or reverse the order of others: controls, soft hyphen, direction marks and overrides,
// zero widths, line separators, lone surrogates, tags.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** The text with every character that hides written out, as in \u{202e}. */
function visible(text) {
  return String(text).replace(UNSEEN, (c) => '\\u{' + c.codePointAt(0).toString(16) + '}');
}

/** At most `length` characters, the middle left out: names often differ at their ends. */
function shorten(text, length) {
  const shown = Array.from(visible(text));
  if (shown.length <= length) return shown.join('');
  if (length < 2) return '…'.slice(0, Math.max(length, 0));
  const head = Math.ceil((length - 1) * 0.4);
  return shown.slice(0, head).join('') + '…' + shown.slice(shown.length - (length - 1 - head)).join('');
}

/** 12,345 */
function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** "1 step", "2 steps" */
function counted(number, one, many = one + 's') {
  return grouped(number) + '\u00a0' + (number === 1 ? one : many);
}

/** Runs `draw` once before the next frame, however often it is asked for. */
function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** A button that copies `text`, and says so. */
function copyButton(text, what) {
  const label = el('span', {}, 'Copy');
  const said = el('span', { class: 'unseen', role: 'status' });
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${what}` }, label);
  button.addEventListener('click', async () => {
    const done = await copy(text);
    label.textContent = done ? 'Copied' : 'Press Ctrl+C';
    said.textContent = done ? `${what} copied` : `${what} could not be copied`;
    setTimeout(() => {
      label.textContent = 'Copy';
      said.textContent = '';
    }, 1600);
  });
  return el('span', { class: 'copier' }, button, said);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without permission to write to the clipboard, fall back to `execCommand`.
    const area = el('textarea', { class: 'unseen', readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
