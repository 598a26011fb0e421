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
  return (id) => {
    const part = partOf(scene, id), node = nodeOf(id), { tree } = part;
    const name = tree.name[node], kind = kinds[name];
    const totals = tree.total.map((total) => total[node]);
    const isComparison = data.diff && kind !== ROOT;
    return {
      text: names[name],
      kind,
      tone: isComparison ? toneOfChange(...totals) : toneOfKind(kind, hues[name]),
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

/** A colour as the four bytes of a pixel. */
const pixelOf = (colour) => {
  const [r, g, b] = channels(colour);
  return new Uint32Array(new Uint8ClampedArray([r, g, b, 255]).buffer)[0];
};

/** The state in which a block is painted. */
const stateOf = (picture, at, isMatch) => (isMatch || (!picture.marked && !picture.blocks.above[at]) ? NORMAL : picture.marked ? DIMMED : ABOVE);

/**
 * Paint what lies between two heights onto a canvas, from its height `top` on (in its own pixels, of
 * which `scale` are one of ours). `picture` has: blocks, first (the row at the top), lookOf, marked
 * (or null), pivot (a block that both trees of the scene start from, or null), palette.
 *
 * Colours are written as pixels, one line a row that is then repeated, because tens of thousands of
 * rectangles take a canvas several times as long; what is written on the blocks is drawn over them.
 */
function paint(context, picture, from, to, top, scale) {
  const { blocks, first, lookOf, marked, palette } = picture;
  const width = context.canvas.width, height = Math.ceil((to - from) * scale);
  if (!width || height < 1) return;
  const rows = Math.ceil(to / ROW) - Math.floor(from / ROW) + 1;
  const firstRow = first + Math.floor(from / ROW);
  const card = pixelOf(palette.card), match = pixelOf(palette.match);
  const colours = palette.shades.map((tones) => tones.map(({ fill }) => pixelOf(fill)));
  const lines = new Uint32Array(width * rows).fill(card);
  const written = [];
  for (let at = 0; at < blocks.id.length; at += 1) {
    const row = blocks.row[at] - firstRow;
    if (row < 0 || row >= rows) continue;
    const id = blocks.id[at], w = blocks.w[at];
    const isMatch = marked !== null && marked(id);
    const look = lookOf(id);
    const state = stateOf(picture, at, isMatch);
    const start = Math.round(blocks.x[at] * scale);
    const end = Math.min(width, Math.max(start + 1, Math.round((blocks.x[at] + w - (w > 3 ? GAP : 0)) * scale)));
    lines.fill(isMatch && w <= 8 ? match : colours[state][look.tone], row * width + start, row * width + end);
    if (w >= 3 * CHARACTER || (isMatch && w > 8) || id === picture.pivot) written.push([at, look, state, isMatch, start / scale, (end - start) / scale]);
  }
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer).fill(card);
  for (let row = 0; row < rows; row += 1) {
    const line = lines.subarray(row * width, (row + 1) * width);
    const y = (firstRow - first + row) * ROW - from;
    const last = Math.min(height, Math.round((y + ROW - GAP) * scale));
    for (let at = Math.max(0, Math.round(y * scale)); at < last; at += 1) pixels.set(line, at * width);
  }
  context.putImageData(image, 0, top);

  context.save();
  context.setTransform(scale, 0, 0, scale, 0, top - from * scale);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const [at, look, state, isMatch, x, w] of written) {
    const y = (blocks.row[at] - first) * ROW;
    const { ink } = palette.shades[state][look.tone];
    if (isMatch || blocks.id[at] === picture.pivot) {
      context.strokeStyle = isMatch ? palette.match : ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, w - 2, ROW - GAP - 2);
    }
    const [label, figure] = labelsOf(look, blocks.w[at]);
    if (!label) continue;
    context.fillStyle = ink;
    context.textAlign = "left";
    context.fillText(label, x + PADDING, y + ROW / 2);
    if (figure) {
      context.textAlign = "right";
      context.fillText(figure, x + w - PADDING, y + ROW / 2);
    }
  }
  context.restore();
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
  const { blocks, first, lookOf, marked, palette } = picture;
  const height = rows * ROW;
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": data.title, preserveAspectRatio: "xMidYMin meet",
    "font-family": "DejaVu Sans Mono, Menlo, Consolas, monospace", "font-size": FONT_SIZE - 0.5,
  });
  svg.append(svgElement("rect", { width, height, fill: palette.card }));
  for (let at = 0; at < blocks.id.length; at += 1) {
    const x = blocks.x[at], w = blocks.w[at], id = blocks.id[at];
    const y = (blocks.row[at] - first) * ROW;
    const isMatch = marked !== null && marked(id);
    const state = stateOf(picture, at, isMatch);
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
