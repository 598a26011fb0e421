// The colours of blocks. Text on a block is black or white, whichever is easier to read on it, so
// that it has at least the contrast that WCAG AA asks for (4.5) in every state.

const HUES = 8;
const BLOCKS = {
  light: {
    card: "#ffffff",
    named: ["#f6a86b", "#f3bd7e", "#f0a084", "#f2cf8d", "#e9ab90", "#f8bf93", "#ecb864", "#f5ad95"],
    kinds: { 1: "#a9c1dd", 2: "#dcdce1", 3: "#c9c9d0", 4: "#d3bfe0", 5: "#e3e5e9", 6: "#e4ddd2", 7: "#c9c9d0" },
    match: "#b0005a",
  },
  dark: {
    card: "#1d2024",
    named: ["#a4571f", "#8f6327", "#a04c34", "#7f6a26", "#8d5543", "#9e6236", "#8b6414", "#9c5645"],
    kinds: { 1: "#3f5f86", 2: "#4a4c53", 3: "#585a62", 4: "#694e80", 5: "#3a3f46", 6: "#4b473f", 7: "#585a62" },
    match: "#ff9ecb",
  },
};
/** From gone to new, through unchanged: blue and red, which the colour-blind tell apart as well. */
const CHANGES = {
  light: ["#2c68ad", "#6a9fd0", "#a9cbe6", "#d8e6f1", "#eceae6", "#fae0d2", "#f5b799", "#e0795f", "#b92732"],
  dark: ["#6fb1f5", "#4a86c6", "#356597", "#2e4a67", "#3d3f44", "#6a4036", "#96493a", "#c9573f", "#ff8a73"],
};
/** The least change of each step, of what was there before. */
const STEPS = [0.01, 0.1, 0.5];

/** How far the colour of a block that stands for several functions is from that of one. */
const GATHERED = 0.6;
const NORMAL = 0, ABOVE = 1, DIMMED = 2;
const FADES = [0, 0.45, 0.72];

/** The step of a change on its scale, 0 for gone to 8 for new; 4 is unchanged. */
function stepOf(before, after) {
  if (before === after) return 4;
  if (!before) return 8;
  if (!after) return 0;
  const part = (after - before) / before;
  const size = STEPS.filter((least) => Math.abs(part) >= least).length;
  return 4 + Math.sign(part) * size;
}

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const mixed = (colour, other, part) => {
  const to = channels(other);
  const hex = (value) => Math.round(value).toString(16).padStart(2, "0");
  return `#${channels(colour).map((from, at) => hex(from + (to[at] - from) * part)).join("")}`;
};
/** The relative luminance of a colour, as WCAG defines it. */
function luminance(colour) {
  const [r, g, b] = channels(colour).map((byte) => {
    const part = byte / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
const inkOn = (fill) => (contrast(fill, "#000000") >= contrast(fill, "#ffffff") ? "#000000" : "#ffffff");

/** The fill and the ink of every tone in every state, for a theme. */
function paletteOf(theme) {
  const colours = BLOCKS[theme];
  const tones = [...colours.named, ...[1, 2, 3, 4, 5, 6, 7].map((kind) => colours.kinds[kind]), ...colours.named.map((colour) => mixed(colour, colours.kinds[REST], GATHERED)), ...CHANGES[theme]];
  const shades = FADES.map((fade) => tones.map((tone) => {
    const fill = mixed(tone, colours.card, fade);
    return { fill, ink: inkOn(fill) };
  }));
  return { theme, shades, match: colours.match, card: colours.card };
}

const FIRST_GATHERED = HUES + 7;
const FIRST_CHANGE = FIRST_GATHERED + HUES;
/** The tone of a block of a kind; one that stands for several functions has a pale hue of its own. */
const toneOfKind = (kind, hue) => (kind === NAMED ? hue : kind === REST ? FIRST_GATHERED + hue : HUES - 1 + kind);
const toneOfChange = (before, after) => FIRST_CHANGE + stepOf(before, after);
