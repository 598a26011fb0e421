// Where blocks lie. A scene has one tree, or two that grow apart from a common root (callers and
// callees); a block is identified by its `id`, which says the tree and the node.

const ROW = 22;

/**
 * The trees of a view in their rows: `up` is the tree that grows upwards, `down` the other one.
 * Row 0 is the top one.
 */
function sceneOf(up, down, zoom) {
  const above = up ? up.deepest : 0;
  const below = down ? down.deepest : 0;
  const parts = [];
  if (up) parts.push({ tree: up, row: above, step: -1 });
  if (down) parts.push({ tree: down, row: above, step: 1 });
  parts.forEach((part, place) => { part.place = place; });
  return { parts, rows: above + below + 1, zoom };
}

const idOf = (part, node) => node * 2 + part.place;
const partOf = (scene, id) => scene.parts[id % 2];
const nodeOf = (id) => id >> 1;

/**
 * The span of a part that fills the width: the focused block, or everything; of that, what the
 * scene's `zoom` has (where it begins and how much it is, of 1).
 */
function windowOf(scene, part, focus) {
  const node = partOf(scene, focus) === part ? nodeOf(focus) : 0;
  const whole = part.tree.width[node] || 1;
  return { node, from: part.tree.start[node] + scene.zoom.from * whole, span: scene.zoom.span * whole };
}

/** A zoom by a factor around a place, and moved by a part of what is in view; within the whole. */
function zoomed(zoom, factor, place, move = 0) {
  const span = Math.min(1, Math.max(1e-7, zoom.span / factor));
  const from = zoom.from + place * (zoom.span - span) + move * span;
  return { from: Math.min(1 - span, Math.max(0, from)), span };
}

/** The blocks from the root to one, both included. */
function pathTo(part, node) {
  const path = [];
  for (let step = node; step >= 0; step = part.tree.parent[step]) path.push(step);
  return path.reverse();
}

/**
 * Place all blocks that can be distinguished at a width in pixels, as columns. Blocks narrower than a
 * pixel are as wide as one, and where several share it the first is drawn: a graph of thousands of
 * narrow functions stays a graph.
 */
function placed(scene, focus, width) {
  const blocks = { id: [], x: [], w: [], row: [], above: [] };
  const put = (part, node, x, w, above) => {
    blocks.id.push(idOf(part, node));
    blocks.x.push(x);
    blocks.w.push(w);
    blocks.row.push(part.row + part.step * part.tree.depth[node]);
    blocks.above.push(above);
  };
  const filled = new Int32Array(scene.rows).fill(-1); // up to which pixel a row is full
  for (const part of scene.parts) {
    const { tree } = part;
    const { node: focused, from, span } = windowOf(scene, part, focus);
    const scale = width / span;
    for (const node of pathTo(part, focused)) {
      if (node || !part.place) put(part, node, 0, width, node !== focused);
    }
    const waiting = [focused];
    while (waiting.length) {
      const parent = waiting.pop();
      const row = part.row + part.step * (tree.depth[parent] + 1);
      const end = tree.first[parent] + tree.size[parent];
      const shown = waiting.length;
      for (let node = tree.first[parent]; node < end; node += 1) {
        if (!tree.width[node]) break; // the widest comes first
        const x = (tree.start[node] - from) * scale, w = tree.width[node] * scale;
        if (x >= width) break;
        if (x + w <= 0) continue;
        if (w >= 1) {
          // A block that begins beside the window has its label where it can be read.
          const left = Math.max(x, 0);
          put(part, node, left, Math.min(x + w, width) - left, false);
          filled[row] = Math.ceil(x + w) - 1;
        } else {
          const pixel = Math.floor(x);
          if (filled[row] >= pixel) continue;
          put(part, node, pixel, 1, false);
          filled[row] = pixel;
        }
        waiting.push(node);
      }
      // From left to right, one subtree after another.
      for (let a = shown, b = waiting.length - 1; a < b; a += 1, b -= 1) {
        [waiting[a], waiting[b]] = [waiting[b], waiting[a]];
      }
    }
  }
  return blocks;
}

/** Where a block lies at a width, whether or not it is wide enough to be drawn. */
function boxOf(scene, focus, id, width) {
  const part = partOf(scene, id), node = nodeOf(id), { tree } = part;
  const row = part.row + part.step * tree.depth[node];
  const { node: focused, from, span } = windowOf(scene, part, focus);
  if (pathTo(part, focused).includes(node)) return { x: 0, w: width, row };
  const x = ((tree.start[node] - from) / span) * width;
  const w = (tree.width[node] / span) * width;
  const left = Math.max(x, 0), right = Math.min(x + w, width);
  return w > 0 && right > left - 0.01 ? { x: left, w: right - left, row } : null;
}

/** The block at a row and a pixel, or null. */
function blockAt(scene, focus, row, x, width) {
  for (const part of scene.parts) {
    const depth = (row - part.row) * part.step;
    if (depth < 0 || depth > part.tree.deepest) continue;
    const { node: focused, from, span } = windowOf(scene, part, focus);
    const path = pathTo(part, focused);
    if (depth < path.length) return idOf(part, path[depth]);
    const { tree } = part;
    const value = from + (x / width) * span;
    let node = focused;
    while (tree.depth[node] < depth) {
      let low = tree.first[node], high = low + tree.size[node];
      const end = high;
      while (low < high) { // the first child that ends beyond the value
        const middle = (low + high) >> 1;
        if (tree.start[middle] + tree.width[middle] > value) high = middle;
        else low = middle + 1;
      }
      if (low === end) return null;
      node = low;
    }
    return idOf(part, node);
  }
  return null;
}
