// What a kernel makes of the machine: what each unit spent by cause, and how full its memories are.
const GOLDEN = 0.618; // of the wheel from one cause to the next: neighbours differ most
const BLUES = [235, 285]; // hues too near to that of Busy

// The colour of a cause, the same in every view: by its place in the glossary.
function causeTint(run, cause) {
  if (cause === "Busy") return "var(--accent)";
  const place = Object.keys(run.causes).indexOf(cause);
  const hue = BLUES[1] + ((0.12 + place * GOLDEN) % 1) * (360 - (BLUES[1] - BLUES[0]));
  return `oklch(${[0.7, 0.55, 0.8][place % 3]} ${place % 2 ? 0.1 : 0.15} ${(hue % 360).toFixed()})`;
}

// Causes of these units, Busy first and then by cycles, with their colours.
function causeTints(run, units) {
  const totals = new Map();
  for (const causes of Object.values(units)) for (const [cause, cycles] of Object.entries(causes)) if (cause !== "Busy" && cycles) totals.set(cause, (totals.get(cause) ?? 0) + cycles);
  const named = [...totals].sort((a, b) => b[1] - a[1]).map(([cause]) => cause);
  return new Map(["Busy", ...named].map((cause) => [cause, causeTint(run, cause)]));
}

// The causes of a legend, in the words of the glossary.
const glossary = (run, causes) => element("dl", { class: "glossary" }, causes.filter((cause) => run.causes[cause]).map((cause) => element("div", { style: { "--swatch": causeTint(run, cause) } }, element("dt", {}, cause), element("dd", {}, run.causes[cause]))));

function resourcesView(run, candidate) {
  const evaluation = run.evaluation(candidate);
  if (!evaluation?.units || !Object.keys(evaluation.units).length) return element("p", { class: "note" }, "Nothing is known of how this kernel uses the machine.");
  const [working, idle] = [true, false].map((works) => Object.entries(evaluation.units).filter(([, causes]) => Boolean(causes.Busy) === works));
  const tints = causeTints(run, Object.fromEntries(working));
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
    element("div", { class: "legend" }, [...tints].map(([cause, tint]) => element("span", { title: run.causes[cause], style: { "--swatch": tint } }, cause))),
    element("details", {}, element("summary", {}, "What the causes mean"), glossary(run, [...tints.keys()])),
    idle.length ? element("p", { class: "note" }, `Without work: ${idle.map(([unit]) => unit).join(", ")}.`) : null,
    ...(memories.length ? [element("h3", {}, "Memories: what is used of each"), element("div", { class: "bars" }, memories)] : []),
    ...(known.length ? [element("h3", {}, "Figures"), facts(known)] : []),
  );
}
