// How amounts are written for people: scaled, with their unit, three digits that matter.

const SIZES = {
  decimal: [1000, ["B", "kB", "MB", "GB", "TB", "PB", "EB"]],
  binary: [1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]],
};
const SCALES = {
  nanoseconds: [1000, ["ns", "µs", "ms", "s"]],
  nanogcu: [1000, ["n*GCU", "u*GCU", "m*GCU", "GCU", "k*GCU", "M*GCU", "G*GCU"]],
};

/** Write a value of a unit: `55.1 GB`; of a unit that is not scaled as it is. */
function amount(value, unit, binary) {
  if (value < 0) return `−${amount(-value, unit, binary)}`;
  const scale = unit === "bytes" ? SIZES[binary ? "binary" : "decimal"] : SCALES[unit];
  if (!scale) return `${value.toLocaleString("en")} ${unit}`.trim();
  const [base, units] = scale;
  let power = 0;
  // 999.5 would be written as 1000.
  while (power + 1 < units.length && value >= 0.9995 * base ** (power + 1)) power += 1;
  const scaled = value / base ** power;
  const digits = power === 0 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return `${scaled.toFixed(digits)} ${units[power]}`;
}

/** Write a share of a whole: `92.4 %`. */
function percent(value, whole) {
  return `${(whole ? (100 * value) / whole : 0).toFixed(1)} %`;
}

/** Write how a value changed: `+12.5 %`, `new`, `gone`. */
function change(before, after) {
  if (before === after) return "unchanged";
  if (!before) return "new";
  if (!after) return "gone";
  return `${after > before ? "+" : "−"}${percent(Math.abs(after - before), before)}`;
}
