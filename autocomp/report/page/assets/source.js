// A kernel's text with the heat of each line: what its commands waited.
const TOKEN = /(\/\/.*|\/\*.*?\*\/)|\b(for|if|else|while|int|void|const|unsigned|float|return|static|int8_t|int32_t|uint32_t|uint64_t)\b|\b([A-Za-z_]\w*)(?=\()/g;

function highlighted(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, match.index), element("span", { class: match[1] ? "comment" : match[2] ? "keyword" : "call" }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

const causesText = (causes) => Object.entries(causes).filter(([, cycles]) => cycles).sort((a, b) => b[1] - a[1]).map(([cause, cycles]) => `${cause} ${amount(cycles)}`).join(", ");

// Buttons that copy the kernel and save it as a file.
function kernelTools(run, candidate, text) {
  const said = element("span", { class: "note", role: "status" });
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    said.textContent = "copied";
  };
  const save = () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: `${run.run.workload}-${candidate.id}${run.about.suffix}` });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return element("div", { class: "timeline-tools kernel-tools" }, element("button", { type: "button", onclick: copy }, "Copy"), element("button", { type: "button", onclick: save }, "Download"), said);
}

function sourceView(run, candidate, target) {
  const text = run.source(candidate);
  if (text == null) return element("p", { class: "note" }, "There is no kernel: " + (candidate.message || candidate.outcome));
  const costs = new Map((run.evaluation(candidate)?.lines ?? []).map(([line, commands, wait, causes]) => [line, { commands, wait, causes }]));
  const most = Math.max(1, ...[...costs.values()].map((cost) => cost.wait));
  const lines = text.split("\n").map((line, index) => {
    const cost = costs.get(index + 1);
    const words = cost ? `${count(cost.commands)} commands waited ${amount(cost.wait)} ${run.unit}: ${causesText(cost.causes)}` : null;
    return element(
      "div",
      { class: `line${index + 1 === target ? " target" : ""}`, "data-line": index + 1, title: words },
      element("span", { class: "at" }, String(index + 1)),
      element("span", { class: "cost", style: { "--share": cost ? (cost.wait / most).toFixed(3) : "0" } }, cost ? amount(cost.wait) : ""),
      element("span", { class: "text" }, ...highlighted(line)),
    );
  });
  const note = costs.size ? `Left of each line: ${run.unit} its commands waited, over all of them; waits overlap. Causes show where the pointer rests.` : "What each line of this kernel costs is not known.";
  return element("div", {}, kernelTools(run, candidate, text), element("p", { class: "note" }, note), element("div", { class: "code", tabindex: "0", role: "group", "aria-label": "Kernel" }, lines));
}
