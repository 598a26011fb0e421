// The table of all functions. Only the rows in view are in the document, however many there are.

const TABLE_ROW = 28;
const AROUND = 8; // rows beyond the visible ones, for smooth scrolling
const KIND_NOTES = { [NATIVE]: "native", [TRAMPOLINE]: "trampoline", [UNKNOWN]: "unknown", [TRUNCATED]: "cut by the server" };

/** The columns: heading, value to sort by, and what a cell says. The function's name comes last. */
function columnsIn(state) {
  const sides = sidesOf(state);
  if (!data.diff) {
    const [side] = sides;
    const whole = side.attributed.reduce((sum, value) => sum + value, 0);
    const plain = (values) => (row) => written(values[row], state);
    return [
      { key: "self", title: "Attributed self", value: (row) => side.attributed[row], text: plain(side.attributed) },
      { key: "share", title: "Share", value: (row) => side.attributed[row], text: (row) => percent(side.attributed[row], whole), bar: (row) => side.attributed[row] / (whole || 1) },
      { key: "raw", title: "Raw self", value: (row) => side.raw[row], text: plain(side.raw) },
      { key: "total", title: "Total", value: (row) => side.totals[row], text: plain(side.totals) },
    ];
  }
  const [before, after] = sides;
  const grown = (column) => (row) => after[column][row] - before[column][row];
  const own = grown("attributed"), total = grown("totals");
  return [
    { key: "change", title: "Change of self", value: own, text: (row) => signed(own(row), state), step: (row) => stepOf(before.attributed[row], after.attributed[row]) },
    { key: "relative", title: "Relative", value: (row) => own(row) / (before.attributed[row] || 1e-9), text: (row) => change(before.attributed[row], after.attributed[row]) },
    { key: "before", title: "Before", value: (row) => before.attributed[row], text: (row) => written(before.attributed[row], state) },
    { key: "after", title: "After", value: (row) => after.attributed[row], text: (row) => written(after.attributed[row], state) },
    { key: "total", title: "Change of total", value: total, text: (row) => signed(total(row), state) },
  ];
}

/** The rows that a search lets through, in the order asked for (`total`, `-total`; "" as usual). */
function rowsIn(state, columns, hits) {
  const rows = [];
  data.functions.forEach((name, row) => { if (!hits || hits[name]) rows.push(row); });
  const usual = data.diff ? (row) => -Math.abs(columns[0].value(row)) : (row) => -columns[0].value(row);
  const byName = (a, b) => (names[data.functions[a]] < names[data.functions[b]] ? -1 : 1);
  const key = state.sort.replace("-", ""), sign = state.sort.startsWith("-") ? -1 : 1;
  const column = columns.find((one) => one.key === key);
  if (key === "name") return rows.sort((a, b) => sign * byName(a, b));
  if (column) return rows.sort((a, b) => sign * (column.value(a) - column.value(b)) || a - b);
  return rows.sort((a, b) => usual(a) - usual(b) || a - b);
}

class Table {
  /** `on` has what to do when a row is chosen: search(name), sandwich(name), copy(name), sort(key). */
  constructor(on) {
    this.on = on;
    this.scroller = element("table");
    this.current = 0; // the row that the keyboard is on
    this.scroller.addEventListener("scroll", () => this.draw());
    this.scroller.addEventListener("keydown", (event) => this.move(event));
  }

  update(state, hits) {
    this.state = state;
    this.columns = columnsIn(state);
    this.rows = rowsIn(state, this.columns, hits);
    this.current = Math.min(this.current, Math.max(0, this.rows.length - 1));
    this.scroller.querySelector("table").setAttribute("aria-rowcount", this.rows.length + 1);
    element("headings").replaceChildren(...[...this.columns, { key: "name", title: "Function" }].map((column) => this.heading(column)));
    const every = data.functions.length.toLocaleString("en");
    const shown = this.rows.length.toLocaleString("en");
    element("count").textContent = hits ? `${shown} of ${every} functions match the search.` : `${every} functions.`;
    this.draw(true);
  }

  heading(column) {
    const cell = document.createElement("th");
    cell.scope = "col";
    const sorted = this.state.sort.replace("-", "") === column.key;
    const isUsual = !this.state.sort && column === this.columns[0];
    const falling = this.state.sort.startsWith("-") || isUsual;
    cell.setAttribute("aria-sort", sorted || isUsual ? (falling ? "descending" : "ascending") : "none");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = column.title + (sorted || isUsual ? (falling ? " ▾" : " ▴") : "");
    button.addEventListener("click", () => {
      const first = column.key === "name" ? "name" : `-${column.key}`;
      const second = column.key === "name" ? "-name" : column.key;
      this.on.sort(this.state.sort === first || (isUsual && !data.diff) ? second : first);
      element("headings").children[[...this.columns.map((one) => one.key), "name"].indexOf(column.key)].firstChild.focus();
    });
    cell.append(button);
    return cell;
  }

  /** Put the rows in view into the document. */
  draw(anew = false) {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / TABLE_ROW) - AROUND);
    const last = Math.min(this.rows.length, first + Math.ceil(this.scroller.clientHeight / TABLE_ROW) + 2 * AROUND);
    if (!anew && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const held = element("rows").contains(document.activeElement);
    element("rows-above").firstElementChild.style.height = `${first * TABLE_ROW}px`;
    element("rows-below").firstElementChild.style.height = `${(this.rows.length - last) * TABLE_ROW}px`;
    element("rows").replaceChildren(...this.rows.slice(first, last).map((row, at) => this.row(row, first + at)));
    if (held) this.button(this.current)?.focus({ preventScroll: true });
  }

  row(row, place) {
    const line = document.createElement("tr");
    line.setAttribute("aria-rowindex", place + 2);
    for (const column of this.columns) {
      const cell = line.insertCell();
      cell.textContent = column.text(row);
      if (column.bar) {
        const bar = document.createElement("span");
        bar.className = "bar";
        bar.style.width = `${Math.max(0, 90 * column.bar(row))}px`;
        cell.prepend(bar);
      }
      if (column.step) {
        const { fill } = this.state.palette.shades[NORMAL][FIRST_CHANGE + column.step(row)];
        cell.style.boxShadow = `inset 5px 0 ${fill}`;
      }
    }
    const name = data.functions[row];
    const cell = line.insertCell();
    cell.append(
      this.action(names[name], "name", place, () => this.on.search(name)),
      ...(KIND_NOTES[kinds[name]] ? [Object.assign(document.createElement("small"), { textContent: KIND_NOTES[kinds[name]] })] : []),
    );
    if (kinds[name] !== BUCKET) {
      cell.append(this.action("callers, callees", "more", place, () => this.on.sandwich(name), `Callers and callees of ${names[name]}`));
    }
    cell.append(this.action("copy", "more", place, () => this.on.copy(name), `Copy ${names[name]}`));
    return line;
  }

  action(text, kind, place, run, label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = kind;
    button.textContent = text;
    if (label) button.setAttribute("aria-label", label);
    button.tabIndex = place === this.current ? 0 : -1;
    button.addEventListener("click", () => { this.current = place; run(); });
    return button;
  }

  button(place) {
    return element("rows").querySelector(`[aria-rowindex="${place + 2}"] button`);
  }

  /** Arrow keys, Home and End go from row to row; left and right to what can be done with one. */
  move(event) {
    if (!element("rows").contains(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity };
    const beside = { ArrowLeft: "previous", ArrowRight: "next" }[event.key];
    if (beside) {
      let other = event.target;
      do other = other[`${beside}ElementSibling`]; while (other && other.tagName !== "BUTTON");
      other?.focus();
    } else if (event.key in steps) {
      this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + steps[event.key]));
      const top = this.current * TABLE_ROW;
      const room = this.scroller.clientHeight - 2 * TABLE_ROW;
      if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
      else if (top > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room;
      this.draw(true);
      this.button(this.current)?.focus({ preventScroll: true });
    } else {
      return;
    }
    event.preventDefault();
  }
}
