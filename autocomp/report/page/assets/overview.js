// The three charts above: how the best came down, what limits each kernel, and what planners foresaw.
const AXES = {
  evaluations: { label: "evaluations (count)", of: (_, index) => index + 1 },
  seconds: { label: "time since the start (s)", of: (evaluation) => evaluation.seconds },
  tokens: { label: "tokens of models (count)", of: (evaluation) => evaluation.tokens },
  money: { label: "money (in the currency of the agents file)", of: (evaluation) => evaluation.money },
};

// Axes on which this run moves at all.
const axesOf = (run) => Object.keys(AXES).filter((name) => ["evaluations", "seconds"].includes(name) || run.evaluations.at(-1)?.[name] > 0);

const spread = (values, slack) => [Math.min(...values) / slack, Math.max(...values) * slack];
const marked = (run, candidate) => ({ id: candidate?.id, standing: candidate ? run.standing(candidate) : "none" });

function trajectory(run, name) {
  const axis = AXES[name];
  const points = [];
  const best = [];
  let top = null;
  run.evaluations.forEach((evaluation, index) => {
    if (evaluation.value == null || evaluation.stages.some((stage) => stage.status === "failed")) return;
    const x = axis.of(evaluation, index);
    points.push({ x, y: evaluation.value, ...marked(run, run.firstOf.get(index)) });
    if (run.rank(evaluation.value) < run.rank(top)) {
      if (best.length) best.push({ x, y: top });
      top = evaluation.value;
      best.push({ x, y: top });
    }
  });
  const end = axis.of(run.evaluations.at(-1) ?? { seconds: 1, tokens: 1, money: 1 }, run.evaluations.length - 1);
  best.push({ x: end, y: top });
  const { bound } = run.run;
  const start = name === "evaluations" ? 1 : 0;
  const right = end > start ? end : start + 1; // of one evaluation, the bound is a line too
  const [low, high] = points.length ? spread([...(bound ? [run.lower ? bound / 1.2 : bound * 1.2] : []), ...points.map((point) => point.y)], 1.12) : [1, 10];
  return {
    x: { scale: linear(start, right, axis.label.endsWith("(count)")), label: axis.label },
    y: { scale: logarithmic(low, high), label: run.unit === "cycles" ? "time (cycles)" : run.unit },
    lines: [
      ...(bound ? [{ points: [{ x: start, y: bound }, { x: right, y: bound }], tint: "soft", dash: [4, 4], name: "bound: nothing is faster" }] : []),
      ...(points.length ? [{ points: best, tint: "accent", weight: 2, name: "best so far" }] : []),
    ],
    points,
  };
}

function roofline(run) {
  if (!run.machine) return null;
  const { peak, bus, multiply_accumulates: work } = run.machine;
  const points = [];
  for (const [index, candidate] of run.firstOf) {
    const { value, figures } = run.evaluations[index];
    const bytes = Math.max(figures?.dram_bytes_read ?? 0, figures?.dram_bytes_written ?? 0);
    if (candidate.value && bytes && work) points.push({ x: work / bytes, y: work / value, ...marked(run, candidate) });
  }
  if (!points.length || !peak) return null;
  const ridge = bus ? peak / bus : points[0].x;
  const [left, right] = spread([ridge, ...points.map((point) => point.x)], 1.6);
  const [bottom] = spread([...points.map((point) => point.y), peak], 1.6);
  return {
    x: { scale: logarithmic(left, right), label: "multiply-accumulates per DRAM byte" },
    y: { scale: logarithmic(bottom, peak * 1.5), label: `MACs per ${run.unit.replace(/s$/, "")}` },
    lines: [
      { points: [...(bus ? [{ x: left, y: left * bus }] : []), { x: ridge, y: peak }, { x: right, y: peak }], tint: "soft", weight: 1.5, name: `roof: ${bus ? `${brief(bus)} B, ` : ""}${count(peak)} MACs a cycle` },
    ],
    points,
  };
}

// The middle of the predicted interval against the speed-up that came out.
function predictions(run) {
  const points = [];
  for (const candidate of run.candidates) {
    const gain = candidate.plan?.gain;
    const actual = run.gain(candidate);
    if (gain && actual) points.push({ x: Math.sqrt(gain[0] * gain[1]), y: actual, gain, ...marked(run, candidate) });
  }
  if (!points.length) return null;
  const [low, high] = spread(points.flatMap((point) => [point.x, point.y]), 1.15);
  const scale = logarithmic(low, high);
  return {
    x: { scale, label: "predicted speed-up (×)" },
    y: { scale, label: "measured (×)" },
    lines: [{ points: [{ x: low, y: low }, { x: high, y: high }], tint: "soft", dash: [4, 4], name: "as predicted" }],
    points,
  };
}
