// Where the jobs of a pipeline are drawn: in columns by depth, and the lines between them. Lengths are in rem.

export const WIDTH = 15;
const GAP = 3;
const BETWEEN = 0.7;
const JOB = 3.3;
const HEAD = 1.7;
/** What a line takes that passes a column. */
const LANE = 0.6;

/**
 * { groups, lines, width, height } of the jobs. A group is a job of the file, or all rows of its matrix:
 * { key, jobs, needs, x, y, height }. A line is a list of points [x, y], two in each column.
 */
export function layOut(jobs) {
  const groups = groupsOf(jobs);
  const columns = [];
  for (const group of groups.values()) (columns[group.depth] ??= []).push(group);
  const lines = edgesOf(groups).map(([from, to]) => {
    const lanes = [];
    for (let depth = from.depth + 1; depth < to.depth; depth += 1) {
      const lane = { height: LANE, above: [lanes.at(-1) ?? from] };
      columns[depth].push(lane);
      lanes.push(lane);
    }
    return [from, ...lanes, to];
  });
  columns.forEach((column, depth) => place(column, depth * (WIDTH + GAP)));
  return {
    groups: [...groups.values()],
    lines: lines.map((stops) => stops.flatMap(pointsOf).slice(1, -1)),
    width: columns.length * (WIDTH + GAP) - GAP,
    height: Math.max(...columns.flat().map((item) => item.y + item.height)),
  };
}

function groupsOf(jobs) {
  const groups = new Map();
  for (const [key, rows] of Map.groupBy(jobs, (job) => job.key)) {
    const height = rows.length * JOB + (rows.length > 1 ? HEAD : 0);
    groups.set(key, { key, jobs: rows, needs: rows[0].needs, height });
  }
  for (const group of groups.values()) group.above = group.needs.map((key) => groups.get(key)).filter(Boolean);
  const depthOf = (group) => (group.depth ??= group.above.reduce((most, other) => Math.max(most, depthOf(other) + 1), 0));
  for (const group of groups.values()) depthOf(group);
  return groups;
}

/** Who needs whom, without what follows from the others: it would only be a longer line to the same place. */
function edgesOf(groups) {
  const reach = new Map();
  const reached = (group) => {
    if (!reach.has(group)) reach.set(group, new Set(group.above.flatMap((other) => [other, ...reached(other)])));
    return reach.get(group);
  };
  return [...groups.values()].flatMap((group) => group.above
    .filter((from) => !group.above.some((other) => other !== from && reached(other).has(from)))
    .map((from) => [from, group]));
}

/** From top to bottom, each beside what it needs. The columns before have their places. */
function place(column, x) {
  const middle = ({ above }) => above.reduce((sum, { y, height }) => sum + y + height / 2, 0) / Math.max(1, above.length);
  let y = 0;
  for (const item of column.sort((a, b) => middle(a) - middle(b))) {
    Object.assign(item, { x, y });
    y += item.height + BETWEEN;
  }
}

function pointsOf({ x, y, height }) {
  return [[x, y + height / 2], [x + WIDTH, y + height / 2]];
}
