// What a search finds: names that match it as a regular expression, or that contain it as it is
// written, so that `operator+` and `a|b` both find what is meant. Upper and lower case are alike.

/** A test of names, and what to say of a text that is no regular expression. */
function searchFor(text) {
  const wanted = text.trim();
  if (!wanted) return null;
  const plain = wanted.toLowerCase();
  let expression = null, note = "";
  try {
    expression = new RegExp(wanted, "iu");
  } catch {
    try {
      expression = new RegExp(wanted, "i");
    } catch {
      note = "as plain text";
    }
  }
  const hits = Uint8Array.from(names, (name) => (
    name.toLowerCase().includes(plain) || (expression !== null && expression.test(name)) ? 1 : 0));
  return { hits, note };
}
