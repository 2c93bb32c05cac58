// ---- Data: what divvy wrote, unpacked. Nothing here computes a result.

/** Bytes of base64. */
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Unpacks the packed data. */
function inflated(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream);
}

/** The page's data: reports as divvy writes them in JSON. */
async function readPage() {
  return JSON.parse(await inflated(document.getElementById("data").textContent).text());
}

/** Integers of a column: seven bits a byte, least first. They are below 2^53. A page may have more than a million. */
async function column(base64) {
  const bytes = new Uint8Array(await inflated(base64).arrayBuffer());
  const numbers = new Float64Array(bytes.length);
  let found = 0, number = 0, weight = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte < 0x80) {
      numbers[found++] = number + byte * weight;
      number = 0;
      weight = 1;
    } else {
      number += (byte & 0x7f) * weight;
      weight *= 128;
    }
  }
  return numbers.subarray(0, found);
}

/** One CPU's slices: beginnings and ends in ns, tasks by number. */
async function readLane(cpu, timeline) {
  const [gaps, lengths, tasks] = await Promise.all([column(cpu.gaps), column(cpu.lengths), column(cpu.tasks)]);
  const from = new Float64Array(gaps.length), to = new Float64Array(gaps.length);
  let at = 0;
  for (let i = 0; i < gaps.length; i++) {
    from[i] = timeline.from_ns + (at += gaps[i]) * timeline.unit_ns;
    to[i] = timeline.from_ns + (at += lengths[i]) * timeline.unit_ns;
  }
  return { from, to, task: Uint32Array.from(tasks) };
}

/** All CPUs of a run; unpacked once. */
function lanesOf(run) {
  run.lanes ??= Promise.all(run.figures.timeline.cpus.map((cpu) => readLane(cpu, run.figures.timeline)));
  return run.lanes;
}
