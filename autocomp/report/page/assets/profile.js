// Where a kernel's cycles went: the critical path, what would change it, and units and memories over time.
const TELLING = 0.01; // share of the critical path from which on a segment is listed at once
const NOTABLE = 0.005; // share of the cycles from which on a stall of a loop or region is named
const LISTED = 3; // segments that are in any case

function profileView(profile, openLine) {
  if (profile.problem) return element("p", { class: "bad-text" }, profile.problem);
  const share = (cycles) => percent(cycles / profile.cycles);
  const busy = profile.units.filter((unit) => unit.causes.Busy);
  return element(
    "div", {},
    element("h3", {}, "Critical path: who held the kernel up, and where"), criticalPath(profile, openLine, share),
    ...(profile.regions.length ? [element("h3", {}, "Loops and regions"), partsTable(profile, openLine, share)] : []),
    element("h3", {}, "What if"), table(["change", "cycles", "saved"], profile.what_if.map((answer) => [answer.words, count(answer.cycles), percent(answer.saved)])),
    element("h3", {}, `Over time: each step is ${count(profile.window)} cycles`),
    element(
      "div", { class: "areas" },
      busy.map((unit) => area(`${unit.name}: busy ${share(unit.causes.Busy ?? 0)}`, unit.occupancy, 1, "busy (%)", profile, (value) => `${percent(value)} busy`)),
      profile.memories.map((memory) => area(`${memory.name}: at most ${count(Math.max(0, ...memory.live))} of ${count(memory.rows)} rows live, bank conflicts ${share(memory.conflict_cycles)}`, memory.live, memory.rows, "live rows", profile, (value) => `${count(value)} rows live`)),
    ),
    element("h3", {}, "Units busy together, of all cycles"), overlapTable(profile, busy.map((unit) => unit.name), share),
    element("h3", {}, "Operands"),
    table(["tensor", "bytes", "read", "written", "moved", "used for each move"], profile.operands.map(({ tensor, bytes, read, written, reuse }) => [tensor, count(bytes), count(read), count(written), times((read + written) / bytes), times(reuse)])),
  );
}

function table(headings, rows, kind = "") {
  return element(
    "div", { class: `scroll ${kind}` },
    element("table", {}, element("tr", {}, headings.map((text) => element("th", { scope: "col" }, text))), rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell))))),
  );
}

function criticalPath({ path, rest, cycles }, openLine, share) {
  const items = path.map((segment) =>
    element(
      "li", {},
      element("span", { class: "share", style: { "--share": segment.share.toFixed(3) }, title: `${count(segment.cycles)} of ${count(cycles)} cycles, ${count(segment.count)} times` }, percent(segment.share)),
      element("button", { type: "button", onclick: () => openLine(segment.line) }, `line ${segment.line}`),
      element("span", {}, segment.words.replace(/^line \d+: /, "")),
    ));
  const telling = Math.min(path.length, Math.max(LISTED, path.findLastIndex((segment) => segment.share >= TELLING) + 1));
  const [segments, left] = rest;
  const folded = path.slice(telling).reduce((sum, segment) => sum + segment.cycles, left);
  const more = items.length - telling + segments;
  const unlisted = segments ? element("p", { class: "note" }, `${count(segments)} more segments take ${share(left)}.`) : null;
  const others = element("details", {}, element("summary", {}, `${count(more)} more segments take ${share(folded)}`), element("ul", { class: "critical" }, items.slice(telling)), unlisted);
  return element("div", {}, element("ul", { class: "critical" }, items.slice(0, telling)), more > 0 ? others : null);
}

function partsTable({ regions, cycles }, openLine, share) {
  const spent = (causes) => Object.values(causes).reduce((sum, value) => sum + value, 0);
  const waits = (causes) => Object.entries(causes).filter(([cause, value]) => cause !== "Busy" && value >= NOTABLE * cycles).slice(0, 2).map(([cause, value]) => element("div", {}, `${cause} ${percent(value / cycles)}`));
  return table(
    ["lines", "name", "critical path", "commands", "bytes", "exposed stalls"],
    regions.map(({ first, last, depth, name, cost }) => [
      element("button", { type: "button", class: "lines", onclick: () => openLine(first) }, `${first} to ${last}`),
      element("code", { title: name, style: { "padding-left": `${depth}em` } }, name),
      share(spent(cost.path)), count(cost.commands), count(cost.bytes_read + cost.bytes_written), element("div", {}, waits(cost.path)),
    ]),
    "parts",
  );
}

function overlapTable({ overlap }, units, share) {
  const shade = (cycles) => element("span", { class: "share", style: { "--share": parseFloat(share(cycles)) / 100 } }, share(cycles));
  return table(["unit", ...units], units.map((unit) => [unit, ...units.map((other) => shade(overlap[unit][other]))]));
}

// Values over time as an area under steps, up to `highest`; `unit` names the vertical axis.
function area(label, values, highest, unit, profile, words) {
  const box = element("div", { class: "plot area", role: "img", "aria-label": label });
  const draw = () => {
    box.replaceChildren();
    const starts = [...values.map((_, index) => index * profile.window), profile.cycles];
    const axes = { x: { scale: linear(0, profile.cycles), label: "time (cycles)" }, y: { scale: linear(0, highest), label: unit }, text: highest === 1 ? (share) => count(100 * share) : brief };
    const series = [{ stroke: colour("accent"), fill: colour("accent-soft"), width: 1, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }];
    plotted(box, { ...axes, series }, [starts, [...values, values.at(-1) ?? 0]]);
  };
  box.addEventListener("mousemove", (event) => {
    const over = box.querySelector(".u-over")?.getBoundingClientRect();
    if (!over) return;
    const index = Math.max(0, Math.min(values.length - 1, Math.floor((((event.clientX - over.left) / over.width) * profile.cycles) / profile.window)));
    const start = index * profile.window;
    showTip(`cycles ${count(start)} to ${count(Math.min(profile.cycles, start + profile.window))}: ${words(values[index])}`, event);
  });
  box.addEventListener("mouseleave", () => showTip(""));
  requestAnimationFrame(draw);
  return element("div", {}, element("p", { class: "note" }, label), box);
}
