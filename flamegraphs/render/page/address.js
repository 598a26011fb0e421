// The part of the address after "#" keeps what is seen: a copied link shows the same.

const CHOICES = {
  view: ["flame", "inverted", "sandwich"],
  root: ["top", "bottom"],
  width: ["both", "before", "after"],
};

const WHOLE = { from: 0, span: 1 };

/** A zoom as it is written, `0.25~0.5`: where it begins, and how much it is. */
function zoomFrom(text) {
  const [from, span] = (/^[\d.e-]+~[\d.e-]+$/.test(text ?? "") ? text : "0~1").split("~").map(Number);
  return from >= 0 && span > 0 && span <= 1 ? { from: Math.min(from, 1 - span), span } : WHOLE;
}
const zoomText = ({ from, span }) => `${Number(from.toPrecision(6))}~${Number(span.toPrecision(6))}`;

/** What the address says, over what is usual; whatever it says that does not fit is ignored. */
function stateFrom(address) {
  const asked = new URLSearchParams(address.replace(/^#/, ""));
  const chosen = (key, otherwise) => (CHOICES[key].includes(asked.get(key)) ? asked.get(key) : otherwise);
  const fn = asked.has("function") ? names.indexOf(asked.get("function")) : -1;
  const view = chosen("view", "flame");
  const type = data.measures.findIndex((measure) => measure.name === asked.get("type"));
  return {
    view: view === "sandwich" && fn < 0 ? "flame" : view,
    fn: fn < 0 ? null : fn,
    focus: /^[cd][0-9a-f]{1,8}$/.test(asked.get("focus") ?? "") ? asked.get("focus") : "",
    search: asked.get("search") ?? "",
    type: Math.max(type, 0),
    hide: asked.get("native") !== "shown",
    keys: asked.get("keys") !== "off",
    root: chosen("root", null),
    zoom: zoomFrom(asked.get("zoom")),
    width: chosen("width", "both"),
    sort: /^-?[a-z]+$/.test(asked.get("sort") ?? "") ? asked.get("sort") : "",
  };
}

/** Write a state; what is usual is left out. */
function addressOf(state) {
  const said = new URLSearchParams();
  if (state.view !== "flame") said.set("view", state.view);
  if (state.view === "sandwich") said.set("function", names[state.fn]);
  if (state.focus) said.set("focus", state.focus);
  if (state.search) said.set("search", state.search);
  if (state.type) said.set("type", data.measures[state.type].name);
  if (!state.hide) said.set("native", "shown");
  if (!state.keys) said.set("keys", "off");
  if (state.zoom.span < 1) said.set("zoom", zoomText(state.zoom));
  if (state.root) said.set("root", state.root);
  if (state.width !== "both") said.set("width", state.width);
  if (state.sort) said.set("sort", state.sort);
  return said.toString();
}

/** A block as the address names it: by its path, so that a page of newer data finds it as well. */
function markOf(scene, id) {
  if (!nodeOf(id)) return "";
  const part = partOf(scene, id);
  const marks = (part.marks ??= fingerprints(part.tree, names));
  return (part.place ? "d" : "c") + (marks[nodeOf(id)] >>> 0).toString(16);
}

/** The block that an address names, or the root. */
function blockOf(scene, mark) {
  const part = scene.parts[mark.startsWith("d") ? 1 : 0];
  if (!mark || !part) return 0;
  const marks = (part.marks ??= fingerprints(part.tree, names));
  const node = marks.indexOf(parseInt(mark.slice(1), 16));
  return node < 0 ? 0 : idOf(part, node);
}
