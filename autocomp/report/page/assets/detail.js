// One candidate: what was planned, what came of it, and its views.
const TABS = [["plan", "Plan"], ["changes", "Changes"], ["source", "Source"], ["resources", "Resources"], ["profile", "Profile"], ["timeline", "Timeline"], ["compare", "Compare"], ["exchanges", "Exchanges"]];

function headingView(run, candidate) {
  const standing = run.standing(candidate);
  const tone = { best: "good", good: "good", fair: "fair", bad: "bad", none: "soft" }[standing];
  return [
    element("h2", {}, `#${candidate.id} ${run.name(candidate)}`),
    element("span", { class: `${tone}-text` }, standing === "best" ? "best" : candidate.outcome),
    ...(candidate.value != null ? [element("strong", {}, run.measured(candidate))] : []),
    ...(run.ratio(candidate.value) != null ? [element("span", { class: "note" }, percent(run.ratio(candidate.value)) + " of the bound")] : []),
  ];
}

// A plan's parameter in words: lists and named sizes without their brackets.
const parameter = (value) => {
  if (Array.isArray(value)) return value.map(parameter).join(", ");
  return value && typeof value === "object" ? Object.entries(value).map(([name, inner]) => `${name} ${parameter(inner)}`).join(", ") : String(value);
};

function planView(run, candidate, choose) {
  const { plan } = candidate;
  const evaluation = run.evaluation(candidate);
  const chain = run.ancestry(candidate.id).flatMap((ancestor, index) => [
    ...(index ? ["›"] : []),
    element("button", { type: "button", "aria-pressed": String(ancestor.id === candidate.id), onclick: () => choose(ancestor.id) }, `${run.name(ancestor)}${ancestor.value != null ? " " + brief(ancestor.value) : ""}`),
  ]);
  const gain = run.gain(candidate);
  const pairs = [["step", candidate.step]];
  if (plan) pairs.push(["author", plan.author]);
  if (gain) pairs.push(["speed-up over its parent", times(gain)]);
  if (plan?.gain) pairs.push(["predicted", `${times(plan.gain[0])} to ${times(plan.gain[1])}`]);
  if (candidate.repaired) pairs.push(["repaired", "yes, once"]);
  for (const [name, value] of Object.entries(plan?.parameters ?? {})) pairs.push([name, parameter(value)]);
  const mark = { passed: ["good-text", "✓"], failed: ["bad-text", "✕"], skipped: ["note", "·"] };
  const stages = (evaluation?.stages ?? []).map((stage) =>
    element("li", {}, element("span", { class: mark[stage.status][0] }, mark[stage.status][1]), element("span", { class: "name" }, stage.stage),
      element("span", { class: "said" }, stage.message || stage.status, stage.line ? ` (line ${stage.line})` : "")));
  return element(
    "div", {},
    element("p", { class: "plan" }, plan ? plan.text : "The starting kernel, which the search set out from."),
    ...(candidate.message ? [element("p", { class: "bad-text" }, candidate.message)] : []),
    element("h3", {}, "From the start to here"), element("div", { class: "path" }, chain),
    element("h3", {}, "Facts"), facts(pairs),
    ...(stages.length ? [element("h3", {}, "Verdict"), element("ul", { class: "stages" }, stages)] : []),
    ...(evaluation?.bound ? [element("h3", {}, "Bound"), element("p", { class: "note" }, evaluation.bound)] : []),
  );
}

function changesView(run, candidate) {
  const parent = run.parent(candidate);
  if (!parent) return element("p", { class: "note" }, "The starting kernel has no parent.");
  const texts = [run.source(parent), run.source(candidate)];
  if (texts.includes(null)) return element("p", { class: "note" }, "There is no kernel: " + (candidate.message || candidate.outcome));
  return element("div", {}, element("p", { class: "note" }, `From its parent #${parent.id} ${run.name(parent)}`), differenceView(...texts));
}

// The calls that a candidate came from; the starting kernel has those of no candidate, such as selections.
function callsOf(run, candidate) {
  const own = ({ step, parent, id }) => [`plan/${step}/${parent}`, `code/${step}/${id}`, `code/${step}/${id}/again`, `repair/${step}/${id}`];
  if (candidate.parent != null) return own(candidate);
  const others = new Set(run.candidates.flatMap(own));
  return Object.keys(run.exchanges).filter((call) => !others.has(call));
}

const paid = ({ prompt_tokens, completion_tokens }) => `; ${count(prompt_tokens)} tokens of prompt, ${count(completion_tokens)} of answer`;

// What models were asked for this candidate, and what they answered.
function exchangesView(run, candidate) {
  const said = ([role, text]) => [element("h3", {}, role), element("pre", {}, text)];
  const blocks = callsOf(run, candidate).flatMap((call) => (run.exchanges[call] ?? []).map((exchange) => element(
    "details", {}, element("summary", {}, `${call}: ${exchange.model}, ${exchange.outcome}${paid(exchange.usage)}`),
    ...exchange.messages.flatMap(said), ...said(["answer", exchange.text]))));
  if (run.conversation.length) blocks.push(element("details", {}, element("summary", {}, `the conversation of the run: ${count(run.conversation.length)} messages`), ...run.conversation.flatMap(said)));
  const left = run.exchanges_left ? [element("p", { class: "note" }, `${run.exchanges_left} exchanges are left out of this page; they are in the run folder.`)] : [];
  return element("div", {}, ...(blocks.length ? blocks : [element("p", { class: "note" }, "No model was asked for this candidate.")]), ...left);
}

// Views of a tab; profile and timeline come when they are fetched.
function tabView(state, run, candidate, go) {
  const openLine = (line) => go({ tab: "source", line });
  switch (state.tab) {
    case "changes": return changesView(run, candidate);
    case "source": return sourceView(run, candidate, state.line);
    case "resources": return resourcesView(run, candidate);
    case "profile": return profiledTab(run, candidate, ({ profile }) => profileView(profile, openLine));
    case "timeline": return profiledTab(run, candidate, ({ timeline }) => new TimelineView(timeline, openLine).node);
    case "compare": return comparisonView(run, candidate, run.get(state.compared) ?? run.parent(candidate), go);
    case "exchanges": return exchangesView(run, candidate);
    default: return planView(run, candidate, (id) => go({ selected: id }));
  }
}

const profiles = new Map(); // kernel -> its profile and timeline, as far as fetched

function profiledTab(run, candidate, view) {
  const box = element("div", {});
  const show = ({ profile, timeline }) => {
    if (!profiles.has(candidate.kernel)) profiles.set(candidate.kernel, { profile, timeline: readTimeline(timeline) });
    box.replaceChildren(view(profiles.get(candidate.kernel)));
  };
  const holder = run.candidates.find((other) => other.kernel === candidate.kernel && run.profiles[other.id]);
  if (profiles.has(candidate.kernel)) show(profiles.get(candidate.kernel));
  else if (holder) show(run.profiles[holder.id]);
  else if (candidate.value == null) box.append(element("p", { class: "note" }, "This kernel did not run to its end."));
  else if (document.body.dataset.live === "yes") {
    box.append(element("p", { class: "note" }, "Simulating…"));
    fetchProfile(candidate.id).then(show, (error) => box.replaceChildren(element("p", { class: "bad-text" }, error.message)));
  } else {
    box.append(element("p", {}, "This page has no profile and no timeline of this candidate. One that has:"), element("p", {}, element("code", {}, `autocomp report RUN --timeline ${candidate.id}`)));
    const known = Object.keys(run.profiles).map((id) => `#${id}`).join(", ");
    box.append(element("p", { class: "note" }, known ? `Those in this page: ${known}.` : ""));
  }
  return box;
}

async function fetchProfile(id) {
  const response = await fetch(`/profile/${id}`);
  if (!response.ok) throw new Error((await response.json()).error);
  return unpacked(await response.arrayBuffer());
}
