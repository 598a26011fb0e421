// The profile that was put into this page: names, their kinds, what was measured, and its trees.

const data = JSON.parse(document.getElementById("data").textContent);
const names = data.names;
const kinds = data.kinds;
const hues = data.hues;
const UNRESOLVED = names.push("(unresolved)") - 1;
kinds.push(BUCKET);
hues.push(0);

/** What the two columns of a comparison are worth in width. */
const WIDTHS = {
  both: (totals, node) => totals[0][node] + totals[1][node],
  before: (totals, node) => totals[0][node],
  after: (totals, node) => totals[1][node],
};
const SINGLE = (totals, node) => totals[0][node];

/** The measures that are shown at once: one, or before and after. */
const sidesOf = (state) => (data.diff ? data.measures : [data.measures[state.type]]);
const unitOf = (state) => sidesOf(state)[0].unit;
const written = (value, state) => amount(value, unitOf(state), data.binary);
const signed = (value, state) => (value > 0 ? "+" : "") + written(value, state);

/** Keeps the last few results of a function of the state, by a key. */
function remembered(keyOf, make) {
  const held = new Map();
  return (state) => {
    const key = keyOf(state);
    if (!held.has(key)) {
      if (held.size > 3) held.delete(held.keys().next().value);
      held.set(key, make(state));
    }
    return held.get(key);
  };
}

const widthOf = (state) => (data.diff ? WIDTHS[state.width] : SINGLE);
const measured = (state) => `${state.type} ${data.diff ? state.width : ""}`;

/** The tree as it was recorded. */
const wholeTree = remembered(measured, (state) =>
  treeOf(data.parent, data.name, sidesOf(state).map((side) => side.own), widthOf(state)));
/** The tree without overhead, where that is wanted. */
const shownTree = remembered((state) => `${measured(state)} ${state.hide}`, (state) =>
  (state.hide ? withoutOverhead(wholeTree(state), kinds, UNRESOLVED, widthOf(state)) : wholeTree(state)));
/** From the ends of the stacks: as it came with the page where the other tree is cut, else made of it. */
const invertedTree = remembered((state) => `${measured(state)} ${state.hide}`, (state) => {
  if (!data.inverted) return inverted(shownTree(state), names.length, widthOf(state));
  const { parent, name, own } = data.inverted;
  const tree = treeOf(parent, name, data.diff ? own : [own[state.type]], widthOf(state));
  return state.hide ? invertedWithoutOverhead(tree, kinds, UNRESOLVED, widthOf(state)) : tree;
});
/** Callers and callees; those of a hidden function are looked up where it is not hidden. */
const sandwichTrees = remembered((state) => `${measured(state)} ${state.hide} ${state.fn}`, (state) => {
  const isHidden = [NATIVE, TRAMPOLINE, UNKNOWN].includes(kinds[state.fn]);
  return sandwich((isHidden ? wholeTree : shownTree)(state), state.fn, names.length, widthOf(state));
});

/** Whether the root stands at the top: as chosen, or where the graph is deeper than its window. */
const isRootOnTop = (state, tree) => (state.root ? state.root === "top" : (tree.deepest + 1) * ROW > state.room);

/** What is drawn in a state. */
function sceneIn(state) {
  if (state.view === "sandwich") {
    const { callers, callees } = sandwichTrees(state);
    return sceneOf(callers, callees, state.zoom);
  }
  const tree = state.view === "inverted" ? invertedTree(state) : shownTree(state);
  return isRootOnTop(state, tree) ? sceneOf(null, tree, state.zoom) : sceneOf(tree, null, state.zoom);
}

/** The largest total that shares are written of: of the whole profile, whatever is in view. */
const wholeOf = (state) => shownTree(state).total.map((total) => total[0]);
