// Plots, drawn by uPlot: axes with names and round ticks, and points of which the nearest can be picked.
const HIT = 18; // pixels
const PLOT = { font: "11px system-ui, sans-serif", across: 52, up: 30 }; // pixels that a tick needs on each axis

// Ticks of a scale of counts are `whole` numbers.
const linear = (low, high, whole = false) => ({
  low, high, log: false,
  ticks: (most) => {
    const rough = (high - low) / most || 1;
    const power = Math.max(10 ** Math.floor(Math.log10(rough)), whole ? 1 : 0);
    const number = (step) => Math.floor(high / step) - Math.ceil(low / step) + 1;
    const step = [1, 2, 5, 10, 20].map((factor) => factor * power).find((size) => number(size) <= most);
    return Array.from({ length: number(step) }, (_, index) => (Math.ceil(low / step) + index) * step);
  },
});

const logarithmic = (low, high) => ({
  low, high, log: true,
  ticks: (most) => {
    if (high < 2 * low) return linear(low, high).ticks(most);
    const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 1 }, (_, index) => 10 ** (Math.floor(Math.log10(low)) + index));
    const inside = (digits) => powers.flatMap((power) => digits.map((digit) => digit * power)).filter((value) => value >= low && value <= high);
    const every = (values) => values.filter((_, index) => index % Math.ceil(values.length / most) === 0);
    const fine = inside([1, 1.5, 2, 3, 5, 7]);
    return fine.length <= most ? fine : every(inside([1, 2, 5]));
  },
});

// An axis of uPlot for {scale, label}; `most` ticks at most.
function axisOf({ scale, label }, side, text = brief) {
  return {
    scale: side, label: scale.log ? label.replace(/\)$|$/, (end) => (end ? ", log scale)" : " (log scale)")) : label, labelSize: 18, labelGap: 0, size: side === "x" ? 24 : 46, gap: 4,
    font: PLOT.font, labelFont: PLOT.font, stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
    splits: (plot) => scale.ticks(Math.max(2, Math.floor((side === "x" ? plot.width / PLOT.across : plot.height / PLOT.up)))),
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map(text),
  };
}

const scaleOf = ({ scale }) => ({ time: false, distr: scale.log ? 3 : 1, range: () => [scale.low, scale.high] });

// A plot in a box, whose size it follows. `shape` are the axes x and y of axisOf, and series, hooks and padding of uPlot.
function plotted(box, { x, y, series, hooks = {}, padding = [8, 14, 0, 0], text }, data) {
  const options = {
    width: box.clientWidth || 300, height: box.clientHeight || 200, padding, legend: { show: false }, cursor: { show: false }, hooks,
    scales: { x: scaleOf(x), y: scaleOf(y) }, axes: [axisOf(x, "x"), axisOf(y, "y", text)], series: [{}, ...series],
  };
  const plot = new uPlot(options, data, box);
  new ResizeObserver(() => box.isConnected && box.clientWidth && plot.setSize({ width: box.clientWidth, height: box.clientHeight })).observe(box);
  return plot;
}

const STANDINGS = { none: ["faint", 6, "not measured"], bad: ["bad", 6, "failed"], fair: ["fair", 6, "screened"], good: ["good", 6, "correct"], best: ["accent", 9, "best"] };

class Chart {
  constructor(box, pick, describe) {
    Object.assign(this, { box, pick, describe, content: null, plot: null });
    this.legend = box.parentElement.appendChild(element("div", { class: "legend" }));
    box.addEventListener("mousemove", (event) => {
      const near = this.nearest(event);
      showTip(near && this.describe(near), event);
    });
    box.addEventListener("mouseleave", () => showTip(""));
    box.addEventListener("click", (event) => {
      const near = this.nearest(event);
      if (near) this.pick(near.id);
    });
    box.addEventListener("keydown", (event) => this.key(event));
  }

  // content: {x, y: {scale, label}, lines: [{points, tint, weight, dash, name}], points: [{x, y, id, standing}]}
  show(content, selected, compared) {
    Object.assign(this, { selected, compared });
    if (content === this.content) return this.plot.redraw(false);
    this.content = content;
    this.plot?.destroy();
    const standings = Object.keys(STANDINGS).filter((standing) => content.points.some((point) => point.standing === standing));
    const groups = [...content.lines.map((line) => line.points), ...standings.map((standing) => content.points.filter((point) => point.standing === standing))];
    const rows = groups.flatMap((points, group) => points.map((point) => ({ ...point, group }))).sort((a, b) => a.x - b.x);
    const data = [rows.map((row) => row.x), ...groups.map((_, group) => rows.map((row) => (row.group === group ? row.y : null)))];
    const lines = content.lines.map(({ tint, weight = 1, dash }) => ({ stroke: colour(tint), width: weight, dash, spanGaps: true, points: { show: false } }));
    const dots = standings.map((standing) => {
      const [tint, size] = STANDINGS[standing];
      return { paths: () => null, points: { show: true, size, width: 0, fill: `color-mix(in srgb, ${colour(tint)} ${standing === "best" ? 100 : 65}%, transparent)` } };
    });
    this.plot = plotted(this.box, { ...content, series: [...lines, ...dots], hooks: { draw: [() => this.rings()] } }, data);
    this.legend.replaceChildren(
      ...content.lines.map(({ name, tint, dash }) => element("span", { class: dash ? "dashed" : "drawn", style: { "--swatch": `var(--${tint})` } }, name)),
      ...standings.toReversed().map((standing) => element("span", { class: "round", style: { "--swatch": `var(--${STANDINGS[standing][0]})` } }, STANDINGS[standing][2])),
    );
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.content?.points.length) return;
    const known = this.content.points.filter((point) => point.id != null).sort((a, b) => a.x - b.x);
    const at = known.findIndex((point) => point.id === this.selected);
    this.pick(known[Math.max(0, Math.min(known.length - 1, at + step))].id);
    event.preventDefault();
    event.stopPropagation();
  }

  nearest({ clientX, clientY }) {
    if (!this.plot) return null;
    const { left, top } = this.plot.over.getBoundingClientRect();
    let best = null;
    let distance = HIT;
    for (const point of this.content.points) {
      const far = Math.hypot(this.plot.valToPos(point.x, "x") + left - clientX, this.plot.valToPos(point.y, "y") + top - clientY);
      if (far < distance && point.id != null) [best, distance] = [point, far];
    }
    return best;
  }

  rings() {
    const { plot } = this;
    const pen = plot?.ctx;
    if (!pen) return;
    for (const point of this.content.points) {
      if (point.id == null || (point.id !== this.selected && point.id !== this.compared)) continue;
      pen.strokeStyle = colour(point.id === this.selected ? "ink" : "faint");
      pen.lineWidth = 2 * devicePixelRatio;
      pen.beginPath();
      pen.arc(plot.valToPos(point.x, "x", true), plot.valToPos(point.y, "y", true), 7.5 * devicePixelRatio, 0, 2 * Math.PI);
      pen.stroke();
    }
  }
}
