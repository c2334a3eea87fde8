// What changed between two texts, line by line: the longest common subsequence of what is not common at either end.
const MOST_CELLS = 4_000_000;

function differences(before, after) {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < Math.min(old.length, fresh.length) && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, fresh.length) - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  const same = (text) => ({ kind: "same", text });
  const middle = changes(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail));
  return [...old.slice(0, head).map(same), ...middle, ...(tail ? old.slice(-tail).map(same) : [])];
}

function changes(old, fresh) {
  const removed = (text) => ({ kind: "del", text });
  const added = (text) => ({ kind: "add", text });
  if (old.length * fresh.length > MOST_CELLS) return [...old.map(removed), ...fresh.map(added)];
  const width = fresh.length + 1;
  const common = new Uint32Array((old.length + 1) * width); // of what is left from each pair of lines on
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === fresh[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      found.push({ kind: "same", text: old[i++] });
      j++;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) found.push(removed(old[i++]));
    else found.push(added(fresh[j++]));
  }
  return [...found, ...old.slice(i).map(removed), ...fresh.slice(j).map(added)];
}

const CONTEXT = 3; // unchanged lines shown around a change

function differenceView(before, after) {
  const lines = differences(before, after);
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line.kind !== "same"));
  const box = element("div", { class: "code", tabindex: "0", role: "group", "aria-label": "Difference" });
  let number = 0;
  let hidden = 0;
  const flush = () => {
    if (hidden) box.append(element("div", { class: "line plain skipped" }, element("span"), element("span"), element("span", {}, `${hidden} unchanged ${hidden === 1 ? "line" : "lines"}`)));
    hidden = 0;
  };
  lines.forEach(({ kind, text }, at) => {
    if (kind !== "del") number++;
    if (!near[at]) return void hidden++;
    flush();
    const sign = { same: "", add: "+", del: "−" }[kind];
    box.append(element("div", { class: `line plain ${kind}` }, element("span", { class: "at" }, kind === "del" ? "" : String(number)), element("span", {}, sign), element("span", { class: "text" }, ...highlighted(text))));
  });
  flush();
  return lines.every((line) => line.kind === "same") ? element("p", { class: "note" }, "Both kernels are the same.") : box;
}

// The same difference with the texts beside one another: what was removed on the left, what was added on the right.
function besideView(before, after) {
  const lines = differences(before, after);
  if (lines.every((line) => line.kind === "same")) return element("p", { class: "note" }, "Both kernels are the same.");
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line.kind !== "same"));
  const numbers = { left: 0, right: 0 };
  const cell = (side, kind, text) => (text == null ? element("div", { class: "empty" }) : element("div", { class: kind }, element("span", { class: "at" }, String(side)), element("span", { class: "text" }, ...highlighted(text))));
  const box = element("div", { class: "beside" });
  let [removed, added, hidden] = [[], [], 0];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) box.append(removed[at] ?? cell(), added[at] ?? cell());
    if (hidden) box.append(element("div", { class: "skipped" }, `${hidden} unchanged ${hidden === 1 ? "line" : "lines"}`));
    [removed, added, hidden] = [[], [], 0];
  };
  lines.forEach(({ kind, text }, at) => {
    if (kind !== "add") numbers.left++;
    if (kind !== "del") numbers.right++;
    if (kind === "del") removed.push(cell(numbers.left, kind, text));
    else if (kind === "add") added.push(cell(numbers.right, kind, text));
    else if (near[at]) {
      flush();
      box.append(cell(numbers.left, kind, text), cell(numbers.right, kind, text));
    } else {
      if (removed.length || added.length) flush();
      hidden++;
    }
  });
  flush();
  return box;
}
