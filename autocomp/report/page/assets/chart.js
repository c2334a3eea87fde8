// A chart of points and lines on a canvas: thousands of points, the nearest of which can be picked.
const MARGIN = { left: 54, right: 16, top: 10, bottom: 36 };
const HIT = 18; // pixels

const linear = (low, high) => ({
  place: (value) => (high > low ? (value - low) / (high - low) : 0.5),
  ticks: (most) => {
    const rough = (high - low) / most || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const number = (step) => Math.floor(high / step) - Math.ceil(low / step) + 1;
    const step = [1, 2, 5, 10, 20].map((factor) => factor * power).find((size) => number(size) <= most);
    return Array.from({ length: number(step) }, (_, index) => (Math.ceil(low / step) + index) * step);
  },
});

const logarithmic = (low, high) => ({
  place: (value) => (high > low ? Math.log(value / low) / Math.log(high / low) : 0.5),
  ticks: (most) => {
    if (high < 2 * low) return linear(low, high).ticks(most);
    const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 1 }, (_, index) => 10 ** (Math.floor(Math.log10(low)) + index));
    const inside = (digits) => powers.flatMap((power) => digits.map((digit) => digit * power)).filter((value) => value >= low && value <= high);
    const every = (values) => values.filter((_, index) => index % Math.ceil(values.length / most) === 0);
    const fine = inside([1, 1.5, 2, 3, 4, 5, 7]);
    return fine.length <= most ? fine : every(inside([1, 2, 5]));
  },
});

class Chart {
  constructor(canvas, pick, describe) {
    Object.assign(this, { canvas, pick, describe, content: null });
    canvas.addEventListener("mousemove", (event) => {
      const near = this.nearest(event.offsetX, event.offsetY);
      showTip(near && this.describe(near), event);
    });
    canvas.addEventListener("mouseleave", () => showTip(""));
    canvas.addEventListener("click", (event) => {
      const near = this.nearest(event.offsetX, event.offsetY);
      if (near) this.pick(near.id);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // content: {x, y: {scale, label}, lines: [{points, tint, weight, dash, label, below}], points: [{x, y, id, standing}], selected, compared}
  show(content) {
    this.content = content;
    this.draw();
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.content?.points.length) return;
    const known = this.content.points.filter((point) => point.id != null).sort((a, b) => a.x - b.x);
    const at = known.findIndex((point) => point.id === this.content.selected);
    this.pick(known[Math.max(0, Math.min(known.length - 1, at + step))].id);
    event.preventDefault();
    event.stopPropagation();
  }

  nearest(x, y) {
    let best = null;
    let distance = HIT;
    for (const point of this.content?.points ?? []) {
      const [px, py] = this.at(point);
      const far = Math.hypot(px - x, py - y);
      if (far < distance && point.id != null) [best, distance] = [point, far];
    }
    return best;
  }

  at({ x, y }) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { x: across, y: up } = this.content;
    return [
      MARGIN.left + across.scale.place(x) * (width - MARGIN.left - MARGIN.right),
      height - MARGIN.bottom - up.scale.place(y) * (height - MARGIN.top - MARGIN.bottom),
    ];
  }

  draw() {
    const drawing = this.content && surface(this.canvas);
    if (!drawing) return;
    this.axes(drawing);
    for (const line of this.content.lines) this.line(drawing, line);
    const order = { none: 0, bad: 0, fair: 1, good: 2, best: 3 };
    const points = [...this.content.points].sort((a, b) => order[a.standing] - order[b.standing]);
    for (const point of points) this.point(drawing.pen, point);
  }

  axes({ pen, width, height }) {
    const { x, y } = this.content;
    pen.strokeStyle = colour("line");
    pen.fillStyle = colour("soft");
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const tick of y.scale.ticks(Math.max(2, Math.floor(height / 45)))) {
      const level = Math.round(height - MARGIN.bottom - y.scale.place(tick) * (height - MARGIN.top - MARGIN.bottom)) + 0.5;
      pen.beginPath();
      pen.moveTo(MARGIN.left, level);
      pen.lineTo(width - MARGIN.right, level);
      pen.stroke();
      pen.fillText(brief(tick), MARGIN.left - 6, level);
    }
    pen.textAlign = "center";
    for (const tick of x.scale.ticks(Math.max(2, Math.floor(width / 75)))) {
      pen.fillText(brief(tick), MARGIN.left + x.scale.place(tick) * (width - MARGIN.left - MARGIN.right), height - MARGIN.bottom + 12);
    }
    pen.fillStyle = colour("faint");
    pen.fillText(x.label, MARGIN.left + (width - MARGIN.left - MARGIN.right) / 2, height - 8);
    pen.save();
    pen.translate(10, MARGIN.top + (height - MARGIN.top - MARGIN.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(y.label, 0, 0);
    pen.restore();
  }

  line({ pen, width, height }, { points, tint, weight = 1, dash = [], label, below = false }) {
    if (!points.length) return;
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top - 4, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom + 8);
    pen.clip();
    pen.strokeStyle = colour(tint);
    pen.lineWidth = weight;
    pen.setLineDash(dash);
    pen.beginPath();
    points.forEach((point, index) => pen[index ? "lineTo" : "moveTo"](...this.at(point)));
    pen.stroke();
    pen.restore();
    if (!label) return;
    const [x, y] = this.at(points.at(-1));
    pen.fillStyle = colour("soft");
    pen.textAlign = "right";
    pen.fillText(label, x - 2, below || y - 8 < MARGIN.top ? y + 10 : y - 8);
  }

  point(pen, point) {
    const [x, y] = this.at(point);
    const tint = { best: "accent", good: "good", fair: "fair", bad: "bad", none: "faint" }[point.standing];
    const chosen = point.id != null && (point.id === this.content.selected || point.id === this.content.compared);
    pen.globalAlpha = point.standing === "best" || chosen ? 1 : 0.55;
    pen.fillStyle = colour(tint);
    pen.beginPath();
    pen.arc(x, y, point.standing === "best" ? 4.5 : 3, 0, 2 * Math.PI);
    pen.fill();
    pen.globalAlpha = 1;
    if (!chosen) return;
    pen.strokeStyle = colour(point.id === this.content.selected ? "ink" : "faint");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, 7.5, 0, 2 * Math.PI);
    pen.stroke();
  }
}
