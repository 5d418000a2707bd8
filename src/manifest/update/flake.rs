//! The call in a kernel's flake.nix: `genFlakeOutputs { path = ./.; rev = …; }` of 2025 becomes
//! `genFlakeOutputs { inherit self; path = ./.; }`. Every other byte stays. The edit goes by the
//! syntax; Nix code is not evaluated.

use std::ops::Range;

use rnix::TextRange;
use rnix::ast::{self, Attr, Entry, Expr, HasEntry, InterpolPart};
use rowan::ast::AstNode;

use super::UpdateError;
use crate::problem::{Place, Problem, Problems, code};

/// The functions that give the outputs of a kernel's flake: the old name, then the new one.
const FUNCTIONS: [&str; 2] = ["genFlakeOutputs", "genKernelFlakeOutputs"];

/// A byte range, with the text that replaces it.
type Edit = (Range<usize>, String);

/// The new text of a flake.nix that is shown to the user as `name`; `None` if nothing has to
/// change.
///
/// # Errors
/// `UpdateError::Problems` if the file is not Nix, or if `self` is not at hand where it is needed;
/// `UpdateError::Defect` if this program is wrong.
pub fn update(name: &str, text: &str) -> Result<Option<String>, UpdateError> {
    let mut problems = Problems::new(name, text);
    let parsed = rnix::Root::parse(text);
    if let Some(error) = parsed.errors().first() {
        // A file without such a call stays as it is, valid or not.
        if FUNCTIONS.iter().any(|function| text.contains(function)) {
            problems.push(syntax_error(text, error));
            return Err(UpdateError::Problems(Box::new(problems)));
        }
        return Ok(None);
    }
    let mut edits = Vec::new();
    let nodes = parsed.tree().syntax().descendants();
    for call in nodes.filter_map(ast::Apply::cast).filter(gives_outputs) {
        match call.argument().and_then(attr_set) {
            Some(set) => edit_call(&call, &set, text, &mut edits, &mut problems),
            None => continue,
        }
    }
    if problems.has_errors() {
        return Err(UpdateError::Problems(Box::new(problems)));
    }
    if edits.is_empty() {
        return Ok(None);
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut updated = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        updated.replace_range(range, &new);
    }
    match rnix::Root::parse(&updated).errors().first() {
        None => Ok(Some(updated)),
        Some(error) => Err(UpdateError::Defect {
            name: name.to_owned(),
            why: error.to_string(),
        }),
    }
}

/// Whether a call is one of [`FUNCTIONS`], in any of the forms `builder.lib.f`, `lib.f` and `f`.
fn gives_outputs(call: &ast::Apply) -> bool {
    let name = match call.lambda() {
        Some(Expr::Select(select)) => select
            .attrpath()
            .and_then(|path| path.attrs().last())
            .and_then(|attr| attr_name(&attr)),
        Some(Expr::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    };
    name.is_some_and(|name| FUNCTIONS.contains(&name.as_str()))
}

/// The name of an attribute that is written as a word or as a plain string.
fn attr_name(attr: &Attr) -> Option<String> {
    match attr {
        Attr::Ident(ident) => Some(ident.to_string()),
        Attr::Str(string) => match &string.normalized_parts()[..] {
            [InterpolPart::Literal(text)] => Some(text.clone()),
            _ => None,
        },
        Attr::Dynamic(_) => None,
    }
}

fn attr_set(expr: Expr) -> Option<ast::AttrSet> {
    match expr {
        Expr::AttrSet(set) => Some(set),
        Expr::Paren(paren) => attr_set(paren.expr()?),
        _ => None,
    }
}

fn edit_call(
    call: &ast::Apply,
    set: &ast::AttrSet,
    text: &str,
    edits: &mut Vec<Edit>,
    problems: &mut Problems,
) {
    let entries: Vec<Entry> = set.entries().collect();
    let rev = entries.iter().position(|entry| defines(entry, "rev"));
    let mut has_self = entries.iter().any(|entry| defines(entry, "self"));
    if has_self && rev.is_none() {
        return;
    }
    if !has_self && !binds_self(call) {
        problems.push(no_self(call));
        return;
    }
    let first = entries
        .first()
        .map(|first| bytes(first.syntax().text_range()));
    if let Some(entry) = rev.and_then(|at| entries.get(at)) {
        let whole = bytes(entry.syntax().text_range());
        edits.push(match inherited_rev(entry) {
            // `inherit rev path;`
            Some((word, true, _)) if !has_self => {
                has_self = true;
                (word, "self".to_owned())
            }
            Some((word, _, false)) => (with_space(word, text), String::new()),
            _ if !has_self && first.as_ref() == Some(&whole) => {
                has_self = true;
                (whole, "inherit self;".to_owned())
            }
            _ => (with_space(whole, text), String::new()),
        });
    }
    if has_self {
        return;
    }
    edits.push(match first {
        Some(first) => {
            let blanks = space_before(first.start, text);
            (first.start..first.start, format!("inherit self;{blanks}"))
        }
        None => {
            let open = bytes(set.syntax().text_range()).start + 1;
            (open..open, " inherit self;".to_owned())
        }
    });
}

/// The range in which an `inherit` names `rev`, whether it inherits from the scope, and whether
/// `rev` is its only name.
fn inherited_rev(entry: &Entry) -> Option<(Range<usize>, bool, bool)> {
    let Entry::Inherit(inherit) = entry else {
        return None;
    };
    let attrs: Vec<Attr> = inherit.attrs().collect();
    let rev = attrs
        .iter()
        .find(|attr| attr_name(attr).as_deref() == Some("rev"))?;
    let word = bytes(rev.syntax().text_range());
    Some((word, inherit.from().is_none(), attrs.len() == 1))
}

/// Whether an entry of a set defines the attribute `name`.
fn defines(entry: &Entry, name: &str) -> bool {
    match entry {
        Entry::AttrpathValue(value) => {
            let path = value.attrpath();
            let first = path.and_then(|path| path.attrs().next());
            first.and_then(|attr| attr_name(&attr)).as_deref() == Some(name)
        }
        Entry::Inherit(inherit) => {
            let mut names = inherit.attrs().filter_map(|attr| attr_name(&attr));
            names.any(|attr| attr == name)
        }
    }
}

/// Whether a function or a `let` around the call binds `self`.
fn binds_self(call: &ast::Apply) -> bool {
    call.syntax()
        .ancestors()
        .filter_map(Expr::cast)
        .any(|expr| match expr {
            Expr::Lambda(lambda) => match lambda.param() {
                Some(ast::Param::IdentParam(param)) => param.to_string() == "self",
                Some(ast::Param::Pattern(pattern)) => {
                    let bind = pattern.pat_bind().and_then(|bind| bind.ident());
                    let mut words = pattern
                        .pat_entries()
                        .filter_map(|entry| entry.ident())
                        .chain(bind);
                    words.any(|ident| ident.to_string() == "self")
                }
                None => false,
            },
            Expr::LetIn(bindings) => bindings.entries().any(|entry| defines(&entry, "self")),
            _ => false,
        })
}

fn no_self(call: &ast::Apply) -> Problem {
    let function = call
        .lambda()
        .map(|function| bytes(function.syntax().text_range()));
    let place = Place {
        key: String::new(),
        span: function.unwrap_or_default(),
    };
    Problem::error(
        code::FLAKE_SELF,
        &place,
        "the outputs of this flake are made without `self`",
    )
    .label("needs `self`, which is not an argument here")
    .help("add `self` to the arguments of `outputs`: outputs = { self, kernel-builder }: …")
}

/// The messages of rnix name its tokens, so only the place is taken from them.
fn syntax_error(text: &str, error: &rnix::ParseError) -> Problem {
    use rnix::ParseError as E;
    let span = match error {
        E::Unexpected(range) | E::UnexpectedExtra(range) | E::UnexpectedDoubleBind(range) => {
            bytes(*range)
        }
        E::UnexpectedWanted(_, range, _) | E::DuplicatedArgs(range, _) => bytes(*range),
        _ => text.len()..text.len(),
    };
    let place = Place {
        key: String::new(),
        span,
    };
    Problem::error(code::FLAKE_SYNTAX, &place, "the file is not valid Nix")
        .label("not expected here")
        .help("`nix-instantiate --parse flake.nix` says more")
}

/// A range and the blanks before it. A comment on the same line stays, with its blanks.
fn with_space(range: Range<usize>, text: &str) -> Range<usize> {
    let rest = &text[range.end..];
    let line = rest.split('\n').next().unwrap_or_default();
    if line.trim_start().starts_with(['#', '/']) {
        let blanks = line.len() - line.trim_start().len();
        return range.start..range.end + blanks;
    }
    range.start - space_before(range.start, text).len()..range.end
}

/// The blanks before an offset, from the line end above on.
fn space_before(offset: usize, text: &str) -> &str {
    let before = &text[..offset];
    let blanks = &before[before.trim_end().len()..];
    match blanks.rfind('\n') {
        Some(newline) => {
            let newline = newline - usize::from(blanks[..newline].ends_with('\r'));
            &blanks[newline..]
        }
        None => blanks,
    }
}

fn bytes(range: TextRange) -> Range<usize> {
    usize::from(range.start())..usize::from(range.end())
}
