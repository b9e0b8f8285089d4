// Interleavings as an overview: shades show how much each thread does in each stretch. Used for rows too thin to draw one by
// one, and for the strip next to a panel that shows the whole interleaving, its target and the visible part.

const STRIP = 26, SLOT = 2, SHADES = 4;

/** Steps of each lane in each slot of `SLOT` pixels, as shades 0 to `SHADES`; rows are `height` pixels, scrolled by `offset`. */
function densities(panel, slots, first, last, height, offset) {
  const { order, picture, folded } = panel;
  const lanes = picture.lanes.length;
  const counts = new Uint32Array(slots * lanes);
  for (let row = first; row < last; row++) {
    if (folded && order.isFold(row, true)) continue;
    const lane = picture.laneOf(order.list[order.rowStart(row, folded)]);
    if (lane < 0) continue;
    const y = row * height - offset;
    const from = Math.max(Math.floor(y / SLOT), 0);
    const to = Math.min(Math.max(Math.floor((y + height) / SLOT), from + 1), slots);
    for (let slot = from; slot < to; slot++) counts[slot * lanes + lane]++;
  }
  let most = 1;
  for (const count of counts) most = Math.max(most, count);
  return counts.map((count) => Math.ceil((count / most) * SHADES));
}

/** One path per lane and shade. `box` is where a lane is: left and width. */
function shadePaths(lanes, slots, shades, box, top) {
  const paths = [];
  for (let lane = 0; lane < lanes; lane++) {
    const [x, width] = box(lane);
    for (let shade = 1; shade <= SHADES; shade++) {
      let path = '';
      for (let slot = 0; slot < slots; slot++) {
        if (shades[slot * lanes + lane] === shade) path += `M${x} ${top + slot * SLOT}h${width}v${SLOT}h${-width}z`;
      }
      if (path) paths.push(svg('path', { class: `density c${lane % 8} s${shade}`, d: path }));
    }
  }
  return paths;
}

/** Draws the strip of a panel; what does not change with scrolling is kept. */
function drawOverview(panel, height) {
  const strip = panel.overview;
  const key = [height, panel.folded, panel.rows].join();
  if (panel.overviewKey !== key) {
    panel.overviewKey = key;
    for (const [name, value] of [['viewBox', `0 0 ${STRIP} ${height}`], ['width', STRIP], ['height', height]]) {
      strip.setAttribute(name, value);
    }
    const slots = Math.max(Math.floor(height / SLOT), 1);
    const lanes = panel.picture.lanes.length;
    const width = (STRIP - 4) / lanes;
    const shades = densities(panel, slots, 0, panel.rows, height / panel.rows, 0);
    panel.window = svg('rect', { class: 'window', x: 0.5, width: STRIP - 1, rx: 3 });
    strip.replaceChildren(
      ...shadePaths(lanes, slots, shades, (lane) => [2 + lane * width, width], 0),
      ...targetTicks(panel, height),
      panel.window,
    );
  }
  const scale = height / panel.total;
  panel.window.setAttribute('y', Math.min(panel.offset * scale, height - 3));
  panel.window.setAttribute('height', Math.max(Math.min(panel.inner, panel.total) * scale, 3));
}

function targetTicks(panel, height) {
  const { order, picture, folded } = panel;
  const positions = picture.targets.map((step) => order.positions[step]).filter((at) => at >= 0);
  return positions.map((at) => {
    const y = Math.min(((order.rowOf(at, folded) + 0.5) / panel.rows) * height, height - 2);
    return svg('line', { class: 'tick', x1: 0, x2: STRIP, y1: y, y2: y });
  });
}
