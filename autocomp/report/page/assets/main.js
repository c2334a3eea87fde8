// The page's state is its address (#candidate/view/compared with) and the choices above the list; everything is drawn from it.
const EVERY = 1500; // milliseconds between questions to a live server
const state = { selected: null, tab: "plan", compared: null, line: null, axis: "evaluations", text: "", outcome: "", order: "tree" };
let run = null;

const charts = {
  trajectory: new Chart(byId("trajectory"), (id) => go({ selected: id }), (point) => described(point)),
  roofline: new Chart(byId("roofline"), (id) => go({ selected: id }), (point) => described(point)),
  predictions: new Chart(byId("predictions"), (id) => go({ selected: id }), (point) => `${described(point)}, predicted ${times(point.gain[0])} to ${times(point.gain[1])}, came out ${times(point.y)}`),
};
const list = new CandidateList(byId("candidates"), (id) => go({ selected: id }));

function described({ id }) {
  const candidate = run.get(id);
  return `#${id} ${run.name(candidate)}: ${run.measured(candidate)}`;
}

// Change the address and draw what it says, at once: the next key press must find the state this one left.
function go(changes) {
  const next = { ...state, line: null, ...changes };
  const hash = `#${next.selected}/${next.tab}${next.compared == null ? "" : "/" + next.compared}`;
  if (location.hash !== hash) history.pushState(null, "", hash);
  state.line = next.line;
  readAddress();
  drawCandidate();
}

function readAddress() {
  const [selected, tab, compared] = location.hash.slice(1).split("/");
  const number = (text) => (/^\d+$/.test(text ?? "") && run.get(Number(text)) ? Number(text) : null);
  state.selected = number(selected) ?? run.best;
  state.tab = TABS.some(([id]) => id === tab) ? tab : "plan";
  state.compared = number(compared);
}

function drawCandidate() {
  const candidate = run.get(state.selected);
  list.select(state.selected);
  drawCharts();
  if (!candidate) return void byId("panel").replaceChildren(element("p", { class: "note" }, "There is no candidate yet."));
  byId("heading").replaceChildren(...headingView(run, candidate));
  for (const tab of byId("tabs").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.tab === state.tab));
    tab.tabIndex = tab.dataset.tab === state.tab ? 0 : -1;
  }
  showTab(byId(`tab-${state.tab}`));
  byId("panel").setAttribute("aria-labelledby", `tab-${state.tab}`);
  byId("panel").replaceChildren(tabView(state, run, candidate, go));
  byId("panel").scrollTop = 0;
  byId("panel").querySelector(".target")?.scrollIntoView({ block: "center" });
}

// On a narrow window the tabs are wider than their bar.
function showTab(tab) {
  const [bar, place] = [tab.parentElement, tab].map((node) => node.getBoundingClientRect());
  if (place.left < bar.left || place.right > bar.right) tab.parentElement.scrollLeft += place.left - bar.left - (bar.width - place.width) / 2;
}

let contents = {}; // of the charts, as long as run, axis and theme are the same

function drawCharts() {
  const key = [run.evaluations.length, run.candidates.length, state.axis, document.documentElement.dataset.theme].join();
  if (contents.key !== key) contents = { key, trajectory: trajectory(run, state.axis), roofline: roofline(run), predictions: predictions(run) };
  for (const [name, chart] of Object.entries(charts)) {
    const content = contents[name];
    byId(name).closest("figure").hidden = !content;
    if (!content) continue;
    chart.show(content, state.selected, state.compared);
    byId(name).setAttribute("aria-label", `${name}: ${content.points.length} candidates, ${content.y.label} over ${content.x.label}; left and right arrows select`);
  }
}

function endOf(facts) {
  if (facts.state === "finished") return facts.end;
  const live = document.body.dataset.live === "yes";
  const state = facts.state !== "interrupted" ? facts.state : live ? "not finished" : facts.end;
  return `step ${facts.step + 1}, ${state}`;
}

function drawRun() {
  const { run: facts } = run;
  byId("state").textContent = `${facts.strategy} search, seed ${facts.seed}, ${facts.created.slice(0, 16).replace("T", " ")} · ${endOf(facts)}`;
  const figures = [[facts.unit, amount(facts.best)], ["faster than naive", times(facts.gain) || "–"], ["of the bound", percent(facts.ratio)],
    ["evaluations", count(facts.evaluations)], ["candidates", count(run.candidates.length)], ["spent", duration(facts.seconds)]];
  const [nominal, ...others] = facts.conditions;
  if (nominal?.routine != null) figures.push(["vendor's routine", amount(nominal.routine)]);
  for (const condition of others) figures.push([`${facts.unit}, ${condition.name}`, amount(condition.value)]);
  if (facts.usage.money) figures.push(["money", brief(facts.usage.money)]);
  if (facts.usage.requests) figures.push(["requests", count(facts.usage.requests)], ["tokens", brief(facts.usage.prompt_tokens + facts.usage.completion_tokens)]);
  byId("figures").replaceChildren(...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  byId("about").querySelector("div").replaceChildren(...aboutView(run));
  byId("axes").replaceChildren(...axesOf(run).map((name) => element("button", { type: "button", "aria-pressed": String(name === state.axis), onclick: () => { state.axis = name; drawRun(); drawCharts(); } }, name)));
  const outcomes = new Map();
  for (const candidate of run.candidates) outcomes.set(candidate.outcome, (outcomes.get(candidate.outcome) ?? 0) + 1);
  byId("outcome").replaceChildren(element("option", { value: "" }, "all outcomes"), ...[...outcomes].map(([outcome, number]) => element("option", { value: outcome, selected: outcome === state.outcome }, `${outcome} (${number})`)));
  drawList();
}

// Everything that decides the result: the workload's file, the machine's parameters, the options, the versions.
function aboutView({ about }) {
  const part = (title, ...content) => element("section", {}, element("h3", {}, title), ...content);
  const stated = (entries) => element("p", { class: "stated" }, Object.entries(entries).filter(([, value]) => !(Array.isArray(value) && !value.length)).map(([name, value]) => element("code", {}, `${name} = ${parameter(value)}`)));
  return [
    part(`Workload ${about.workload.name}`, element("pre", {}, about.workload.text)),
    part(`Machine ${about.machine.name}`, stated(about.machine.parameters), element("p", { class: "note" }, `Digest ${about.machine.digest.slice(0, 16)}${about.machine.area == null ? "" : `, area ${amount(about.machine.area)} ${about.machine.area_note}`}`)),
    part(`Search: ${run.run.strategy}, seed ${run.run.seed}`, stated(about.options)),
    part("Versions", stated(about.versions)),
  ];
}

function drawList() {
  list.show(run, state);
  byId("count").textContent = list.rows.length === run.candidates.length ? `${count(list.rows.length)} candidates` : `${count(list.rows.length)} of ${count(run.candidates.length)} candidates`;
}

function pressed(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape" && typing) return byId("candidates").focus();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const candidate = run.get(state.selected);
  const select = (id) => id != null && go({ selected: id });
  const inTabs = event.target.closest("#tabs");
  const inPanel = event.target.closest("#panel");
  const turn = (step) => {
    const at = TABS.findIndex(([id]) => id === state.tab);
    go({ tab: TABS[(at + step + TABS.length) % TABS.length][0] });
    byId(`tab-${state.tab}`).focus();
  };
  const moves = {
    ArrowDown: () => select(list.beside(1)), ArrowUp: () => select(list.beside(-1)), PageDown: () => select(list.beside(list.page)), PageUp: () => select(list.beside(-list.page)),
    Home: () => select(list.beside(-Infinity)), End: () => select(list.beside(Infinity)),
    ArrowLeft: () => select(candidate?.parent), ArrowRight: () => select(run.children.get(state.selected)?.[0]?.id),
  };
  const commands = { b: () => select(run.best), c: () => go({ compared: state.selected }), "/": () => byId("search").focus(), "?": () => byId("help").showModal() };
  TABS.forEach(([id], index) => (commands[index + 1] = () => go({ tab: id })));
  const act = inTabs ? { ArrowLeft: () => turn(-1), ArrowRight: () => turn(1) }[event.key] ?? commands[event.key] : (!inPanel && moves[event.key]) || commands[event.key];
  if (!act) return;
  act();
  event.preventDefault();
}

// A live page asks for what is new until the search is finished or its server gone.
async function follow() {
  let version = "";
  while (run.run.state !== "finished") {
    await new Promise((resolve) => setTimeout(resolve, EVERY));
    try {
      const response = await fetch("/run", { headers: version ? { "If-None-Match": version } : {} });
      if (response.status !== 200) continue;
      version = response.headers.get("ETag");
      const followsBest = state.selected === run.best && !location.hash;
      run = new Run(await unpacked(await response.arrayBuffer()));
      drawRun();
      if (followsBest) state.selected = run.best;
      if (followsBest || !byId("heading").firstChild) drawCandidate();
      else { list.select(state.selected); drawCharts(); }
    } catch {
      byId("state").textContent += " · the server is gone";
      return;
    }
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  if (run) drawCandidate();
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  let shown = null; // the theme on the screen, while light paper is printed
  addEventListener("beforeprint", () => { shown = document.documentElement.dataset.theme; byId("about").open = true; setTheme("light"); });
  addEventListener("afterprint", () => setTheme(shown ?? "light"));
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("candidates").focus(); });
  run = new Run(await unpacked(Uint8Array.from(atob(byId("document").textContent), (letter) => letter.charCodeAt(0))));
  byId("tabs").append(...TABS.map(([id, label]) => element("button", { type: "button", role: "tab", id: `tab-${id}`, "data-tab": id, "aria-controls": "panel", onclick: () => go({ tab: id }) }, label)));
  for (const [id, name] of [["search", "text"], ["outcome", "outcome"], ["order", "order"]]) {
    byId(id).addEventListener("input", (event) => { state[name] = event.target.value; drawList(); list.select(state.selected); });
  }
  addEventListener("hashchange", () => { readAddress(); drawCandidate(); });
  addEventListener("keydown", pressed);
  readAddress();
  drawRun();
  drawCandidate();
  document.body.dataset.ready = "yes";
  if (document.body.dataset.live === "yes") follow();
}

start();
