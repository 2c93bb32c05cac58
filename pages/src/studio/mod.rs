//! The page of `divvy studio`: what is run on the left, the figures of a report on the right. It asks its server for every run, and loads
//! nothing else.

use serde::Serialize;

use crate::report::{self, Frame};

/// Each uses those before it.
const SCRIPTS: [&str; 6] = [
    include_str!("spec.js"),
    include_str!("state.js"),
    include_str!("knobs.js"),
    include_str!("steps.js"),
    include_str!("ask.js"),
    include_str!("studio.js"),
];

/// The page, whose scripts read `start`: the policies, and what is shown first.
///
/// # Errors
/// If `start` cannot be written as JSON.
pub fn page(start: &impl Serialize) -> serde_json::Result<String> {
    let script = [report::figures(), SCRIPTS.join("\n")].join("\n");
    let style = report::style() + include_str!("studio.css");
    let frame = Frame {
        title: "studio",
        sources: " blob:; connect-src 'self'",
        body: include_str!("studio.html"),
        style: &style,
    };
    report::fill(&frame, &script, start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_nothing_outside_itself() {
        let page = page(&"</script><script>hacked(1)</script>").expect("serializes");
        assert!(!page.contains("hacked") && !page.contains("{{"));
        for word in ["http:", "https:", "//cdn", "src=", "@import", "url("] {
            let found = page.replace("http://www.w3.org/2000/svg", "").matches(word).count();
            assert_eq!(found, 0, "{word}");
        }
        let scripts = SCRIPTS.join("\n");
        for word in ["</script", "<!--", "{{", "innerHTML", "eval("] {
            assert!(!scripts.contains(word), "{word}");
        }
    }
}
