// Source excerpts with a little colour: enough of C, C++ and Rust to tell comments, strings and keywords from the rest.

const WORDS = {
  c: 'alignas alignof asm auto break case catch class concept const consteval constexpr constinit const_cast continue '
    + 'co_await co_return co_yield decltype default delete do dynamic_cast else enum explicit export extern final for friend '
    + 'goto if inline mutable namespace new noexcept operator override private protected public register reinterpret_cast '
    + 'requires restrict return sizeof static static_assert static_cast struct switch template this thread_local throw try '
    + 'typedef typeid typename union using virtual volatile while _Atomic _Thread_local',
  rust: 'as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref '
    + 'return self Self static struct super trait type unsafe use where while yield',
};
const TYPES = 'bool char double float int long short signed unsigned void wchar_t size_t ssize_t '
  + 'u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 str String true false nullptr NULL None Some Ok Err';

const TOKENS = {
  c: /(\/\/.*|\/\*[\s\S]*?(?:\*\/|$))|(R"([^()\s]*)\([\s\S]*?(?:\)\3"|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(^[ \t]*#[ \t]*\w+)|(\b\d[\w.']*)|([A-Za-z_]\w*)/gm,
  rust: /(\/\/.*|\/\*[\s\S]*?(?:\*\/|$))|(r(#*)"[\s\S]*?(?:"\3|$)|b?"(?:\\[\s\S]|[^"\\])*"?|b?'(?:\\.[^']*|[^'\\\n])')|(^[ \t]*#!?\[[^\]]*\]?)|(\b\d[\w.]*)|('?[A-Za-z_]\w*!?)/gm,
};

/** "c", "rust", or nothing if the ending of the file says neither. */
function languageOf(file) {
  const ending = /\.([A-Za-z+]+)$/.exec(file ?? '')?.[1]?.toLowerCase();
  if (ending === 'rs') return 'rust';
  return ['c', 'h', 'cc', 'cpp', 'cxx', 'c++', 'hh', 'hpp', 'hxx', 'inc', 'ipp'].includes(ending) ? 'c' : null;
}

const wordSets = new Map();

function wordKind(language, word) {
  if (wordSets.size === 0) {
    for (const [name, words] of Object.entries(WORDS)) wordSets.set(name, new Set(words.split(' ')));
    wordSets.set('types', new Set(TYPES.split(' ')));
  }
  if (wordSets.get(language).has(word)) return 'k';
  return wordSets.get('types').has(word) || /_t$/.test(word) ? 't' : null;
}

/** The text as pieces, each with a class or none. */
function pieces(text, language) {
  if (!language) return [[text, null]];
  const found = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS[language])) {
    const kind = match[1] ? 'm' : match[2] ? 's' : match[4] ? 'p' : match[5] ? 'n' : wordKind(language, match[6]);
    if (!kind) continue;
    found.push([text.slice(end, match.index), null], [match[0], kind]);
    end = match.index + match[0].length;
  }
  found.push([text.slice(end), null]);
  return found;
}

/** Lines of pieces: one that goes over lines is cut at their ends. */
function colouredLines(lines, language) {
  const out = [[]];
  for (const [text, kind] of pieces(lines.join('\n'), language)) {
    text.split('\n').forEach((part, i) => {
      if (i > 0) out.push([]);
      if (part) out[out.length - 1].push([part, kind]);
    });
  }
  return out;
}

/** The pieces of a line, with the characters `from` up to `to`, counted from 1, marked. */
function marked(line, [from, to]) {
  const out = [];
  let at = 1;
  for (const [text, kind] of line) {
    const characters = Array.from(text);
    const cut = (place) => Math.min(Math.max(place - at, 0), characters.length);
    for (const [start, end, hit] of [[0, cut(from), ''], [cut(from), cut(to), 'hit'], [cut(to), characters.length, '']]) {
      if (start < end) out.push([characters.slice(start, end).join(''), [kind, hit].filter(Boolean).join(' ')]);
    }
    at += characters.length;
  }
  return out;
}

/** An excerpt with its line numbers; `here` is the line that the finding is about, `highlight` the part of it. */
function excerptView(excerpt, here, highlight, label) {
  const lines = colouredLines(excerpt.lines, languageOf(excerpt.file));
  const box = el(
    'pre',
    { class: 'source', tabindex: '0', role: 'group', 'aria-label': `Source of ${visible(label)}` },
    lines.map((line, i) => {
      const number = excerpt.first + i;
      const parts = number === here && highlight ? marked(line, highlight) : line;
      return el(
        'div',
        { class: number === here ? 'line here' : 'line' },
        el('span', { class: 'at' }, String(number)),
        el('code', {}, parts.length > 0 ? parts.map(([text, kind]) => (kind ? el('span', { class: kind }, text) : text)) : '\u00a0'),
        number === here && el('span', { class: 'unseen' }, ' (this line)'),
      );
    }),
  );
  requestAnimationFrame(() => showHit(box));
  return box;
}

/** Scrolls what is marked into view. */
function showHit(box) {
  const hit = box.querySelector('.hit');
  if (!hit) return;
  const [inner, outer] = [hit.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.right > outer.right - 20) box.scrollLeft += inner.left - outer.left - outer.width / 2;
}
