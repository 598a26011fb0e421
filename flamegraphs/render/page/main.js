// Brings the parts together: the state, what changes it, and what is drawn of it.

const PAPER = 1400; // pixels that a page of paper is wide
const PAPER_SHAPE = 0.55; // height over width of what a page has for the graph

const state = stateFrom(location.hash);
let scene = null;
let search = null;
let drawn = ""; // what the table was made of
let found = null; // the matches, one part of the scene after another

const table = new Table({
  search: (name) => { apply({ search: names[name] }); element("graph").scrollIntoView({ block: "nearest" }); },
  sandwich: (name) => { apply({ view: "sandwich", fn: name, focus: "" }, { keep: true, scrolled: true }); element("graph").scrollIntoView({ block: "nearest" }); },
  copy: (name) => copyName(name),
  sort: (key) => apply({ sort: key }),
});
const graph = new Graph({
  focus: (id, keyboard) => focusOn(id, keyboard),
  zoom: (zoom) => apply({ zoom }),
  point: (id, event) => { showTip(id, event); say(id); },
  leave: () => { element("tip").style.display = "none"; say(state.focused || null); },
});

// ---- drawing ----

/** Change the state and draw it; `keep` makes a step that the browser's Back goes back over. */
function apply(changes, { keep = false, scrolled = false } = {}) {
  const turned = "root" in changes || "view" in changes || "type" in changes || "hide" in changes || "width" in changes;
  // Another tree has other blocks; of the same tree turned around, the current one stays.
  if (turned && !("root" in changes)) graph.current = 0;
  // What a zoom was within is gone with another focus or another tree.
  if (turned || "focus" in changes) state.zoom = WHOLE;
  Object.assign(state, changes);
  draw(scrolled || turned);
  const address = addressOf(state);
  if (location.hash.slice(1) === address) return;
  if (keep) {
    location.hash = address;
    return;
  }
  try {
    history.replaceState(null, "", `#${address}`);
  } catch {
    // A browser may refuse a hundred changes in as many moments; the next one tells all of it.
  }
}

function draw(scrolled = false) {
  state.room = Math.max(260, innerHeight - element("graph").getBoundingClientRect().top - scrollY - 56);
  scene = sceneIn(state);
  state.focused = blockOf(scene, state.focus);
  if (!state.focused) state.focus = "";
  search = searchFor(state.search);
  found = search && scene.parts.map((part) => matching(part.tree, search.hits));
  graph.update(state, scene, found, (id) => describe(state, scene, id), scrolled);
  const listed = [state.type, state.search, state.sort, state.palette.theme].join("\n");
  if (listed !== drawn) table.update(state, search?.hits);
  drawn = listed;
  drawControls();
  drawPath();
  say(state.focused || null);
}

function drawControls() {
  const isTop = state.view === "sandwich" ? null : scene.parts[0].step > 0;
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", button.dataset.view === state.view);
  element("turn").setAttribute("aria-pressed", isTop === true);
  element("turn").disabled = isTop === null;
  element("hide").checked = state.hide;
  element("keys").checked = state.keys;
  element("type").value = state.type;
  element("width").value = state.width;
  if (element("search").value !== state.search) element("search").value = state.search;
  element("found").textContent = foundText(state, scene, search);
  element("reset").disabled = !state.focused && !search && state.zoom.span === 1 && state.view === "flame";
  element("overhead").textContent = gatheredText(state) + overheadText(state);
  element("facts").replaceChildren(...data.facts[data.diff ? 0 : state.type].map(([name, text]) =>
    made("div", {}, made("dt", { textContent: name }), made("dd", {}, made("bdi", { textContent: text })))));
}

function drawPath() {
  const part = partOf(scene, state.focused);
  const path = pathTo(part, nodeOf(state.focused)).map((node) => idOf(part, node));
  const nameOf = (id) => names[part.tree.name[nodeOf(id)]];
  if (path.length < 2) {
    const hint = state.view === "sandwich" ? sandwichText(state, scene) : "Choose a block to focus on it.";
    element("path").replaceChildren(hint);
    return;
  }
  const steps = path.slice(0, -1).map((id) => made("button", { type: "button", textContent: nameOf(id), onclick: () => focusOn(id) }));
  // Of a deep stack the ends matter: where it comes from, and the nearest callers.
  const shown = steps.length > 8 ? [...steps.slice(0, 2), made("span", { textContent: "…" }), ...steps.slice(-5)] : steps;
  element("path").replaceChildren(...shown.flatMap((step) => [step, " › "]), nameOf(path.at(-1)));
}

function say(id) {
  const status = element("status");
  element("actions").hidden = id === null;
  id ??= 0; // of nothing in particular, the whole
  const part = partOf(scene, id), node = nodeOf(id);
  const name = names[part.tree.name[node]];
  const focus = nodeOf(state.focused);
  const inFocus = focus && !data.diff && partOf(scene, state.focused) === part
    ? `, ${percent(part.tree.total[0][node], part.tree.total[0][focus])} of the focused block` : "";
  status.replaceChildren(made("b", { textContent: name }), describe(state, scene, id).slice(name.length + 1) + inFocus);
}

function showTip(id, event) {
  const tip = element("tip");
  const [name, ...lines] = tipLines(state, scene, id);
  tip.replaceChildren(made("b", { textContent: name }), ...lines.map((line) => made("div", { textContent: line })));
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  const below = event.clientY + 18;
  tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
}

function drawLegend() {
  const shades = state.palette.shades[NORMAL];
  const swatch = (tone) => { const one = made("i"); one.style.background = shades[tone].fill; return one; };
  const entry = (text, ...tones) => made("span", {}, ...tones.map(swatch), ` ${text}`);
  if (data.diff) {
    const steps = ["gone", "−50 % or more", "−10 %", "−1 %", "unchanged", "+1 %", "+10 %", "+50 % or more", "new"];
    element("legend").replaceChildren(
      ...steps.map((text, step) => entry(text, FIRST_CHANGE + step)),
      made("span", { textContent: "▼ less than before · ▲ more" }),
    );
    return;
  }
  const has = (kind) => kinds.some((one, name) => one === kind && name !== UNRESOLVED);
  const texts = { [NATIVE]: "native code without a symbol", [TRAMPOLINE]: "interpreter overhead", [UNKNOWN]: "unknown", [TRUNCATED]: "cut by the server", [REST]: "several functions too narrow to draw" };
  element("legend").replaceChildren(
    entry("functions, one colour a class", 0, 3, 2),
    ...Object.entries(texts).filter(([kind]) => has(Number(kind))).map(([kind, text]) => entry(text, HUES - 1 + Number(kind))),
  );
}

// ---- what people do ----

function focusOn(id, keyboard = false) {
  graph.current = id;
  apply({ focus: markOf(scene, id) }, { keep: true });
  if (keyboard) graph.items.get(graph.current)?.focus({ preventScroll: true });
}

function view(name) {
  if (name !== "sandwich") {
    apply({ view: name, focus: "" }, { keep: true, scrolled: true });
    return;
  }
  const part = partOf(scene, graph.current), node = nodeOf(graph.current);
  const isFunction = node || state.view === "sandwich";
  const first = rowsIn({ ...state, sort: "" }, columnsIn(state), null).map((row) => data.functions[row]).find((fn) => kinds[fn] !== BUCKET);
  const fn = isFunction ? part.tree.name[node] : first;
  if (fn === undefined || kinds[fn] === BUCKET || kinds[fn] === REST) return;
  apply({ view: "sandwich", fn, focus: "" }, { keep: true, scrolled: true });
}

async function copyName(name) {
  const done = await copyText(names[name]);
  element("actions").hidden = true;
  element("status").replaceChildren(done ? "Copied " : "This browser does not let the page copy ", made("b", { textContent: names[name] }));
}

const currentName = () => partOf(scene, graph.current).tree.name[nodeOf(graph.current)];

/** One step back: the menu, then the search, the zoom, the focus, then the view. */
function back() {
  const held = element("graph").contains(document.activeElement);
  if (element("save").open) {
    element("save").open = false;
    element("save").querySelector("summary").focus();
  } else if (state.search) apply({ search: "" });
  else if (state.zoom.span < 1) apply({ zoom: WHOLE });
  else if (state.focused) { graph.current = 0; apply({ focus: "" }, { keep: true }); }
  else if (state.view !== "flame") view("flame");
  if (held) graph.items.get(graph.current)?.focus({ preventScroll: true });
}

const SAVED = {
  svg: () => saveText(svgText(svgOf(graph.picture, graph.width, graph.rows, (id) => describe(state, scene, id))), "image/svg+xml", "svg"),
  png: () => saveImage(graph.picture, graph.width, graph.rows),
  speedscope: () => saveText(speedscopeText(wholeTree(state), state), "application/json", "speedscope.json"),
  folded: () => saveText(foldedText(wholeTree(state)), "text/plain", "folded"),
};

// ---- pointer and keys ----

element("blocks").addEventListener("focusin", (event) => {
  const id = event.target.dataset.id;
  if (id !== undefined) { graph.current = Number(id); say(graph.current); }
});
element("graph").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = { Home: () => graph.move(0), Enter: () => focusOn(graph.current, true), " ": () => focusOn(graph.current, true) };
  const act = event.key.startsWith("Arrow") ? () => graph.move(graph.beside(event.key)) : actions[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
const KEYS = {
  f: () => view("flame"), i: () => view("inverted"), s: () => view("sandwich"),
  r: () => element("turn").click(), h: () => element("hide").click(), c: () => copyName(currentName()),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const typing = event.target === element("search");
  const choosing = event.target.tagName === "SELECT";
  if (key === "escape") { event.preventDefault(); back(); }
  else if (key === "/" && !typing) { event.preventDefault(); element("search").focus(); element("search").select(); }
  else if (key === "enter" && typing) graph.move(graph.nextMatch(1));
  else if (typing || choosing || !state.keys) return;
  else if (key === "n") graph.move(graph.nextMatch(event.shiftKey ? -1 : 1));
  else if (KEYS[key]) {
    const held = element("graph").contains(document.activeElement);
    KEYS[key]();
    if (held) graph.items.get(graph.current)?.focus({ preventScroll: true });
  }
});
element("search").addEventListener("input", (event) => apply({ search: event.target.value }));
element("reset").addEventListener("click", () => { graph.current = 0; apply({ search: "", focus: "", view: "flame" }, { keep: true }); });
element("turn").addEventListener("click", () => apply({ root: scene.parts[0].step > 0 ? "bottom" : "top" }));
element("hide").addEventListener("change", (event) => apply({ hide: event.target.checked, focus: "" }));
element("keys").addEventListener("change", (event) => apply({ keys: event.target.checked }));
element("type").addEventListener("change", (event) => apply({ type: Number(event.target.value) }, { keep: true }));
element("width").addEventListener("change", (event) => apply({ width: event.target.value }));
element("copy").addEventListener("click", () => copyName(currentName()));
element("callers").addEventListener("click", () => view("sandwich"));
for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => view(button.dataset.view));
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => { SAVED[button.dataset.save](); element("save").open = false; });
}
document.addEventListener("click", (event) => { if (!element("save").contains(event.target)) element("save").open = false; });
addEventListener("resize", () => draw());
addEventListener("hashchange", () => {
  if (location.hash.slice(1) === addressOf(state)) return;
  Object.assign(state, stateFrom(location.hash));
  graph.current = 0;
  draw(true);
});

// ---- light, dark and paper ----

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
function theme(name) {
  document.documentElement.dataset.theme = name;
  element("theme").textContent = name === "dark" ? "Light" : "Dark";
  state.palette = paletteOf(name);
  drawLegend();
  if (scene) draw();
}
prefersDark.addEventListener("change", (event) => theme(event.matches ? "dark" : "light"));
element("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

// Paper is light, of one width, and shows the whole height.
addEventListener("beforeprint", () => {
  const shown = state.palette;
  state.palette = paletteOf("light");
  drawLegend();
  // A deep graph is drawn wider, so that it fills the page's width when it is made to fit its height.
  const width = Math.max(PAPER, Math.round((graph.rows * ROW) / PAPER_SHAPE));
  element("print").replaceChildren(svgOf(graph.pictureOf(width), width, graph.rows, (id) => describe(state, scene, id)));
  state.palette = shown;
});
addEventListener("afterprint", () => { element("print").replaceChildren(); drawLegend(); });

// ---- the beginning ----

data.measures.forEach((measure, at) => {
  element("type").append(made("option", { value: at, textContent: measure.unit && measure.unit !== measure.name ? `${measure.name} (${measure.unit})` : measure.name }));
});
element("types").hidden = data.diff || data.measures.length < 2;
element("widths").hidden = !data.diff;
theme(prefersDark.matches ? "dark" : "light");
draw(true);
