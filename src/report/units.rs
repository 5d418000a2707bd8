//! Numbers in words: seconds, bytes, times.

/// Seconds as "0.4 s", "4 min 05 s" or "1 h 02 min".
pub fn seconds_in_words(seconds: f64) -> String {
    let tenths = (seconds * 10.0).round() / 10.0;
    if tenths < 60.0 {
        return format!("{tenths:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => {
            let minutes = (whole + 30) / 60;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// Bytes as "63 kB", "4.2 MB" or "1.5 GB".
pub fn bytes_in_words(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (number, unit) = match bytes {
        ..1e3 => return format!("{bytes:.0} B"),
        ..999.5e3 => (bytes / 1e3, "kB"),
        ..999.5e6 => (bytes / 1e6, "MB"),
        _ => (bytes / 1e9, "GB"),
    };
    match number {
        ..9.95 => format!("{number:.1} {unit}"),
        _ => format!("{number:.0} {unit}"),
    }
}

/// A time of RFC 3339 in UTC as a person writes it: "2026-11-22 21:05 UTC".
pub fn time_in_words(time: &str) -> String {
    let minutes = time.get(..16).unwrap_or(time);
    format!("{} UTC", minutes.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let seconds = [0.0, 0.04, 59.94, 59.96, 65.4, 3599.0, 3600.0, 3689.0];
        let words = seconds.map(seconds_in_words);
        let expected = [
            "0.0 s",
            "0.0 s",
            "59.9 s",
            "1 min 00 s",
            "1 min 05 s",
            "59 min 59 s",
            "1 h 00 min",
            "1 h 01 min",
        ];
        assert_eq!(words, expected);
        let bytes = [0, 999, 1000, 62_800, 999_600, 4_240_000, 1_520_000_000];
        let words = bytes.map(bytes_in_words);
        let expected = [
            "0 B", "999 B", "1.0 kB", "63 kB", "1.0 MB", "4.2 MB", "1.5 GB",
        ];
        assert_eq!(words, expected);
        assert_eq!(
            time_in_words("2026-11-22T21:05:07Z"),
            "2026-11-22 21:05 UTC"
        );
        assert_eq!(time_in_words("é"), "é UTC");
    }
}
