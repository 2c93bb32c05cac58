//! Whole texts from outside, such as the kernel's messages, with nothing in them that a terminal would obey. One name is
//! made safe by [`text::escape`].

use std::fmt::Write as _;

use divvy_results::text;

/// The text with its lines and tabs.
pub fn lines(whole: &str) -> String {
    let mut safe = String::with_capacity(whole.len());
    for c in whole.chars() {
        if text::is_obeyed(c) && !matches!(c, '\n' | '\t') {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// JSON that means the same. What is obeyed is only in strings, where it may be escaped; line ends are between the values.
pub fn json(whole: &str) -> String {
    let mut safe = String::with_capacity(whole.len());
    for c in whole.chars() {
        if text::is_obeyed(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that `prctl(PR_SET_NAME)` takes, read as the loader reads it: ESC, a C1 control, bytes that are not UTF-8.
    fn odd() -> String {
        String::from_utf8_lossy(b"a\x1b[2J\xc2\x9b31m\xff\xe2\x80\xae\x7f\x07\r").into_owned()
    }

    #[test]
    fn a_text_keeps_its_lines_and_nothing_else_that_is_obeyed() {
        let safe = lines(&format!("R {}\n\tnext\n", odd()));
        assert_eq!(safe, "R a\\u{1b}[2J\\u{9b}31m\u{fffd}\\u{202e}\\u{7f}\\u{7}\\r\n\tnext\n");
    }

    #[test]
    fn json_means_the_same() {
        for name in [odd(), "\u{e0041}\n".to_owned()] {
            let value = serde_json::json!({ "name": name });
            let safe = json(&serde_json::to_string_pretty(&value).expect("JSON"));
            assert!(!safe.replace('\n', "").contains(text::is_obeyed), "{safe:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), value);
        }
    }
}
