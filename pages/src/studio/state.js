// ---- What is asked, and links to it: the fragment of the address has all of it, and the server keeps nothing.

/** { text, policies, seed, load (or null) } */
let asked;

function toBase64Url(text) {
  const bytes = new TextEncoder().encode(text);
  let all = "";
  for (let i = 0; i < bytes.length; i += 4096) all += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return btoa(all).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function fromBase64Url(text) {
  return new TextDecoder().decode(bytesOf(text.replace(/-/g, "+").replace(/_/g, "/")));
}

/** The state that an address has, if it has one. A link may come from anybody: only texts and numbers of it are taken. */
function stateOfHash(hash) {
  const found = hash.match(/^#s=([\w-]+)$/);
  if (!found) return undefined;
  try {
    const { text, policies, seed, load } = JSON.parse(fromBase64Url(found[1]));
    if (typeof text !== "string" || !Array.isArray(policies)) return undefined;
    return { text, policies: policies.map(String), seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : 1, load: typeof load === "number" ? load : null };
  } catch {
    return undefined;
  }
}

function hashOf({ text, policies, seed, load }) {
  return `#s=${toBase64Url(JSON.stringify({ text, policies, seed, load }))}`;
}
