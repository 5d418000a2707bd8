//! Nix's log of a build (`--log-format internal-json`) as events. The format has no documentation
//! and grows: unknown records are ignored, never an error.

use serde::Deserialize;

/// The event that a line of Nix's standard error reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A build began. `id` is the number of the activity. `machine` is the remote builder; `None`
    /// for this machine.
    Started {
        id: u64,
        derivation: String,
        machine: Option<String>,
    },
    /// A store path is being copied from a binary cache.
    Copying {
        id: u64,
        path: String,
        cache: String,
    },
    /// A line that a build printed.
    Line { id: u64, text: String },
    /// An activity ended, with success or not.
    Stopped { id: u64 },
    /// A message of Nix. Level 0 is an error, level 1 a warning.
    Message { level: u64, text: String },
    /// A line that is no record.
    Plain(String),
    /// A record that this program does not use.
    Other,
}

#[derive(Deserialize)]
struct LogRecord {
    action: String,
    #[serde(default)]
    id: u64,
    #[serde(default)]
    level: u64,
    #[serde(default)]
    r#type: u64,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    fields: Vec<serde_json::Value>,
}

/// The type number of `Build` among the activities that start.
const BUILD: u64 = 105;
/// The type number of `Substitute` among the activities that start.
const SUBSTITUTE: u64 = 108;
/// The type number of `buildLogLine` among the results.
const LOG_LINE: u64 = 101;

/// Reads one line of the log.
pub fn parse_event(line: &str) -> Event {
    let Some(json) = line.strip_prefix("@nix ") else {
        return Event::Plain(line.to_owned());
    };
    let Ok(record) = serde_json::from_str::<LogRecord>(json) else {
        return Event::Other;
    };
    let field = |index: usize| {
        record
            .fields
            .get(index)
            .and_then(|field| field.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    match (record.action.as_str(), record.r#type) {
        ("start", BUILD) => Event::Started {
            id: record.id,
            derivation: field(0),
            machine: builder_name(&field(1)),
        },
        ("start", SUBSTITUTE) => Event::Copying {
            id: record.id,
            path: field(0),
            cache: field(1),
        },
        ("result", LOG_LINE) => Event::Line {
            id: record.id,
            text: field(0),
        },
        ("stop", _) => Event::Stopped { id: record.id },
        ("msg", _) => Event::Message {
            level: record.level,
            text: record.msg,
        },
        _ => Event::Other,
    }
}

/// The name of a builder: its URI without parameters. `None` for this machine.
fn builder_name(uri: &str) -> Option<String> {
    let name = uri.split('?').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_nix_2_8_and_later_ones() {
        let started = r#"@nix {"action":"start","fields":["/nix/store/a-t.drv","",1,1],"id":461,"level":3,"text":"building","type":105}"#;
        assert_eq!(
            parse_event(started),
            Event::Started {
                id: 461,
                derivation: "/nix/store/a-t.drv".to_owned(),
                machine: None,
            }
        );
        assert!(matches!(
            parse_event(&started.replace(r#""","#, r#""ssh://b?remote-store=/s","#)),
            Event::Started { machine: Some(machine), .. } if machine == "ssh://b"
        ));
        assert_eq!(
            parse_event(
                r#"@nix {"action":"start","fields":["/nix/store/a-t","file:///c"],"id":7,"level":4,"text":"","type":108}"#
            ),
            Event::Copying {
                id: 7,
                path: "/nix/store/a-t".to_owned(),
                cache: "file:///c".to_owned()
            }
        );
        assert_eq!(
            parse_event(r#"@nix {"action":"result","fields":["hello"],"id":461,"type":101}"#),
            Event::Line {
                id: 461,
                text: "hello".to_owned()
            }
        );
        assert_eq!(
            parse_event(r#"@nix {"action":"stop","id":461}"#),
            Event::Stopped { id: 461 }
        );
        assert_eq!(
            parse_event(r#"@nix {"action":"start","id":1,"level":3,"text":"","type":999}"#),
            Event::Other
        );
        assert_eq!(parse_event("@nix not json"), Event::Other);
        assert_eq!(parse_event("plain"), Event::Plain("plain".to_owned()));
    }
}
