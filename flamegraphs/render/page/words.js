// What is said of a block, of a search and of the whole.

/**
 * What a block has itself, one value a side. Inverted, that is all of the functions that the stacks
 * end in; a caller of one function has nothing in the stacks that lead there.
 */
function selfOf(state, scene, id) {
  const part = partOf(scene, id), node = nodeOf(id), { tree } = part;
  if (state.view === "inverted") return tree.total.map((total) => (tree.depth[node] === 1 ? total[node] : 0));
  if (state.view === "flame" || part.place === 1) return tree.own.map((own) => own[node]);
  return scene.parts[1].tree.own.map((own) => (node === 0 ? own[0] : 0));
}

/** One line for the status bar and the screen reader. */
function describe(state, scene, id) {
  const { tree } = partOf(scene, id), node = nodeOf(id);
  const name = names[tree.name[node]];
  const whole = wholeOf(state);
  if (data.diff) {
    const [before, after] = tree.total.map((total) => total[node]);
    const [ownBefore, ownAfter] = selfOf(state, scene, id);
    return `${name}: total ${written(before, state)} → ${written(after, state)}, ${signed(after - before, state)} (${change(before, after)}), ` +
      `self ${written(ownBefore, state)} → ${written(ownAfter, state)}`;
  }
  const total = tree.total[0][node], [own] = selfOf(state, scene, id);
  return `${name}: total ${written(total, state)} (${percent(total, whole[0])}), self ${written(own, state)} (${percent(own, whole[0])})`;
}

/** The lines of the box beside the pointer; the first is the name. */
function tipLines(state, scene, id) {
  const part = partOf(scene, id), { tree } = part, node = nodeOf(id);
  const name = tree.name[node];
  const whole = wholeOf(state);
  const lines = [names[name]];
  if (data.diff) {
    for (const [title, columns] of [["Total", tree.total.map((total) => total[node])], ["Self", selfOf(state, scene, id)]]) {
      const [before, after] = columns;
      lines.push(`${title} ${written(before, state)} → ${written(after, state)} · ${signed(after - before, state)} · ${change(before, after)}`);
    }
  } else {
    const total = tree.total[0][node], [own] = selfOf(state, scene, id);
    lines.push(`Total ${written(total, state)} · ${percent(total, whole[0])}`, `Self ${written(own, state)} · ${percent(own, whole[0])}`);
    if (own === 0 && node !== 0 && state.view === "flame") lines.push("Only leads to others: look further from the root.");
  }
  if (kinds[name] === NATIVE && state.view === "flame") lines.push("Native code; the named function it belongs to is nearer the root.");
  if (kinds[name] === REST) lines.push("Too narrow for this page; the table has every function.");
  return lines;
}

/** What a search has found; each stack counts once. */
function foundText(state, scene, search) {
  if (!search) return "";
  const marks = scene.parts.map((part) => matching(part.tree, search.hits));
  const count = marks.reduce((sum, one) => sum + one.count, 0);
  const note = search.note ? ` (${search.note})` : "";
  const inProfile = matching(shownTree(state), search.hits);
  if (!inProfile.count) return `no match${note}`;
  const whole = wholeOf(state);
  const [before, after] = inProfile.sums;
  const figure = data.diff
    ? `${written(before, state)} → ${written(after, state)}, ${signed(after - before, state)}`
    : `${written(before, state)} (${percent(before, whole[0])})`;
  return `${count === 1 ? "1 block" : `${count.toLocaleString("en")} blocks`}, ${figure}${note}`;
}

/** What callers and callees are shown of, and how much of it where the graph has not every path. */
function sandwichText(state, scene) {
  const drawn = scene.parts[0].tree.total.map((total) => total[0]);
  const row = data.functions.indexOf(state.fn);
  const all = sidesOf(state).map((side) => (row < 0 ? 0 : side.totals[row]));
  const isPart = all.some((total, side) => total > drawn[side]);
  const figure = (totals) => totals.map((total) => written(total, state)).join(" → ");
  return `Callers above and callees below ${names[state.fn]}` + (isPart ? ` (${figure(drawn)} of ${figure(all)}: the rest is in blocks too narrow for this page)` : "");
}

/** What part of the graph is in blocks that stand for several functions. */
function gatheredText(state) {
  const tree = state.view === "inverted" ? invertedTree(state) : shownTree(state);
  let gathered = 0, whole = 0;
  for (let node = 0; node < tree.count; node += 1) {
    for (const own of tree.own) {
      whole += own[node];
      if (kinds[tree.name[node]] === REST) gathered += own[node];
    }
  }
  return gathered ? `${percent(gathered, whole)} ends in pale blocks that stand for several functions too narrow for this page; the table has every function. ` : "";
}

/** What the switch hides, or a sentence on why nothing changes. */
function overheadText(state) {
  const sums = wholeTree(state).total.map(() => 0);
  const tree = wholeTree(state);
  for (let node = 0; node < tree.count; node += 1) {
    if ([NATIVE, TRAMPOLINE, UNKNOWN].includes(kinds[tree.name[node]])) tree.own.forEach((own, side) => { sums[side] += own[node]; });
  }
  if (!sums.some((sum) => sum)) return "";
  const figure = sums.map((sum) => written(sum, state)).join(" → ");
  return state.hide ? `${figure} of native code counts for the functions that called it` : `${figure} ends in native code`;
}
