// Measures the contrast of what the page shows, as WCAG 2 defines it: of the labels on the canvas from
// their pixels, of all other text from its computed colours.

const channel = (byte) => {
  const part = byte / 255;
  return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};
const lightOf = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const contrastOf = (one, other) => {
  const [low, high] = [lightOf(one), lightOf(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

/** The contrast of every label that is painted on the canvas, by what the block is called. */
function labelContrasts() {
  const canvas = document.querySelector("#canvas"), edge = canvas.getBoundingClientRect();
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const bytes = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const found = {};
  for (const item of document.querySelectorAll("[role=treeitem]")) {
    if (item.textContent.length < 3) continue;
    const box = item.getBoundingClientRect();
    const inside = [box.left - edge.left + 4, box.top - edge.top + 3, box.width - 10, 15];
    const { data } = copy.getImageData(...inside.map((length) => Math.round(length * devicePixelRatio)));
    const counts = new Map();
    for (const pixel of new Uint32Array(data.buffer)) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
    const [fill] = [...counts].sort((a, b) => b[1] - a[1])[0];
    // The ink is the colour that is farthest from the fill; a few pixels may be between the two.
    const inks = [...counts].filter(([, count]) => count >= 4).map(([pixel]) => contrastOf(bytes(fill), bytes(pixel)));
    found[item.getAttribute("aria-label")] = Math.max(...inks);
  }
  return found;
}

/** The texts of the page, other than on the canvas, whose contrast is too low. */
function poorTexts() {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const up = function* (element) { for (let step = element; step; step = step.parentElement) yield step; };
  const behind = (element) => {
    for (const step of up(element)) {
      const colour = parts(getComputedStyle(step).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = {};
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(element);
    if (!(hasText || element.tagName === "INPUT") || element.closest("#blocks, .hidden, script, style, noscript")) continue;
    if (!element.getBoundingClientRect().width || style.visibility === "hidden") continue;
    const opacity = [...up(element)].reduce((all, step) => all * Number(getComputedStyle(step).opacity), 1);
    if (opacity === 0) continue;
    const isEmpty = element.tagName === "INPUT" && !element.value;
    const ink = parts(isEmpty ? getComputedStyle(element, "::placeholder").color : style.color);
    const ratio = opacity < 1 ? 0 : contrastOf(ink, behind(element));
    if (ratio < 4.5) found[`${element.tagName} #${element.id} ${element.textContent.slice(0, 30)}`] = ratio;
  }
  return found;
}
