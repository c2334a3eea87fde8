// The list of candidates: only the rows in sight are elements, so that thousands stay smooth.
const ROW = 30; // pixels
const BEYOND = 8; // rows drawn above and below those in sight

class CandidateList {
  constructor(box, choose) {
    Object.assign(this, { box, choose, rows: [], run: null, selected: null });
    this.filler = element("div", { role: "presentation" });
    box.append(this.filler);
    box.addEventListener("scroll", () => this.draw());
    box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.id));
    });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // Candidates whose plan, option or message has the text, of one outcome ("" for all), in an order.
  show(run, { text, outcome, order }) {
    this.run = run;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (candidate) => {
      const said = `#${candidate.id} ${run.name(candidate)} ${candidate.plan?.text ?? ""} ${candidate.outcome} ${candidate.message}`.toLowerCase();
      return (!outcome || candidate.outcome === outcome) && words.every((word) => said.includes(word));
    };
    this.rows = (order === "tree" ? treeOrder(run) : run.candidates.map((candidate) => ({ candidate, depth: 0 }))).filter(({ candidate }) => matches(candidate));
    if (order === "best") this.rows.sort((a, b) => compareRanks(run.rank(a.candidate.value), run.rank(b.candidate.value)) || a.candidate.id - b.candidate.id);
    this.filler.style.height = `${this.rows.length * ROW}px`;
    this.draw();
  }

  select(id) {
    this.selected = id;
    const at = this.place();
    if (at >= 0) {
      const { scrollTop, clientHeight } = this.box;
      if (at * ROW < scrollTop) this.box.scrollTop = at * ROW;
      else if ((at + 1) * ROW > scrollTop + clientHeight) this.box.scrollTop = (at + 1) * ROW - clientHeight;
    }
    this.draw();
  }

  place() { return this.rows.findIndex(({ candidate }) => candidate.id === this.selected); }

  // The candidate so many rows further, or null.
  beside(distance) {
    const at = this.place() + distance;
    return this.rows.length ? this.rows[Math.max(0, Math.min(this.rows.length - 1, at))].candidate.id : null;
  }

  get page() { return Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1); }

  draw() {
    if (!this.run) return;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + BEYOND);
    this.filler.replaceChildren(...this.rows.slice(first, last).map((row, index) => this.row(row, first + index)));
    const chosen = this.place();
    if (chosen >= first && chosen < last) this.box.setAttribute("aria-activedescendant", `candidate-${this.selected}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  row({ candidate, depth }, index) {
    const { run } = this;
    return element(
      "div",
      {
        class: "row", role: "option", id: `candidate-${candidate.id}`, "data-id": candidate.id, title: candidate.plan?.text ?? "the starting kernel",
        "aria-selected": String(candidate.id === this.selected), "aria-posinset": index + 1, "aria-setsize": this.rows.length, style: { top: `${index * ROW}px` },
      },
      element("span", { class: "number" }, String(candidate.id)),
      element("span", { class: `dot ${run.standing(candidate)}`, style: { "margin-left": `${Math.min(depth, 12) * 12}px` } }),
      element("span", { class: "what" }, run.name(candidate)),
      candidate.value != null ? element("span", { class: "value" }, amount(candidate.value)) : element("span", { class: "note" }, candidate.plan ? candidate.outcome : ""),
      element("span", { class: "gain" }, times(run.gain(candidate))),
    );
  }
}

const compareRanks = (a, b) => (a === b ? 0 : a - b); // two that were not measured are equal

// Parents before their children, first the child that led to the best; without recursion, as a lineage may be long.
function treeOrder(run) {
  const reached = new Map(); // id -> best rank of a candidate and all that came of it
  for (const candidate of [...run.candidates].sort((a, b) => b.id - a.id)) {
    reached.set(candidate.id, Math.min(run.rank(candidate.value), reached.get(candidate.id) ?? Infinity));
    if (candidate.parent != null) reached.set(candidate.parent, Math.min(reached.get(candidate.parent) ?? Infinity, reached.get(candidate.id)));
  }
  const faster = (a, b) => (reached.get(a.id) === reached.get(b.id) ? b.id - a.id : reached.get(b.id) - reached.get(a.id));
  const open = run.candidates.filter((candidate) => candidate.parent == null || !run.get(candidate.parent)).reverse().map((candidate) => ({ candidate, depth: 0 }));
  const rows = [];
  while (open.length) {
    const row = open.pop();
    rows.push(row);
    for (const candidate of [...(run.children.get(row.candidate.id) ?? [])].sort(faster)) open.push({ candidate, depth: row.depth + 1 });
  }
  return rows;
}
