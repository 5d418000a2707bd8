//! Python that calls operators by `torch.ops.<namespace>`, changed to call them by the `ops` of the
//! build (`from ._ops import ops`), where this certainly means the same. Not a parser of Python: it
//! knows words, strings and the ends of statements.

use std::ops::Range;

/// A module after the edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdatedPython {
    /// The new text; `None` if the text stays as it is.
    pub text: Option<String>,
    /// Places in bytes that only the author can change, with advice.
    pub left: Vec<(usize, String)>,
}

/// The edit of a module that is `depth` folders below the package, for operators of a namespace.
pub fn update(text: &str, namespace: &str, depth: usize) -> UpdatedPython {
    let tokens = tokens(text);
    let is = |at: usize, word: &str| {
        tokens
            .get(at)
            .is_some_and(|token| text[token.range.clone()] == *word)
    };
    let path = ["torch", ".", "ops", ".", namespace];
    let uses: Vec<usize> = (0..tokens.len())
        .filter(|at| {
            path.iter()
                .enumerate()
                .all(|(offset, word)| is(at + offset, word))
        })
        .filter(|at| *at == 0 || !is(at - 1, "."))
        .collect();
    let mut updated = UpdatedPython::default();
    for token in tokens.iter().filter(|token| token.kind == TokenKind::Text) {
        if text[token.range.clone()].contains(&format!("{namespace}::")) {
            let why = format!(
                "names an operator of {namespace}: `add_op_namespace_prefix` of _ops gives its name"
            );
            updated.left.push((token.range.start, why));
        }
    }
    let Some(first) = uses.first() else {
        return updated;
    };

    let module = format!("{}_ops", ".".repeat(depth + 1));
    let statements = statements(&tokens);
    let imports_ops = |statement: &Range<usize>| {
        let words = &tokens[statement.clone()];
        let mut texts = words.iter().map(|token| &text[token.range.clone()]);
        let mut from = String::new();
        let is_from = texts.next() == Some("from");
        for part in texts.by_ref().take_while(|part| *part != "import") {
            from += part;
        }
        let names: Vec<&str> = texts.collect();
        is_from && from == module && names.contains(&"ops") && !names.contains(&"as")
    };
    let import = statements.iter().find(|statement| imports_ops(statement));
    // Other names `ops` in the module.
    let named = (0..tokens.len()).filter(|at| is(*at, "ops") && (*at == 0 || !is(at - 1, ".")));
    let named: Vec<usize> = named.collect();
    let assigned = named.iter().any(|at| is(at + 1, "="));
    let clear = !assigned && (import.is_some() || named.is_empty());
    let top_import = |statement: &&Range<usize>| {
        let start = tokens[statement.start].range.start;
        let column = text[..start]
            .rfind('\n')
            .map_or(start, |line| start - line - 1);
        column == 0
            && statement.end <= *first
            && (is(statement.start, "import") || is(statement.start, "from"))
    };
    let last_import = statements.iter().rfind(top_import);
    if !clear || import.is_none() && last_import.is_none() {
        let why = format!(
            "calls torch.ops.{namespace}: `from {module} import ops`, then `ops`, is the build's own"
        );
        let places = uses.iter().map(|at| (tokens[*at].range.start, why.clone()));
        updated.left.extend(places);
        updated.left.sort();
        return updated;
    }
    let mut edited = text.to_owned();
    for at in uses.iter().rev() {
        let range = tokens[*at].range.start..tokens[at + path.len() - 1].range.end;
        edited.replace_range(range, "ops");
    }
    if let (None, Some(statement)) = (import, last_import) {
        let end = tokens[statement.end - 1].range.end;
        let line = edited[end..].find('\n').map_or(edited.len(), |at| end + at);
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let line = edited[..line].trim_end_matches('\r').len();
        edited.insert_str(line, &format!("{newline}{newline}from {module} import ops"));
    }
    updated.text = Some(edited);
    updated
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    /// A word, a number, or a sign.
    Code,
    Text,
    /// The end of a line that ends a statement.
    End,
}

#[derive(Clone, Debug)]
struct Token {
    kind: TokenKind,
    range: Range<usize>,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut open = 0usize;
    while let Some(next) = text[at..].chars().next() {
        let start = at;
        let word: usize = text[at..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .map(char::len_utf8)
            .sum();
        let prefix = word <= 2 && text[at..at + word].chars().all(|c| "rRbBuUfF".contains(c));
        let quoted = text[at + word..].starts_with(['"', '\'']);
        let kind = if quoted && (word == 0 || prefix) {
            at = text_end(text, at + word);
            TokenKind::Text
        } else if word > 0 {
            at += word;
            TokenKind::Code
        } else if next == '#' {
            at += text[at..].find('\n').unwrap_or(text.len() - at);
            continue;
        } else if text[at..].starts_with("\\\n") || text[at..].starts_with("\\\r\n") {
            at += text[at..].find('\n').map_or(1, |end| end + 1);
            continue;
        } else {
            at += next.len_utf8();
            match next {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            match next {
                '\n' if open == 0 => TokenKind::End,
                _ if next.is_whitespace() => continue,
                _ => TokenKind::Code,
            }
        };
        found.push(Token {
            kind,
            range: start..at,
        });
    }
    found
}

/// The end of the string whose first quote is at a place.
fn text_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let long = rest.starts_with(&triple);
    let close = if long { triple.as_str() } else { quote };
    let mut place = at + close.len();
    while let Some(next) = text[place..].chars().next() {
        if text[place..].starts_with(close) {
            return place + close.len();
        }
        match next {
            '\\' => {
                let escaped = text[place + 1..].chars().next().map_or(0, char::len_utf8);
                place += 1 + escaped;
            }
            '\n' if !long => return place,
            _ => place += next.len_utf8(),
        }
    }
    text.len()
}

/// The statements, as ranges of tokens, without their ends.
fn statements(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::End {
            if start < at {
                found.push(start..at);
            }
            start = at + 1;
        }
    }
    if start < tokens.len() {
        found.push(start..tokens.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::update;

    fn text(text: &str) -> Option<String> {
        update(text, "relu", 0).text
    }

    fn left(text: &str) -> Vec<usize> {
        let updated = update(text, "relu", 0);
        assert_eq!(updated.text, None, "{text}");
        updated.left.into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn calls_become_those_of_the_build() {
        assert_eq!(
            text(
                "import torch\n\n\ndef f(x):\n    return torch.ops.relu.relu(x)  # torch.ops.relu\n"
            )
            .as_deref(),
            Some(
                "import torch\n\nfrom ._ops import ops\n\n\ndef f(x):\n    return ops.relu(x)  # torch.ops.relu\n"
            )
        );
        assert_eq!(
            text("import torch\nfrom ._ops import (\n    ops,\n)\nf = torch.ops.relu.relu\ng = ops.x\n").as_deref(),
            Some("import torch\nfrom ._ops import (\n    ops,\n)\nf = ops.relu\ng = ops.x\n")
        );
        let deep = update("import torch\r\ntorch.ops.relu.f()\r\n", "relu", 1).text;
        let expected = "import torch\r\n\r\nfrom .._ops import ops\r\nops.f()\r\n";
        assert_eq!(deep.as_deref(), Some(expected));
    }

    #[test]
    fn uncertain_uses_are_left() {
        assert!(left("import torch\nprint('torch.ops.relu.f')\nx = mine.torch.ops.relu\ntorch.ops.relu2.f()\n").is_empty());
        assert_eq!(left("import torch\nops = torch.ops.relu\nops.f()\n"), [19]);
        assert_eq!(
            left("import torch\nfrom mine import ops\ntorch.ops.relu.f(ops)\n"),
            [34]
        );
        assert_eq!(left("def f(torch):\n    torch.ops.relu.f()\n"), [18]);
        assert_eq!(
            left("@register_fake(\"relu::f\")\ndef f(): '''\n'relu'''\n"),
            [15]
        );
    }
}
