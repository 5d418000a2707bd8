//! Keys of older editions that live on under another name or in another table. They are moved as
//! they stand, with their comments; [`super::sync`] corrects their values.

use toml_edit::{Item, Key, Table, TableLike};

use super::sync::{TableStyle, insert_after, last_position, names};

/// Gives old keys of `have` the names and places that `want` has for them.
pub fn rename(have: &mut Table, want: &Table) {
    let is = |table: &Table, key: &str| table.contains_key(key);
    if is(have, "torch")
        && is(want, "torch-noarch")
        && !is(want, "torch")
        && !is(have, "torch-noarch")
    {
        rename_key(have, "torch", "torch-noarch");
    }
    if let Some(general) = have.get_mut("general") {
        cuda_bounds(general);
    }
    let wanted = want.get("kernel").and_then(Item::as_table);
    if let Some(sections) = have.get_mut("kernel").and_then(Item::as_table_like_mut)
        && let Some(wanted) = wanted
    {
        languages(sections, wanted);
    }
}

/// `general.cuda-minver` became `general.cuda.minver`.
fn cuda_bounds(general: &mut Item) {
    let style = TableStyle::of_table(general);
    let Some(general) = general.as_table_like_mut() else {
        return;
    };
    for (old, new) in [("cuda-minver", "minver"), ("cuda-maxver", "maxver")] {
        let Some(key) = general.key(old).cloned() else {
            continue;
        };
        let Some(item) = general.remove(old) else {
            continue;
        };
        if !general.contains_key("cuda") {
            general.insert("cuda", style.table(Table::new()));
        }
        if let Some(cuda) = general.get_mut("cuda").and_then(Item::as_table_like_mut) {
            cuda.entry_format(&key_like(&key, new)).or_insert(item);
        }
    }
}

/// `language` became `backend`; one section for CUDA and ROCm became two.
fn languages(sections: &mut dyn TableLike, wanted: &Table) {
    for name in names(sections) {
        if let Some(section) = sections.get_mut(&name).and_then(Item::as_table_like_mut)
            && section.contains_key("language")
            && !section.contains_key("backend")
        {
            rename_key(section, "language", "backend");
        }
        let half = format!("{name}_rocm");
        let (Some(cuda), Some(rocm)) = (table_of(wanted, &name), table_of(wanted, &half)) else {
            continue;
        };
        let (Some(section), Some(key)) = (sections.get(&name), sections.key(&name).cloned()) else {
            continue;
        };
        if sections.contains_key(&half) {
            continue;
        }
        let mut copy = section.clone();
        // A key that only one half has stays in that half, with its comments.
        keep_wanted(&mut copy, rocm);
        if let Item::Table(table) = &mut copy {
            table.decor_mut().set_prefix("\n");
            let position = last_position(table);
            table.set_position(position);
        }
        if let Some(section) = sections.get_mut(&name) {
            keep_wanted(section, cuda);
        }
        match copy {
            // Sections with headers are ordered by their positions.
            Item::Table(_) => {
                sections.insert(&half, copy);
            }
            copy => insert_after(sections, Some(&name), &key_like(&key, &half), copy),
        }
    }
}

fn table_of<'w>(wanted: &'w Table, name: &str) -> Option<&'w Table> {
    wanted.get(name).and_then(Item::as_table)
}

/// Leaves only the keys that `wanted` has, and `backend`.
fn keep_wanted(section: &mut Item, wanted: &Table) {
    let Some(section) = section.as_table_like_mut() else {
        return;
    };
    for name in names(section) {
        if !wanted.contains_key(&name) {
            section.remove(&name);
        }
    }
}

/// Gives the entry `old` another name, in its place.
fn rename_key(table: &mut dyn TableLike, old: &str, new: &str) {
    let names = names(table);
    let Some(at) = names.iter().position(|name| name == old) else {
        return;
    };
    let before = at.checked_sub(1).map(|at| names[at].clone());
    if let Some(key) = table.key(old).cloned()
        && let Some(item) = table.remove(old)
    {
        insert_after(table, before.as_deref(), &key_like(&key, new), item);
    }
}

/// The key `name` with the layout and comments of another.
fn key_like(like: &Key, name: &str) -> Key {
    Key::new(name)
        .with_leaf_decor(like.leaf_decor().clone())
        .with_dotted_decor(like.dotted_decor().clone())
}
