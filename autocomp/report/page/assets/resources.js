// What a kernel makes of the machine: what each unit spent by cause, and how full its memories are.
const PALETTE = ["#d98943", "#c65f66", "#8d73c8", "#53a29b", "#b9a03c", "#7f8fa6", "#c177ab", "#6d9e57"];

function causeTints(units) {
  const totals = new Map();
  for (const causes of Object.values(units)) for (const [cause, cycles] of Object.entries(causes)) if (cause !== "Busy" && cycles) totals.set(cause, (totals.get(cause) ?? 0) + cycles);
  const named = [...totals].sort((a, b) => b[1] - a[1]).map(([cause], index) => [cause, PALETTE[index] ?? "var(--faint)"]);
  return new Map([["Busy", "var(--accent)"], ...named]);
}

function resourcesView(run, candidate) {
  const evaluation = run.evaluation(candidate);
  if (!evaluation?.units || !Object.keys(evaluation.units).length) return element("p", { class: "note" }, "Nothing is known of how this kernel uses the machine.");
  const [working, idle] = [true, false].map((works) => Object.entries(evaluation.units).filter(([, causes]) => Boolean(causes.Busy) === works));
  const tints = causeTints(Object.fromEntries(working));
  const bar = (causes) => [...tints].filter(([cause]) => causes[cause]).map(([cause, tint]) => element("i", { title: `${cause}: ${amount(causes[cause])} ${run.unit}, ${percent(causes[cause] / evaluation.value)}`, style: { width: `${(100 * causes[cause]) / evaluation.value}%`, background: tint } }));
  const units = working.flatMap(([unit, causes]) => [element("span", { class: "name" }, `${unit} ${percent((causes.Busy ?? 0) / evaluation.value)}`), element("div", { class: "bar" }, bar(causes))]);
  const memories = Object.entries(evaluation.memories ?? {}).flatMap(([memory, [touched, rows]]) => [
    element("span", { class: "name" }, `${memory} ${count(touched)} of ${count(rows)}`),
    element("div", { class: "bar" }, element("i", { style: { width: `${(100 * touched) / rows}%`, background: "var(--accent)" } })),
  ]);
  const known = Object.entries(evaluation.figures).map(([name, value]) => [name.replaceAll("_", " "), name === "utilisation" ? percent(value) : amount(value)]);
  return element(
    "div", {},
    element("h3", {}, `${run.unit} of each unit, by cause`), element("div", { class: "bars" }, units),
    element("div", { class: "legend" }, [...tints].map(([cause, tint]) => element("span", { style: { "--swatch": tint } }, cause))),
    idle.length ? element("p", { class: "note" }, `Without work: ${idle.map(([unit]) => unit).join(", ")}.`) : null,
    ...(memories.length ? [element("h3", {}, "Memories: what is used of each"), element("div", { class: "bars" }, memories)] : []),
    ...(known.length ? [element("h3", {}, "Figures"), facts(known)] : []),
  );
}
