//! Areas without colours: eight hatches, and the same on a grey ground.

/// Strokes of each hatch in a square of side 6.
const STROKES: [&str; 8] = [
    "",
    "M0,6L6,0M-1,1L1,-1M5,7L7,5",
    "M2,3a1,1 0 1 0 2,0a1,1 0 1 0 -2,0",
    "M0,3h6",
    "M0,0L6,6M-1,5L1,7M5,-1L7,1",
    "M3,0v6",
    "M0,6L6,0M0,0L6,6",
    "M0,3h6M3,0v6",
];
/// Grounds, for the first eight areas and the next ones.
const GROUNDS: [&str; 4] = ["#ffffff", "#d0d0d0", "#a8a8a8", "#808080"];

/// The fill of the i-th of several areas.
pub(super) fn fill(i: usize) -> String {
    format!("url(#hatch{})", i % (STROKES.len() * GROUNDS.len()))
}

/// Definitions of the hatches that a drawing uses.
pub(super) fn definitions(body: &str) -> String {
    let used = (0..STROKES.len() * GROUNDS.len()).filter(|&i| body.contains(&format!("\"{}\"", fill(i))));
    let all: String = used.map(pattern).collect();
    if all.is_empty() { all } else { format!("<defs>\n{all}</defs>\n") }
}

fn pattern(i: usize) -> String {
    let (strokes, ground) = (STROKES[i % STROKES.len()], GROUNDS[i / STROKES.len()]);
    format!(
        "<pattern id=\"hatch{i}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" \
         fill=\"{ground}\"/><path d=\"{strokes}\" fill=\"none\" stroke=\"#000000\" stroke-width=\"0.8\"/></pattern>\n"
    )
}
