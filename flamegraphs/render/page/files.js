// Files that the page writes: pictures of what is shown, and the stacks for other viewers.

const LARGEST = 16_384; // pixels of a side that every browser can hold
const BAND = 50 * ROW;

function save(blob, ending) {
  const link = document.createElement("a");
  const name = data.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "flame-graph";
  link.href = URL.createObjectURL(blob);
  link.download = `${name}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const saveText = (text, type, ending) => save(new Blob([text], { type }), ending);

/** Folded stacks, `a;b;c 123`; of a comparison with both values, as difffolded.pl writes them. */
function foldedText(tree) {
  // There is no escape for what separates frames and lines, and a "#" would start a comment.
  const plain = names.map((name) => name.replaceAll(";", ":").replace(/^#/, "_") || "<unknown>");
  const lines = [];
  for (const [path, values] of stacksOf(tree)) {
    lines.push(`${path.map((name) => plain[name]).join(";") || "<unknown>"} ${values.join(" ")}\n`);
  }
  return lines.join("");
}

/** The file of speedscope.app; a comparison has a profile for each side. */
function speedscopeText(tree, state) {
  const known = ["bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"];
  const profiles = sidesOf(state).map((side, at) => ({
    type: "sampled",
    name: data.diff ? `${data.title} (${side.name})` : data.title,
    unit: known.includes(side.unit) ? side.unit : "none",
    startValue: 0,
    endValue: tree.total[at][0],
    samples: [],
    weights: [],
  }));
  for (const [path, values] of stacksOf(tree)) {
    values.forEach((value, at) => {
      if (!value) return;
      profiles[at].samples.push(path);
      profiles[at].weights.push(value);
    });
  }
  return JSON.stringify({
    $schema: "https://www.speedscope.app/file-format-schema.json",
    exporter: "gpuobs flamegraphs",
    name: data.title,
    activeProfileIndex: 0,
    shared: { frames: names.map((name) => ({ name })) },
    profiles,
  });
}

function svgText(svg) {
  return new XMLSerializer().serializeToString(svg);
}

/** Paint the whole graph, not only what is scrolled into view. */
function saveImage(picture, width, rows) {
  const height = rows * ROW;
  const scale = Math.min(2, LARGEST / width, LARGEST / height);
  const canvas = Object.assign(document.createElement("canvas"), { width: Math.floor(width * scale), height: Math.floor(height * scale) });
  const context = canvas.getContext("2d", { alpha: false });
  // In bands, each of whole pixels.
  for (let from = 0; from < height; from += BAND) {
    paint(context, picture, from, Math.min(height, from + BAND), Math.round(from * scale), scale);
  }
  canvas.toBlob((blob) => save(blob, "png"), "image/png");
}
