//! Comma-separated values (RFC 4180): fields out, records in.

/// The end of a record.
pub const END: &str = "\r\n";

/// A field. It is quoted if it contains a separator, a quote or a line break.
#[must_use]
pub fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A record of these fields, with its end.
#[must_use]
pub fn record(fields: &[String]) -> String {
    fields.iter().map(|text| field(text)).collect::<Vec<_>>().join(",") + END
}

/// A record, and the byte behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its fields.
    pub fields: Vec<String>,
    /// Where the next one begins.
    pub end: usize,
}

/// The complete records of a text. A record ends with CR LF or LF; text behind the last end was cut off and is skipped.
#[must_use]
pub fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let (mut fields, mut value, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                chars.next();
                value.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut value)),
            '\r' if !quoted && chars.peek().is_some_and(|(_, next)| *next == '\n') => {}
            '\n' if !quoted => {
                fields.push(std::mem::take(&mut value));
                records.push(Record { fields: std::mem::take(&mut fields), end: at + 1 });
            }
            _ => value.push(c),
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let rows = [["a", "b,c"], ["d \"e\"", "f\r\ng"], ["", " h"]].map(|row| row.map(str::to_owned));
        let text: String = rows.iter().map(|row| record(row)).collect();
        let read = records(&text);
        assert_eq!(read.iter().map(|r| r.fields.clone()).collect::<Vec<_>>(), rows.map(Vec::from));
        assert_eq!(read[2].end, text.len());
    }

    #[test]
    fn what_is_cut_off_is_no_record() {
        assert_eq!(records("a,b\r\n1,2").len(), 1);
        assert_eq!(records("a,b\n1,\"2\n3").len(), 1);
        assert_eq!(records("a,b\n")[0].end, 4);
    }
}
