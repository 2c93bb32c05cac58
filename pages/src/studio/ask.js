// ---- Asks the server for a run. The newest question counts: the server gives up an older one of this page.

/** A question that has run for so long is given up for a newer one; before, the newer one waits for its answer. */
const PATIENCE_MS = 250;

const pending = { asking: undefined, begun: 0, timer: undefined, isAsked: false };

function changed() {
  pending.isAsked = true;
  studio.scaled = null;
  clearTimeout(pending.timer);
  const wait = pending.asking ? Math.max(0, PATIENCE_MS - (performance.now() - pending.begun)) : 0;
  pending.timer = setTimeout(ask, wait);
}

async function ask() {
  clearTimeout(pending.timer);
  pending.asking?.abort();
  const mine = pending.asking = new AbortController(), edits = [...studio.edits];
  pending.begun = performance.now();
  pending.isAsked = false;
  try {
    const { seed, load, text, policies } = asked;
    const answer = await fetch("run", { method: "POST", signal: mine.signal, headers: { "content-type": "application/json" }, body: JSON.stringify({ viewer: studio.viewer, text, edits, policies, seed, load }) });
    if (answer.status === 503) { setTimeout(changed, 300); return; }
    if (answer.status === 409) return;
    const said = answer.headers.get("content-type") === "application/json" ? await answer.json() : { message: (await answer.text()).trim() };
    if (mine.signal.aborted) return;
    if (!answer.ok) { drawProblem(said); return; }
    edits.forEach(([key, value]) => { if (studio.edits.get(key) === value) studio.edits.delete(key); });
    if (edits.length && asked.text === text) { asked.text = said.text; studio.text.value = said.text; }
    studio.scaled = said.scaled;
    await drawAnswer(said);
    document.documentElement.dataset.milliseconds = (performance.now() - pending.begun).toFixed(1);
    document.documentElement.dataset.answers = Number(document.documentElement.dataset.answers ?? 0) + 1;
  } catch (error) {
    if (mine.signal.aborted) return;
    drawProblem({ message: `No answer: ${error.message}. Is divvy studio still running?` });
  } finally {
    if (pending.asking === mine) {
      pending.asking = undefined;
      if (pending.isAsked) ask();
    }
  }
}
