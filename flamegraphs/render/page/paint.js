// Puts placed blocks on a canvas or into an SVG picture, from one description of each block.

const FONT_SIZE = 12;
const FONT = `${FONT_SIZE}px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace`;
const GAP = 1;
const PADDING = 5;

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = FONT;
const CHARACTER = ruler.measureText("MMMMMMMMMM").width / 10;

/** What of a name fits into a width: all of it, the method alone, its beginning, or nothing. */
function fitting(name, kind, width) {
  const room = Math.floor((width - 2 * PADDING - GAP) / CHARACTER);
  if (room < 3) return "";
  if (name.length <= room) return name;
  const method = name.slice(name.lastIndexOf(".") + 1);
  // A class may be left out, but not for `__init__` or `<lambda>`, which say nothing alone; and
  // the dots in the name of a library separate nothing.
  if (kind === NAMED && /^[a-z0-9]/i.test(method) && method.length <= room) return method;
  return `${name.slice(0, room - 1)}…`;
}

/** Tone, name and figure of every block of a state. */
function appearance(state, scene) {
  const odd = (part, node) => (node - part.tree.first[Math.max(part.tree.parent[node], 0)]) % 2 === 1;
  return (id) => {
    const part = partOf(scene, id), node = nodeOf(id), { tree } = part;
    const name = tree.name[node], kind = kinds[name];
    const totals = tree.total.map((total) => total[node]);
    const isComparison = data.diff && kind !== ROOT;
    return {
      text: names[name],
      kind,
      tone: isComparison ? toneOfChange(...totals) : toneOfKind(kind, hues[name], odd(part, node)),
      sign: isComparison && stepOf(...totals) !== 4 ? (totals[1] > totals[0] ? "▲ " : "▼ ") : "",
      figure: () => (data.diff ? signed(totals[1] - totals[0], state) : written(totals[0], state)),
    };
  };
}

/** The label of a block, and its figure where there is room for both. */
function labelsOf(block, width) {
  if (width < 3 * CHARACTER) return ["", ""];
  const name = fitting(block.text, block.kind, width - block.sign.length * CHARACTER);
  if (!name) return [block.sign.trim(), ""];
  const label = block.sign + name;
  const left = width - label.length * CHARACTER - 5 * PADDING;
  if (name.length < block.text.length || left < 6 * CHARACTER) return [label, ""];
  const figure = block.figure();
  return [label, figure.length * CHARACTER <= left ? figure : ""];
}

/**
 * Paint the rows that lie between two heights.
 * `picture` has: blocks, top (the first row), lookOf, marked (or null), pivot (a block that both
 * trees of the scene start from, or null), palette.
 */
function paint(context, picture, from, to) {
  const { blocks, top, lookOf, marked, palette } = picture;
  context.font = FONT;
  context.textBaseline = "middle";
  for (let at = 0; at < blocks.id.length; at += 1) {
    const y = (blocks.row[at] - top) * ROW;
    if (y + ROW < from || y > to) continue;
    const x = blocks.x[at], w = blocks.w[at], id = blocks.id[at];
    const isMatch = marked !== null && marked(id);
    const state = isMatch ? NORMAL : marked ? DIMMED : blocks.above[at] ? ABOVE : NORMAL;
    const block = lookOf(id);
    const { fill, ink } = palette.shades[state][block.tone];
    const inner = w > 3 ? w - GAP : w;
    context.fillStyle = fill;
    context.fillRect(x, y, inner, ROW - GAP);
    if (isMatch) {
      context.fillStyle = palette.match;
      if (w > 8) {
        context.fillRect(x, y, inner, 2);
        context.fillRect(x, y + ROW - GAP - 2, inner, 2);
        context.fillRect(x, y, 2, ROW - GAP);
        context.fillRect(x + inner - 2, y, 2, ROW - GAP);
      } else {
        context.fillRect(x, y, Math.max(inner, 1), ROW - GAP);
      }
    }
    if (id === picture.pivot && w > 8) {
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, inner - 2, ROW - GAP - 2);
    }
    const [label, figure] = labelsOf(block, w);
    if (!label) continue;
    context.fillStyle = ink;
    context.textAlign = "left";
    context.fillText(label, x + PADDING, y + ROW / 2);
    if (figure) {
      context.textAlign = "right";
      context.fillText(figure, x + inner - PADDING, y + ROW / 2);
    }
  }
}

const SVG = "http://www.w3.org/2000/svg";
function svgElement(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** The same as an SVG element; each block has a tooltip. */
function svgOf(picture, width, rows, describe) {
  const { blocks, top, lookOf, marked, palette } = picture;
  const height = rows * ROW;
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": data.title,
    "font-family": "DejaVu Sans Mono, Menlo, Consolas, monospace", "font-size": FONT_SIZE - 0.5,
  });
  svg.append(svgElement("rect", { width, height, fill: palette.card }));
  for (let at = 0; at < blocks.id.length; at += 1) {
    const x = blocks.x[at], w = blocks.w[at], id = blocks.id[at];
    const y = (blocks.row[at] - top) * ROW;
    const isMatch = marked !== null && marked(id);
    const state = isMatch ? NORMAL : marked ? DIMMED : blocks.above[at] ? ABOVE : NORMAL;
    const block = lookOf(id);
    const { fill, ink } = palette.shades[state][block.tone];
    const group = svgElement("g", {});
    group.append(svgElement("title", {}, describe(id)));
    const box = { x: x.toFixed(2), y, width: (w > 3 ? w - GAP : w).toFixed(2), height: ROW - GAP, fill };
    group.append(svgElement("rect", isMatch ? { ...box, stroke: palette.match, "stroke-width": 2 } : box));
    const [label, figure] = labelsOf(block, w);
    if (label) group.append(svgElement("text", { x: (x + PADDING).toFixed(2), y: y + 15, fill: ink }, label));
    if (figure) group.append(svgElement("text", { x: (x + w - GAP - PADDING).toFixed(2), y: y + 15, fill: ink, "text-anchor": "end" }, figure));
    svg.append(group);
  }
  return svg;
}
