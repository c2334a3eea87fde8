// The run's document with the relations that views ask for.
async function unpacked(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Run {
  constructor(document) {
    Object.assign(this, document);
    this.byId = new Map(this.candidates.map((candidate) => [candidate.id, candidate]));
    this.children = new Map();
    this.firstOf = new Map(); // evaluation -> candidate
    for (const candidate of this.candidates) {
      if (candidate.parent != null) this.children.set(candidate.parent, [...(this.children.get(candidate.parent) ?? []), candidate]);
      if (candidate.evaluation != null && !this.firstOf.has(candidate.evaluation)) this.firstOf.set(candidate.evaluation, candidate);
    }
    this.lineage = new Set(this.ancestry(this.run.best_id).map((candidate) => candidate.id));
  }

  get(id) { return this.byId.get(id); }
  get best() { return this.run.best_id; }
  evaluation(candidate) { return candidate.evaluation == null ? null : this.evaluations[candidate.evaluation]; }
  source(candidate) { return candidate.kernel == null ? null : this.kernels[candidate.kernel]; }
  parent(candidate) { return candidate.parent == null ? null : this.get(candidate.parent); }

  // Candidates from the naive kernel to one.
  ancestry(id) {
    const chain = [];
    for (let candidate = this.get(id); candidate; candidate = this.parent(candidate)) chain.unshift(candidate);
    return chain;
  }

  // The speed-up over the parent.
  gain(candidate) { return candidate.gain; }

  get unit() { return this.run.unit; }
  get lower() { return this.run.direction === "lower"; }

  // A key to sort values by: the best first, those that were not measured last.
  rank(value) { return value == null ? Infinity : this.lower ? value : -value; }

  // How much of the bound a value reaches.
  ratio(value) { return this.run.bound == null || !value ? null : this.lower ? this.run.bound / value : value / this.run.bound; }

  measured(candidate) { return candidate.value == null ? candidate.outcome : `${amount(candidate.value)} ${this.unit}`; }

  name(candidate) { return candidate.plan ? candidate.plan.option || "free plan" : candidate.parent == null ? "naive" : candidate.outcome; }

  // How a candidate is shown: best, good, fair (not validated in full yet), bad or neither.
  standing(candidate) {
    if (candidate.id === this.best && candidate.value != null) return "best";
    if (candidate.outcome === "correct") return "good";
    if (candidate.outcome === "screened") return "fair";
    return /^(failed|error|worker)/.test(candidate.outcome) ? "bad" : "none";
  }
}
