// The graph on the screen: a canvas as large as the window of the graph, which repaints what is
// scrolled into view; and over it the tree for keyboard and screen reader, one element a block. Of a
// large graph that tree has the neighbourhood of the current block and grows with every step.

const MOST_ITEMS = 300;
const BESIDE = 40;
const CLICK = 4; // pixels that the pointer may move in a click

class Graph {
  /** `on` has focus(id), zoom(zoom), point(id, event) and leave(). */
  constructor(on) {
    this.on = on;
    this.frame = element("graph");
    this.canvas = element("canvas");
    this.space = element("blocks");
    this.current = 0;
    this.held = null; // where the pointer was when it moved the graph last
    this.dragged = 0;
    this.frame.addEventListener("scroll", () => this.paint());
    this.frame.addEventListener("click", (event) => {
      const id = this.dragged > CLICK ? null : this.at(event);
      if (id !== null) on.focus(id, true);
    });
    this.frame.addEventListener("pointerdown", (event) => {
      this.held = event.button === 0 ? event.clientX : null;
      this.dragged = 0;
    });
    addEventListener("pointerup", () => { this.held = null; });
    this.frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.frame.addEventListener("pointermove", (event) => {
      if (this.held !== null && this.drag(event)) return;
      const id = this.at(event);
      this.highlight(id);
      if (id === null) on.leave();
      else on.point(id, event);
    });
    this.frame.addEventListener("pointerleave", () => { this.highlight(null); on.leave(); });
  }

  /** Draw a state anew; `scrolled` puts the root into view. */
  update(state, scene, found, describe, scrolled) {
    const begin = performance.now();
    this.scene = scene;
    this.state = state;
    this.describe = describe;
    this.width = this.frame.clientWidth;
    this.focus = state.focused;
    this.found = found;
    this.picture = this.pictureOf(this.width);
    const { blocks } = this.picture;
    let top = Infinity, bottom = 0;
    for (const row of blocks.row) {
      if (row < top) top = row;
      if (row > bottom) bottom = row;
    }
    this.rows = bottom - top + 1;
    this.picture.first = this.first = top;
    if (!boxOf(scene, this.focus, this.current, this.width)) this.current = this.focus;
    element("sheet").style.height = `${this.rows * ROW}px`;
    this.frame.style.height = `${Math.min(this.rows * ROW, state.room) + 2}px`;
    if (scrolled) {
      const root = (scene.parts[0].row - top) * ROW;
      this.frame.scrollTop = scene.parts.length > 1 ? root - state.room / 2 : root;
    }
    this.highlight(null);
    this.paint();
    this.list();
    this.frame.dataset.blocks = blocks.id.length;
    this.frame.dataset.milliseconds = (performance.now() - begin).toFixed(1);
  }

  paint() {
    const { clientWidth: width, clientHeight: height, scrollTop } = this.frame;
    const scale = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d", { alpha: false });
    paint(context, this.picture, scrollTop, scrollTop + height, 0, scale);
  }

  /** With Ctrl, or two fingers, zoom around the pointer; sideways, move what is in view. */
  wheel(event) {
    const place = (event.clientX - this.canvas.getBoundingClientRect().left) / this.width;
    const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) this.on.zoom(zoomed(this.scene.zoom, 1.002 ** -event.deltaY, place));
    else if (across && this.scene.zoom.span < 1) this.on.zoom(zoomed(this.scene.zoom, 1, 0, across / this.width));
    else return;
    event.preventDefault();
  }

  /** Move what is in view with the pointer; false while the whole is in view. */
  drag(event) {
    const moved = this.held - event.clientX;
    this.dragged += Math.abs(moved);
    this.held = event.clientX;
    if (this.scene.zoom.span === 1) return false;
    this.on.zoom(zoomed(this.scene.zoom, 1, 0, moved / this.width));
    return true;
  }

  /** All that is to be painted of the state, at a width. */
  pictureOf(width) {
    const { state, scene, found } = this;
    return {
      blocks: placed(scene, this.focus, width),
      first: this.first,
      palette: state.palette,
      pivot: scene.parts.length > 1 ? 0 : null,
      lookOf: appearance(state, scene),
      marked: found && ((id) => found[id % 2].marked[nodeOf(id)] === 1),
    };
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top + this.frame.scrollTop;
    if (x < 0 || x >= this.width || y < 0) return null;
    return blockAt(this.scene, this.focus, Math.floor(y / ROW) + this.picture.first, x, this.width);
  }

  box(id) {
    const box = boxOf(this.scene, this.focus, id, this.width);
    return box && { left: box.x, top: (box.row - this.picture.first) * ROW, width: Math.max(box.w, 2) };
  }

  highlight(id) {
    const box = id === null ? null : this.box(id);
    const mark = element("pointed");
    mark.hidden = !box;
    if (box) Object.assign(mark.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px` });
  }

  // ---- the tree for keyboard and screen reader ----

  /** Which blocks have an element: all of a small graph, else those around the current block. */
  near() {
    const drawn = this.picture.blocks.id;
    if (drawn.length <= MOST_ITEMS) return new Set([...drawn, this.current]);
    const part = partOf(this.scene, this.current), node = nodeOf(this.current), { tree } = part;
    const near = pathTo(part, node);
    for (let step = -BESIDE; step <= BESIDE; step += 1) {
      if (tree.depth[node + step] === tree.depth[node]) near.push(node + step);
    }
    for (let child = 0; child < Math.min(tree.size[node], BESIDE); child += 1) near.push(tree.first[node] + child);
    return new Set(near.map((one) => idOf(part, one)));
  }

  list() {
    const held = this.space.contains(document.activeElement);
    const items = document.createDocumentFragment();
    this.items = new Map();
    for (const id of this.near()) {
      const box = this.box(id);
      if (!box) continue;
      const item = this.item(id, box);
      this.items.set(id, item);
      items.append(item);
    }
    this.space.replaceChildren(items);
    if (held) this.items.get(this.current)?.focus({ preventScroll: true });
  }

  item(id, box) {
    const { tree } = partOf(this.scene, id), node = nodeOf(id), parent = tree.parent[node];
    const item = document.createElement("div");
    item.className = "item";
    if (this.picture.marked?.(id)) item.classList.add("match");
    item.style.cssText = `left:${box.left.toFixed(2)}px;top:${box.top}px;width:${box.width.toFixed(2)}px`;
    item.textContent = labelsOf(this.picture.lookOf(id), box.width)[0];
    const attributes = {
      role: "treeitem",
      "aria-level": tree.depth[node] + 1,
      "aria-setsize": parent < 0 ? 1 : tree.size[parent],
      "aria-posinset": parent < 0 ? 1 : node - tree.first[parent] + 1,
      "aria-label": this.describe(id),
      "aria-selected": id === this.focus,
    };
    if (tree.size[node]) attributes["aria-expanded"] = "true";
    for (const [key, value] of Object.entries(attributes)) item.setAttribute(key, value);
    item.tabIndex = id === this.current ? 0 : -1;
    item.dataset.id = id;
    return item;
  }

  /** Put the keyboard on a block. */
  move(id) {
    if (id === null || id === undefined) return;
    if (!this.box(id)) this.on.zoom(WHOLE);
    if (!this.box(id)) return;
    this.current = id;
    this.list();
    this.items.get(id).focus();
  }

  /** The block one step away from the current one; null where there is none. */
  beside(key) {
    const part = partOf(this.scene, this.current), node = nodeOf(this.current), { tree } = part;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const step = key === "ArrowLeft" ? -1 : 1;
      const other = node + step;
      return tree.depth[other] === tree.depth[node] && tree.width[other] ? idOf(part, other) : null;
    }
    const towards = key === "ArrowDown" ? 1 : -1;
    // From the root that callers and callees share, both ways lead outwards.
    const outwards = node ? part.step === towards && part : this.scene.parts.find((one) => one.step === towards);
    if (!outwards) return node ? idOf(part, tree.parent[node]) : null;
    const child = outwards.tree.first[node];
    const path = pathTo(outwards, windowOf(this.scene, outwards, this.focus).node);
    const onPath = path[path.indexOf(node) + 1];
    if (path.includes(node) && onPath !== undefined) return idOf(outwards, onPath);
    return outwards.tree.size[node] && outwards.tree.width[child] ? idOf(outwards, child) : null;
  }

  /** The next or previous match among the blocks drawn, in reading order. */
  nextMatch(step) {
    if (!this.picture.marked) return null;
    const ids = this.picture.blocks.id.filter(this.picture.marked).sort((a, b) => a - b);
    if (!ids.length) return null;
    if (step > 0) return ids.find((id) => id > this.current) ?? ids[0];
    return ids.findLast((id) => id < this.current) ?? ids.at(-1);
  }
}
