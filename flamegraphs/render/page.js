
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const count = data.parent.length;
  const whole = data.total[0];
  const ROW = 22;
  const NARROWEST = 0.7; // pixels; anything less cannot be told from its neighbour
  const element = (id) => document.getElementById(id);
  const graph = element("graph"), tip = element("tip"), status = element("status");

  // ---- amounts ----
  const SCALES = {
    bytes: data.binary
      ? [1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]]
      : [1000, ["B", "kB", "MB", "GB", "TB", "PB", "EB"]],
    nanoseconds: [1000, ["ns", "µs", "ms", "s"]],
  };
  function amount(value) {
    const scale = SCALES[data.unit];
    if (!scale) return `${value.toLocaleString("en")} ${data.unit}`.trim();
    const [base, units] = scale;
    let power = 0;
    while (power + 1 < units.length && value >= 0.9995 * base ** (power + 1)) power += 1;
    const scaled = value / base ** power;
    const digits = power === 0 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
    return `${scaled.toFixed(digits)} ${units[power]}`;
  }
  const percent = (value, of) => `${(of ? (100 * value) / of : 0).toFixed(1)} %`;

  // ---- the tree ----
  const children = Array.from({ length: count }, () => []);
  const depth = new Array(count).fill(0);
  const start = new Array(count).fill(0);
  const used = new Array(count).fill(0);
  for (let node = 1; node < count; node += 1) {
    const parent = data.parent[node];
    children[parent].push(node);
    depth[node] = depth[parent] + 1;
    start[node] = start[parent] + used[parent];
    used[parent] += data.total[node];
  }
  const nameOf = (node) => data.names[data.name[node]];
  const kindOf = (node) => data.kinds[data.name[node]];
  function ancestors(node) {
    const path = [];
    for (let step = node; step >= 0; step = data.parent[step]) path.push(step);
    return path.reverse();
  }

  // ---- what is shown ----
  let focus = 0, current = 0, rootOnTop = false, matches = null, blocks = new Map();

  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
  const CHARACTER = ruler.measureText("MMMMMMMMMM").width / 10;

  function label(node, width) {
    const name = nameOf(node);
    const room = Math.floor((width - 11) / CHARACTER);
    if (room < 3) return "";
    if (name.length <= room) return name;
    const method = name.slice(name.lastIndexOf(".") + 1);
    // A class may be left out, but not for `__init__` or `<lambda>`, which say nothing alone; and
    // the dots in the name of a library separate nothing.
    if (kindOf(node) === "named" && /^[a-z0-9]/i.test(method) && method.length <= room) return method;
    return `${name.slice(0, room - 1)}…`;
  }

  function describe(node) {
    const self = data.self[node];
    return `${nameOf(node)}: total ${amount(data.total[node])} (${percent(data.total[node], whole)}), self ${amount(self)} (${percent(self, whole)})`;
  }

  function draw() {
    const width = graph.clientWidth;
    const from = start[focus], span = data.total[focus] || 1;
    const shown = [];
    const path = ancestors(focus);
    for (const node of path) shown.push([node, 0, width]);
    const queue = [focus];
    let deepest = depth[focus];
    while (queue.length) {
      for (const child of children[queue.pop()]) {
        const wide = (data.total[child] / span) * width;
        if (wide < NARROWEST) continue;
        shown.push([child, ((start[child] - from) / span) * width, wide]);
        deepest = Math.max(deepest, depth[child]);
        queue.push(child);
      }
    }
    blocks = new Map();
    if (!shown.some(([node]) => node === current)) current = focus;
    const pieces = document.createDocumentFragment();
    for (const [node, left, wide] of shown) {
      const block = document.createElement("div");
      const hue = data.hues[data.name[node]];
      block.className = `block ${kindOf(node)} h${hue}`;
      if (depth[node] < depth[focus]) block.classList.add("above");
      if (wide < 12) block.classList.add("thin");
      if (matches && matches.has(node)) block.classList.add("match");
      const row = rootOnTop ? depth[node] : deepest - depth[node];
      block.style.cssText = `left:${left.toFixed(2)}px;width:${wide.toFixed(2)}px;top:${row * ROW + 4}px`;
      block.textContent = label(node, wide);
      block.dataset.node = node;
      block.setAttribute("role", "treeitem");
      block.setAttribute("aria-level", depth[node] + 1);
      block.setAttribute("aria-label", describe(node));
      block.setAttribute("aria-selected", node === focus);
      block.tabIndex = node === current ? 0 : -1;
      blocks.set(node, block);
      pieces.append(block);
    }
    graph.style.height = `${(deepest + 1) * ROW + 8}px`;
    graph.classList.toggle("searching", matches !== null);
    graph.replaceChildren(pieces);
    element("reset").disabled = focus === 0 && matches === null;
    const steps = path.slice(0, -1).flatMap((node) => {
      const step = document.createElement("button");
      step.type = "button";
      step.textContent = nameOf(node);
      step.addEventListener("click", () => show(node));
      return [step, " › "];
    });
    element("path").replaceChildren(...(focus ? [...steps, nameOf(focus)] : ["Choose a block to focus on it."]));
  }

  function say(node) {
    if (node === null) { status.replaceChildren(); return; }
    const name = document.createElement("b");
    name.textContent = nameOf(node);
    const inFocus = focus ? `, ${percent(data.total[node], data.total[focus])} of the focused block` : "";
    status.replaceChildren(name, describe(node).slice(nameOf(node).length + 1) + inFocus);
  }

  function show(node, keepKeyboard = false) {
    focus = node;
    current = node;
    draw();
    say(node);
    if (keepKeyboard) blocks.get(node).focus();
  }

  function move(node) {
    if (node === undefined || !blocks.has(node)) return;
    blocks.get(current).tabIndex = -1;
    current = node;
    blocks.get(node).tabIndex = 0;
    blocks.get(node).focus();
    say(node);
  }

  function beside(node, step) {
    const row = [...blocks.keys()].filter((other) => depth[other] === depth[node]);
    row.sort((a, b) => start[a] - start[b]);
    return row[row.indexOf(node) + step];
  }

  // ---- search ----
  function search(text) {
    const wanted = text.trim().toLowerCase();
    const found = element("found");
    if (!wanted) { matches = null; found.textContent = ""; draw(); return; }
    const hit = data.names.map((name) => name.toLowerCase().includes(wanted));
    matches = new Set();
    const inside = new Uint8Array(count);
    let sum = 0;
    for (let node = 1; node < count; node += 1) {
      const under = inside[data.parent[node]];
      const matching = hit[data.name[node]];
      if (matching) matches.add(node);
      // A recursive function counts once: only its block nearest to the root adds up.
      if (matching && !under) sum += data.total[node];
      inside[node] = under || matching ? 1 : 0;
    }
    const blocksText = matches.size === 1 ? "1 block" : `${matches.size} blocks`;
    found.textContent = matches.size ? `${blocksText}, ${amount(sum)} (${percent(sum, whole)})` : "no match";
    draw();
  }
  function nextMatch(step) {
    if (!matches) return;
    const visible = [...blocks.keys()].filter((node) => matches.has(node)).sort((a, b) => a - b);
    if (!visible.length) return;
    const place = visible.findIndex((node) => node > current);
    const next = step > 0 ? (place < 0 ? 0 : place) : visible.findLastIndex((node) => node < current);
    move(visible.at(next));
  }

  // ---- pointer and keys ----
  const nodeAt = (event) => {
    const block = event.target.closest && event.target.closest("[data-node]");
    return block ? Number(block.dataset.node) : null;
  };
  graph.addEventListener("click", (event) => { const node = nodeAt(event); if (node !== null) show(node, true); });
  graph.addEventListener("pointermove", (event) => {
    const node = nodeAt(event);
    if (node === null) { tip.style.display = "none"; return; }
    const name = document.createElement("b");
    name.textContent = nameOf(node);
    const line = (text) => { const part = document.createElement("div"); part.textContent = text; return part; };
    tip.replaceChildren(
      name,
      line(`Total ${amount(data.total[node])} · ${percent(data.total[node], whole)}`),
      line(`Self ${amount(data.self[node])} · ${percent(data.self[node], whole)}`),
    );
    if (data.self[node] === 0 && node !== 0) tip.append(line("Only leads to others: look further from the root."));
    if (kindOf(node) === "native") tip.append(line("Native code; the named function it belongs to is nearer the root."));
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    const below = event.clientY + 18;
    tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
    say(node);
  });
  graph.addEventListener("pointerleave", () => { tip.style.display = "none"; say(focus || null); });
  graph.addEventListener("focusin", (event) => { const node = nodeAt(event); if (node !== null) say(node); });
  graph.addEventListener("keydown", (event) => {
    const outward = () => children[current].find((child) => blocks.has(child));
    const inward = () => data.parent[current];
    const actions = {
      ArrowUp: () => move(rootOnTop ? inward() : outward()),
      ArrowDown: () => move(rootOnTop ? outward() : inward()),
      ArrowLeft: () => move(beside(current, -1)),
      ArrowRight: () => move(beside(current, 1)),
      Home: () => move(0),
      Enter: () => show(current, true),
      " ": () => show(current, true),
    };
    if (actions[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === element("search");
    if (event.key === "/" && !typing) { event.preventDefault(); element("search").focus(); }
    else if (event.key === "Escape") reset();
    else if (event.key === "Enter" && typing) nextMatch(1);
    else if (event.key.toLowerCase() === "n" && !typing) nextMatch(event.shiftKey ? -1 : 1);
  });
  function reset() {
    element("search").value = "";
    matches = null;
    element("found").textContent = "";
    const held = graph.contains(document.activeElement);
    show(0, held);
  }
  element("search").addEventListener("input", (event) => search(event.target.value));
  element("reset").addEventListener("click", reset);
  element("turn").addEventListener("click", (event) => {
    rootOnTop = !rootOnTop;
    event.currentTarget.setAttribute("aria-pressed", rootOnTop);
    draw();
  });

  // ---- light and dark ----
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  function theme(name) {
    document.documentElement.dataset.theme = name;
    element("theme").textContent = name === "dark" ? "Light" : "Dark";
  }
  theme(prefersDark.matches ? "dark" : "light");
  prefersDark.addEventListener("change", (event) => theme(event.matches ? "dark" : "light"));
  element("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

  // ---- the table ----
  const NOTES = { native: "native", trampoline: "trampoline", unknown: "unknown", truncated: "cut by the server" };
  for (const [name, kind, attributed, raw, total] of data.table) {
    const row = document.createElement("tr");
    for (const value of [amount(attributed), percent(attributed, whole), amount(raw), amount(total)]) {
      row.insertCell().textContent = value;
    }
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.width = `${whole ? Math.max(0, (90 * attributed) / whole) : 0}px`;
    row.cells[1].prepend(bar);
    const cell = row.insertCell();
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => { element("search").value = name; search(name); graph.scrollIntoView({ block: "nearest" }); });
    cell.append(button);
    if (NOTES[kind]) { const note = document.createElement("small"); note.textContent = NOTES[kind]; cell.append(note); }
    element("rows").append(row);
  }
  if (data.functions > data.table.length) {
    element("more").textContent = `The first ${data.table.length} of ${data.functions.toLocaleString("en")} functions.`;
  }
  addEventListener("resize", draw);
  draw();
})();
