// Every command of a kernel over time, on the lanes of its unit; zoomed and moved like a map.
const LANE = 13; // pixels
const GAP = 16; // above each unit's track, for its name
const RULER = 24;
const CLOSEST = 20; // cycles across the view
const MOST_LANES = 6;
const HUES = [214, 26, 152, 282, 340, 190, 50, 110];
const SEEN = []; // instructions in the order of their hues, the same in all timelines of the page

// The columns as the page keeps them: starts as they are, and for each track and lane its spans in order.
function readTimeline(packed) {
  const timeline = { ...packed, start: new Float64Array(packed.start.length), lanes: new Map() };
  let start = 0;
  packed.start.forEach((difference, index) => {
    timeline.start[index] = start += difference;
    const key = packed.track[index] * 1000 + Math.min(packed.lane[index], MOST_LANES - 1);
    if (!timeline.lanes.has(key)) timeline.lanes.set(key, []);
    timeline.lanes.get(key).push(index);
  });
  timeline.longest = Math.max(1, ...new Set(packed.length));
  return timeline;
}

class TimelineView {
  // `longest` cycles are shown, if more than this timeline has.
  constructor(timeline, openLine, longest = 0) {
    this.timeline = timeline;
    this.all = Math.max(timeline.cycles, longest);
    this.openLine = openLine;
    this.from = 0;
    this.to = this.all;
    this.canvas = element("canvas", { class: "timeline", tabindex: "0", role: "img", "aria-label": "Timeline of the commands" });
    this.range = element("p", { class: "note", role: "status" });
    this.inspect = element("div", { class: "inspect" }, element("p", { class: "note" }, "Drag to move; +, −, Ctrl and the wheel, or a double click to zoom. Click a command to see its line."));
    this.tops = [];
    let height = RULER;
    const used = new Set(timeline.track);
    for (const [index, track] of timeline.tracks.entries()) {
      this.tops.push(used.has(index) ? height + GAP : null);
      if (used.has(index)) height += GAP + Math.min(track.lanes, MOST_LANES) * LANE + 6;
    }
    this.canvas.style.height = `${height + 4}px`;
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    const button = (label, name, act) => element("button", { type: "button", "aria-label": name, onclick: act }, label);
    const said = [
      timeline.left_out ? `${count(timeline.left_out)} of the shortest commands are left out.` : "",
      timeline.tracks.some((track) => track.lanes > MOST_LANES) ? `Where a unit has more than ${MOST_LANES} commands in flight, those beyond share its lowest lane.` : "",
    ];
    const left = element("p", { class: "note" }, said.join(" "));
    this.node = element(
      "div", {},
      element("div", { class: "timeline-tools" }, button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)), button("All", "Show all", () => this.view(0, this.all)), this.range),
      this.canvas, this.legend(), left, this.inspect,
    );
  }

  legend() {
    const used = [...new Set(this.timeline.instruction)];
    return element("div", { class: "legend" }, used.map((number) => element("span", { style: { "--swatch": this.tint(number) } }, this.timeline.instructions[number])));
  }

  tint(instruction) {
    const name = this.timeline.instructions[instruction];
    if (!SEEN.includes(name)) SEEN.push(name);
    return `hsl(${HUES[SEEN.indexOf(name) % HUES.length]} 58% 56%)`;
  }

  listen() {
    const { canvas } = this;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.offsetX, from: this.from, to: this.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return showTip(this.words(this.hit(event.offsetX, event.offsetY)), event);
      const shift = ((held.x - event.offsetX) / canvas.clientWidth) * (held.to - held.from);
      held.moved ||= Math.abs(held.x - event.offsetX) > 3;
      if (held.moved) this.view(held.from + shift, held.to + shift);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) this.pick(this.hit(event.offsetX, event.offsetY));
      held = null;
    });
    canvas.addEventListener("pointercancel", () => (held = null));
    canvas.addEventListener("pointerleave", () => showTip(""));
    canvas.addEventListener("dblclick", (event) => this.zoom(0.25, event.offsetX / canvas.clientWidth));
    canvas.addEventListener("wheel", (event) => {
      const width = this.to - this.from;
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY / 300), event.offsetX / canvas.clientWidth);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const shift = ((event.deltaX || event.deltaY) / canvas.clientWidth) * width;
        this.view(this.from + shift, this.to + shift);
      } else return;
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const width = this.to - this.from;
      const act = {
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.view(0, this.all),
        ArrowLeft: () => this.view(this.from - width / 5, this.to - width / 5), ArrowRight: () => this.view(this.from + width / 5, this.to + width / 5),
      }[event.key];
      if (!act) return;
      act();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  zoom(factor, at = 0.5) {
    const width = (this.to - this.from) * factor;
    const fixed = this.from + at * (this.to - this.from);
    this.view(fixed - at * width, fixed + (1 - at) * width);
  }

  view(from, to) {
    const { all } = this;
    const width = Math.max(Math.min(CLOSEST, all), Math.min(all, to - from));
    this.from = Math.max(0, Math.min(all - width, from));
    this.to = this.from + width;
    this.draw();
  }

  // The first span of a lane that may end behind a time, by bisection.
  first(spans, time) {
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.timeline.start[spans[middle]] < time - this.timeline.longest) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  hit(x, y) {
    const { timeline } = this;
    const time = this.from + (x / this.canvas.clientWidth) * (this.to - this.from);
    const slack = (2 / this.canvas.clientWidth) * (this.to - this.from);
    for (const [key, spans] of timeline.lanes) {
      const top = this.tops[Math.floor(key / 1000)] + (key % 1000) * LANE;
      if (y < top || y >= top + LANE) continue;
      for (let at = this.first(spans, time - slack); at < spans.length && timeline.start[spans[at]] <= time + slack; at++) {
        const index = spans[at];
        if (timeline.start[index] + timeline.length[index] >= time - slack) return index;
      }
    }
    return null;
  }

  words(index) {
    if (index == null) return "";
    const { timeline } = this;
    const waited = timeline.wait[index] ? `, waited ${count(timeline.wait[index])} (${timeline.causes[timeline.cause[index]]})` : "";
    return `${timeline.instructions[timeline.instruction[index]]}, line ${timeline.line[index]}: cycles ${count(timeline.start[index])} to ${count(timeline.start[index] + timeline.length[index])}${waited}`;
  }

  pick(index) {
    this.chosen = index;
    if (index != null) {
      const line = this.timeline.line[index];
      this.inspect.replaceChildren(element("p", {}, this.words(index)), element("button", { type: "button", onclick: () => this.openLine(line) }, `Line ${line} in the source`));
    }
    this.draw();
  }

  draw() {
    const drawing = surface(this.canvas);
    if (!drawing) return;
    const { pen, width, height } = drawing;
    const { timeline } = this;
    const scale = width / (this.to - this.from);
    this.range.textContent = `cycles ${count(this.from)} to ${count(Math.min(this.to, timeline.cycles))} of ${count(timeline.cycles)}`;
    this.ruler(pen, width, height, scale);
    for (const [key, spans] of timeline.lanes) {
      const top = this.tops[Math.floor(key / 1000)] + (key % 1000) * LANE;
      let drawn = -1; // pixels up to which the lane is painted: what would add nothing is left out
      for (let at = this.first(spans, this.from); at < spans.length && timeline.start[spans[at]] < this.to; at++) {
        const index = spans[at];
        const left = Math.floor((timeline.start[index] - this.from) * scale);
        const right = left + Math.max(1, timeline.length[index] * scale - (timeline.length[index] * scale > 4 ? 1 : 0));
        if (right <= drawn || right < 0) continue;
        pen.fillStyle = index === this.chosen ? colour("ink") : this.tint(timeline.instruction[index]);
        pen.fillRect(Math.max(left, drawn), top, right - Math.max(left, drawn), LANE - 2);
        drawn = Math.ceil(right);
      }
    }
  }

  ruler(pen, width, height, scale) {
    pen.textBaseline = "middle";
    pen.strokeStyle = colour("line");
    pen.fillStyle = colour("soft");
    pen.textAlign = "left";
    for (const tick of linear(this.from, this.to).ticks(Math.max(2, width / 110))) {
      const x = Math.round((tick - this.from) * scale) + 0.5;
      pen.beginPath();
      pen.moveTo(x, 0);
      pen.lineTo(x, height);
      pen.stroke();
      const text = tick === 0 ? "0 cycles" : count(tick);
      if (x + 4 + pen.measureText(text).width <= width) pen.fillText(text, x + 4, 10);
    }
    pen.fillStyle = colour("ink");
    this.timeline.tracks.forEach((track, index) => this.tops[index] != null && pen.fillText(track.name, 4, this.tops[index] - 8));
  }
}
