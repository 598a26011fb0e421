// Trees of blocks, computed from the profile's own. Nothing here knows of the screen.
//
// A tree is a set of columns over its nodes: parents stand before children, the children of one
// node are adjacent and the widest comes first, so the nodes of one depth are adjacent as well and
// run from left to right. `own` and `total` have a column for each side: one, or before and after.

const NAMED = 0, NATIVE = 1, TRAMPOLINE = 2, UNKNOWN = 3, TRUNCATED = 4, ROOT = 5, REST = 6, BUCKET = 7;

/** Finish a tree from columns in which parents stand before children. */
function treeOf(parents, names, owns, widthOf) {
  const count = parents.length;
  const totals = owns.map((own) => Float64Array.from(own));
  for (const total of totals) {
    for (let node = count - 1; node > 0; node -= 1) total[parents[node]] += total[node];
  }
  const wide = Float64Array.from({ length: count }, (_, node) => widthOf(totals, node));
  const children = Array.from({ length: count }, () => null);
  for (let node = 1; node < count; node += 1) (children[parents[node]] ??= []).push(node);
  for (const siblings of children) siblings?.sort((a, b) => wide[b] - wide[a] || a - b);

  const order = [0];
  const tree = {
    count,
    parent: new Int32Array(count).fill(-1),
    name: new Int32Array(count),
    depth: new Int32Array(count),
    first: new Int32Array(count),
    size: new Int32Array(count),
    width: new Float64Array(count),
    start: new Float64Array(count),
    own: owns.map(() => new Float64Array(count)),
    total: owns.map(() => new Float64Array(count)),
    deepest: 0,
  };
  for (let node = 0; node < count; node += 1) {
    const old = order[node];
    tree.name[node] = names[old];
    tree.width[node] = wide[old];
    owns.forEach((own, side) => {
      tree.own[side][node] = own[old];
      tree.total[side][node] = totals[side][old];
    });
    tree.deepest = Math.max(tree.deepest, tree.depth[node]);
    tree.first[node] = order.length;
    let start = tree.start[node];
    for (const child of children[old] ?? []) {
      const place = order.push(child) - 1;
      tree.parent[place] = node;
      tree.depth[place] = tree.depth[node] + 1;
      tree.start[place] = start;
      start += wide[child];
    }
    tree.size[node] = order.length - tree.first[node];
  }
  return tree;
}

/** A tree that grows by paths; equal paths are one node. */
class Trie {
  constructor(root, sides, nameCount) {
    this.parents = [-1];
    this.names = [root];
    this.owns = Array.from({ length: sides }, () => [0]);
    this.nameCount = nameCount;
    this.places = new Map();
  }

  child(parent, name) {
    const key = parent * this.nameCount + name;
    let node = this.places.get(key);
    if (node === undefined) {
      node = this.parents.push(parent) - 1;
      this.names.push(name);
      for (const own of this.owns) own.push(0);
      this.places.set(key, node);
    }
    return node;
  }

  add(node, columns, from) {
    this.owns.forEach((own, side) => { own[node] += columns[side][from]; });
  }

  tree(widthOf) {
    return treeOf(this.parents, this.names, this.owns, widthOf);
  }
}

const anyOf = (columns, node) => columns.some((column) => column[node] !== 0);

/**
 * Leave out the interpreter's trampolines, and native code and unknown frames at the ends of
 * stacks. Their values go to the nearest named caller, as in the table; nothing is dropped.
 */
function withoutOverhead(tree, kinds, unresolved, widthOf) {
  const { count, parent, name } = tree;
  const overhead = (node) => [NATIVE, TRAMPOLINE, UNKNOWN].includes(kinds[name[node]]);
  const leads = new Uint8Array(count); // to something that is shown
  for (let node = count - 1; node > 0; node -= 1) {
    if (!overhead(node)) leads[node] = 1;
    if (leads[node]) leads[parent[node]] = 1;
  }
  const trie = new Trie(name[0], tree.own.length, kinds.length);
  const place = new Int32Array(count); // where a node went
  const owner = new Int32Array(count).fill(-1); // who its own value belongs to
  for (let node = 1; node < count; node += 1) {
    const hidden = kinds[name[node]] === TRAMPOLINE || !leads[node];
    place[node] = hidden ? place[parent[node]] : trie.child(place[parent[node]], name[node]);
    owner[node] = overhead(node) ? owner[parent[node]] : place[node];
    if (!anyOf(tree.own, node)) continue;
    trie.add(owner[node] < 0 ? trie.child(0, unresolved) : owner[node], tree.own, node);
  }
  trie.add(0, tree.own, 0);
  return trie.tree(widthOf);
}

/** The same of a tree from the ends of the stacks, which begin with what is left out. */
function invertedWithoutOverhead(tree, kinds, unresolved, widthOf) {
  const trie = new Trie(tree.name[0], tree.own.length, kinds.length);
  const place = new Int32Array(tree.count);
  for (let node = 1; node < tree.count; node += 1) {
    const kind = kinds[tree.name[node]], above = place[tree.parent[node]];
    const hidden = kind === TRAMPOLINE || (above === 0 && (kind === NATIVE || kind === UNKNOWN));
    place[node] = hidden ? above : trie.child(above, tree.name[node]);
    if (anyOf(tree.own, node)) trie.add(place[node] || trie.child(0, unresolved), tree.own, node);
  }
  return trie.tree(widthOf);
}

/** The tree from the ends of the stacks: below each function stand its callers. */
function inverted(tree, nameCount, widthOf) {
  const trie = new Trie(tree.name[0], tree.own.length, nameCount);
  for (let node = 0; node < tree.count; node += 1) {
    if (!anyOf(tree.own, node)) continue;
    let place = 0;
    for (let step = node; step > 0; step = tree.parent[step]) place = trie.child(place, tree.name[step]);
    trie.add(place, tree.own, node);
  }
  return trie.tree(widthOf);
}

/** Where a function stands without itself among its callers: there each stack counts once. */
function outermost(tree, name) {
  const inside = new Uint8Array(tree.count);
  const found = [];
  for (let node = 1; node < tree.count; node += 1) {
    inside[node] = inside[tree.parent[node]];
    if (tree.name[node] === name && !inside[node]) {
      inside[node] = 1;
      found.push(node);
    }
  }
  return found;
}

/** Who calls a function, nearest first; and what it calls. Both trees have it as their root. */
function sandwich(tree, name, nameCount, widthOf) {
  const callers = new Trie(name, tree.own.length, nameCount);
  const callees = new Trie(name, tree.own.length, nameCount);
  const place = new Int32Array(tree.count).fill(-1);
  for (const node of outermost(tree, name)) {
    let caller = 0;
    for (let step = tree.parent[node]; step > 0; step = tree.parent[step]) caller = callers.child(caller, tree.name[step]);
    callers.add(caller, tree.total, node);
    place[node] = 0;
  }
  for (let node = 1; node < tree.count; node += 1) {
    const above = place[tree.parent[node]];
    if (place[node] < 0 && above >= 0) place[node] = callees.child(above, tree.name[node]);
    if (place[node] >= 0) callees.add(place[node], tree.own, node);
  }
  return { callers: callers.tree(widthOf), callees: callees.tree(widthOf) };
}

/** Every path with a value of its own, root first, as [names, one value a side]. */
function* stacksOf(tree) {
  for (let node = 0; node < tree.count; node += 1) {
    if (!anyOf(tree.own, node)) continue;
    const path = [];
    for (let step = node; step > 0; step = tree.parent[step]) path.push(tree.name[step]);
    yield [path.reverse(), tree.own.map((own) => own[node])];
  }
}

/** Mark the blocks whose name is hit, and add up each stack once however many blocks it has. */
function matching(tree, hits) {
  const marked = new Uint8Array(tree.count);
  const inside = new Uint8Array(tree.count);
  const sums = tree.total.map(() => 0);
  let count = 0;
  for (let node = 1; node < tree.count; node += 1) {
    const under = inside[tree.parent[node]];
    const hit = hits[tree.name[node]];
    if (hit) {
      marked[node] = 1;
      count += 1;
      if (!under) tree.total.forEach((total, side) => { sums[side] += total[node]; });
    }
    inside[node] = under | hit;
  }
  return { marked, count, sums };
}

/** A number for each path of names: the same in every page that shows this path. */
function fingerprints(tree, names) {
  const ofName = new Map();
  const marks = new Uint32Array(tree.count);
  marks[0] = 2166136261;
  for (let node = 1; node < tree.count; node += 1) {
    const name = tree.name[node];
    if (!ofName.has(name)) {
      let mark = 2166136261;
      for (let at = 0; at < names[name].length; at += 1) mark = Math.imul(mark ^ names[name].charCodeAt(at), 16777619);
      ofName.set(name, mark);
    }
    marks[node] = Math.imul(marks[tree.parent[node]] ^ ofName.get(name), 16777619);
  }
  return marks;
}
