//! Makes one TOML table say the same as another, and changes only the parts that differ. Knows no
//! editions.

use toml_edit::{Array, Decor, InlineTable, Item, Key, Table, TableLike, Value};

/// Changes `have` until it says the same as `want`.
pub fn sync(item: &mut Item, want: &Table) {
    let style = TableStyle::of_table(item);
    let Some(have) = item.as_table_like_mut() else {
        return;
    };
    for name in names(have) {
        // An empty section has no effect, and its author may have plans for it.
        let empty = have
            .get(&name)
            .and_then(Item::as_table_like)
            .is_some_and(TableLike::is_empty);
        if !want.contains_key(&name) && !empty {
            remove(have, &name);
        }
    }
    let mut before: Option<String> = None;
    for (name, wanted) in want {
        match have.get_mut(name) {
            Some(item) => sync_item(item, wanted),
            None => {
                let new = match wanted {
                    Item::Table(table) => style.table(table.clone()),
                    other => other.clone(),
                };
                insert_after(have, before.as_deref(), &Key::new(name), new);
            }
        }
        before = Some(name.to_owned());
    }
    if let Item::Value(Value::InlineTable(table)) = item {
        space_last_value(table);
    }
}

/// Moves the blank before the closing brace behind the last value, wherever new values went.
fn space_last_value(table: &mut InlineTable) {
    let last = table.len().saturating_sub(1);
    // A key that this program adds has no prefix, and is then written with a blank before it.
    let first = table.iter().next().and_then(|(name, _)| table.key(name));
    let open = first.is_some_and(|key| key.leaf_decor().prefix().is_none());
    let blank = open
        || table
            .iter()
            .any(|(_, value)| text(value.decor().suffix()) == " ");
    for (at, (_, value)) in table.iter_mut().enumerate() {
        if text(value.decor().suffix()).trim().is_empty() {
            let suffix = if at == last && blank { " " } else { "" };
            value.decor_mut().set_suffix(suffix);
        }
    }
}

fn sync_item(have: &mut Item, want: &Item) {
    if let Item::Table(want) = want {
        return sync(have, want);
    }
    let Item::Value(want) = want else {
        return;
    };
    match have {
        Item::Value(have) => sync_value(have, want),
        // A table (or list of tables) where a value can also be written as one:
        // `[torch.stable-abi]`.
        other => {
            if other
                .clone()
                .into_value()
                .is_ok_and(|have| !means_same(&have, want))
            {
                *other = Item::Value(want.clone());
            }
        }
    }
}

fn sync_value(have: &mut Value, want: &Value) {
    if means_same(have, want) {
        return;
    }
    if let (Value::Array(have), Value::Array(want)) = (&mut *have, want)
        && sync_array(have, want)
    {
        return;
    }
    let decor = have.decor().clone();
    *have = want.clone();
    *have.decor_mut() = decor;
}

/// Replaces single words, or removes unwanted ones; `false` if more must change.
fn sync_array(have: &mut Array, want: &Array) -> bool {
    if have.len() == want.len() {
        for (have, want) in have.iter_mut().zip(want) {
            sync_value(have, want);
        }
        return true;
    }
    let mut wanted = want.iter().peekable();
    let mut kept = have.clone();
    kept.retain(|value| wanted.next_if(|want| means_same(value, want)).is_some());
    let complete = kept.len() == want.len();
    if complete {
        *have = kept;
    }
    complete
}

/// Whether two values mean the same, however they are written.
fn means_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.value() == other.value(),
        (Value::Integer(one), Value::Integer(other)) => one.value() == other.value(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| means_same(a, b))
        }
        (Value::InlineTable(one), Value::InlineTable(other)) => {
            let equal =
                |(key, value): (&str, &Value)| other.get(key).is_some_and(|o| means_same(value, o));
            one.len() == other.len() && one.iter().all(equal)
        }
        _ => false,
    }
}

/// Removes a key and leaves its comments, above the next key or the one before.
fn remove(table: &mut dyn TableLike, name: &str) {
    let names = names(table);
    let Some(at) = names.iter().position(|other| other == name) else {
        return;
    };
    let key = table.key(name).cloned();
    let Some(item) = table.remove(name) else {
        return;
    };
    let Item::Value(value) = item else {
        return;
    };
    let mut comments = key.map_or_else(String::new, |key| comments(key.leaf_decor()));
    if let Some(beside) = text(value.decor().suffix()).trim().strip_prefix('#') {
        comments.push_str(&format!("#{beside}\n"));
    }
    let after = names
        .get(at + 1)
        .filter(|next| matches!(table.get(next), Some(Item::Value(_))));
    let heir = after.or_else(|| at.checked_sub(1).and_then(|at| names.get(at)));
    if let Some(mut heir) = heir.and_then(|heir| table.key_mut(heir))
        && !comments.is_empty()
    {
        let own = text(heir.leaf_decor().prefix()).to_owned();
        // A blank line above the heir stays above all the comments.
        let start = own.len() - own.trim_start_matches(['\r', '\n']).len();
        let (blank, own) = own.split_at(start);
        heir.leaf_decor_mut()
            .set_prefix(format!("{blank}{comments}{own}"));
    }
}

/// The comment lines above a key or a table.
fn comments(decor: &Decor) -> String {
    let lines = text(decor.prefix()).lines();
    let lines = lines.filter(|line| line.trim_start().starts_with('#'));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

fn text(raw: Option<&toml_edit::RawString>) -> &str {
    raw.and_then(|raw| raw.as_str()).unwrap_or_default()
}

/// Inserts an entry below `before`, or as the first one. Tables with headers of their own stand at
/// their positions.
pub fn insert_after(table: &mut dyn TableLike, before: Option<&str>, key: &Key, item: Item) {
    let names = names(table);
    let at = before.and_then(|before| names.iter().position(|name| name == before));
    let tail = &names[at.map_or(0, |at| at + 1)..];
    let tail: Vec<(Key, Item)> = tail
        .iter()
        .filter_map(|name| Some((table.key(name)?.clone(), table.remove(name)?)))
        .collect();
    table.entry_format(key).or_insert(item);
    for (key, item) in tail {
        table.entry_format(&key).or_insert(item);
    }
}

/// The keys of a table, in their order.
pub fn names(table: &dyn TableLike) -> Vec<String> {
    table.iter().map(|(name, _)| name.to_owned()).collect()
}

/// The way a table is written: with a header, with dotted keys, or in braces.
#[derive(Clone, Copy)]
pub enum TableStyle {
    /// `[name]`, and the position of the last header in it.
    Header(Option<isize>),
    /// `name.key = …`
    Dotted,
    /// `name = { … }`
    Inline,
}

impl TableStyle {
    /// The style of a table.
    pub fn of_table(item: &Item) -> Self {
        match item {
            Item::Table(table) if table.is_dotted() => TableStyle::Dotted,
            Item::Table(table) => TableStyle::Header(last_position(table)),
            _ => TableStyle::Inline,
        }
    }

    /// A new table inside of one of this style.
    pub fn table(self, mut table: Table) -> Item {
        match self {
            TableStyle::Inline => {
                return Item::Value(Value::InlineTable(table.into_inline_table()));
            }
            TableStyle::Dotted => table.set_dotted(true),
            TableStyle::Header(position) => {
                table.decor_mut().set_prefix("\n");
                table.set_position(position);
            }
        }
        Item::Table(table)
    }
}

/// The position of the last header in a table. A table that follows directly gets the same
/// position.
pub fn last_position(table: &Table) -> Option<isize> {
    let inner = table.iter().filter_map(|(_, item)| item.as_table());
    inner
        .map(last_position)
        .chain([table.position()])
        .flatten()
        .max()
}
