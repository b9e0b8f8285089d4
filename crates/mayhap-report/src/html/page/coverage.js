// How exploring went: different executions against schedules, as a small chart.

const CHART = { width: 320, height: 120, left: 44, right: 10, top: 8, bottom: 24 };

/** The chart, folded under its caption; null if nothing was gone through. */
function coverageView(exploration) {
  const points = exploration?.coverage ?? [];
  if (points.length === 0) return null;
  const { width, height, left, right, top, bottom } = CHART;
  const [runs, executions] = points[points.length - 1];
  const x = (run) => left + (run / Math.max(runs, 1)) * (width - left - right);
  const y = (count) => height - bottom - (count / Math.max(executions, 1)) * (height - top - bottom);
  let path = `M${x(0)} ${y(0)}`;
  for (const [run, count] of points) path += `H${x(run).toFixed(1)}V${y(count).toFixed(1)}`;
  const label = (text, at) => svg('text', at, text);
  const caption = `${counted(executions, 'distinguishable execution')} after ${counted(runs, 'schedule')}${coverageEnd(exploration)}`;
  const chart = svg(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': `Executions against schedules: ${caption}` },
    svg('path', { class: 'axis', d: `M${left} ${top}V${height - bottom}H${width - right}` }),
    svg('path', { class: 'growth', d: path }),
    label(grouped(executions), { x: left - 6, y: top + 8, 'text-anchor': 'end' }),
    label('0', { x: left - 6, y: height - bottom, 'text-anchor': 'end' }),
    label('schedules', { x: left, y: height - 6 }),
    label(grouped(runs), { x: width - right, y: height - 6, 'text-anchor': 'end' }),
  );
  return el('details', { class: 'coverage' }, el('summary', {}, caption), chart);
}

function coverageEnd(exploration) {
  if (exploration.complete) return ': these are all.';
  const open = exploration.open > 0 ? `; ${counted(exploration.open, 'order')} known to be worth a run and not run` : '';
  return `${open}.`;
}
