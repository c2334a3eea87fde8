// Two candidates side by side: figures, what each unit spent by cause, their timelines and the difference of their kernels.
// The timelines share one scale, so that lengths can be compared.
function timelinesView(run, go, ...candidates) {
  const longest = Math.max(...candidates.map((candidate) => candidate.value ?? 0));
  return element("div", {}, candidates.map((candidate) => element("div", {}, element("p", { class: "note" }, `#${candidate.id} ${run.name(candidate)}: ${run.measured(candidate)}`),
    profiledTab(run, candidate, ({ timeline }) => new TimelineView(timeline, (line) => go({ selected: candidate.id, tab: "source", line }), longest).node))));
}

function comparisonView(run, left, right, go) {
  const others = run.candidates.filter((candidate) => candidate.kernel != null && candidate.id !== left.id);
  const select = element(
    "select", { "aria-label": "Compare with", onchange: (event) => go({ compared: Number(event.target.value) }) },
    others.slice(0, 500).concat(others.slice(500).filter((candidate) => candidate.id === right?.id)).map((candidate) =>
      element("option", { value: candidate.id, selected: candidate.id === right?.id }, `#${candidate.id} ${run.name(candidate)} ${candidate.value != null ? amount(candidate.value) : candidate.outcome}`)),
  );
  const head = element("div", { class: "timeline-tools" }, element("span", {}, `#${left.id} ${run.name(left)} with`), select);
  if (!right) return element("div", {}, head, element("p", { class: "note" }, "There is nothing to compare with."));
  const [a, b] = [run.evaluation(left), run.evaluation(right)];
  const rows = [[run.unit, left.value, right.value]];
  if (a?.figures && b?.figures) {
    for (const name of Object.keys(a.figures)) rows.push([name.replaceAll("_", " "), a.figures[name], b.figures[name]]);
    for (const unit of Object.keys(a.units).filter((name) => a.units[name].Busy || b.units[name]?.Busy)) {
      for (const cause of new Set([...Object.keys(a.units[unit]), ...Object.keys(b.units[unit] ?? {})])) {
        const pair = [a.units[unit][cause] ?? 0, b.units[unit]?.[cause] ?? 0];
        if (Math.max(...pair) > 0.005 * Math.max(a.value, b.value)) rows.push([`${unit}: ${cause}`, ...pair]);
      }
    }
  }
  const signed = (x, y) => (x == null || y == null ? "" : (x - y > 0 ? "+" : "") + amount(x - y));
  const table = element(
    "table", {},
    element("tr", {}, ["figure", `#${left.id}`, `#${right.id}`, "difference"].map((text) => element("th", { scope: "col" }, text))),
    rows.map(([name, x, y]) => element("tr", {}, element("td", {}, name), element("td", {}, amount(x)), element("td", {}, amount(y)), element("td", {}, signed(x, y)))),
  );
  const texts = [run.source(right), run.source(left)];
  return element(
    "div", {}, head, element("div", { class: "scroll" }, table),
    element("h3", {}, "Timelines"), timelinesView(run, go, right, left),
    element("h3", {}, `Kernels: #${right.id} on the left, #${left.id} on the right`),
    texts.includes(null) ? element("p", { class: "note" }, "One of them has no kernel.") : besideView(...texts),
  );
}
