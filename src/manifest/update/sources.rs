//! C++ that registers operators under a namespace of its own, changed to register them under the
//! namespace of each build (`TORCH_EXTENSION_NAME`). Edits texts; reads and writes no files.
//!
//! Two builds of one kernel that register under one name cannot be loaded into one process. Kernels
//! of 2025 did so: the binding said `TORCH_LIBRARY(relu, ops)`, and Python `torch.ops.relu`.

use std::ops::Range;

use camino::Utf8PathBuf;

use super::cxx::{CxxText, MacroCall};
use super::python;

/// The macro that stands for the namespace of a build.
const NAME: &str = "TORCH_EXTENSION_NAME";

/// The header with the macros that expand the namespace.
const HEADER: &str = "registration.h";

const MODULE: &str = "REGISTER_EXTENSION";

/// Macros that register, torch's and those of `registration.h`, each with its replacement.
const MACROS: [(&str, &str); 10] = [
    ("TORCH_LIBRARY", "TORCH_LIBRARY_EXPAND"),
    ("TORCH_LIBRARY_EXPAND", "TORCH_LIBRARY_EXPAND"),
    // This macro expands its argument.
    ("TORCH_LIBRARY_FRAGMENT", "TORCH_LIBRARY_FRAGMENT"),
    ("TORCH_LIBRARY_IMPL", "TORCH_LIBRARY_IMPL_EXPAND"),
    ("TORCH_LIBRARY_IMPL_EXPAND", "TORCH_LIBRARY_IMPL_EXPAND"),
    ("STABLE_TORCH_LIBRARY", "STABLE_TORCH_LIBRARY_EXPAND"),
    ("STABLE_TORCH_LIBRARY_EXPAND", "STABLE_TORCH_LIBRARY_EXPAND"),
    (
        "STABLE_TORCH_LIBRARY_FRAGMENT",
        "STABLE_TORCH_LIBRARY_FRAGMENT",
    ),
    (
        "STABLE_TORCH_LIBRARY_IMPL",
        "STABLE_TORCH_LIBRARY_IMPL_EXPAND",
    ),
    (
        "STABLE_TORCH_LIBRARY_IMPL_EXPAND",
        "STABLE_TORCH_LIBRARY_IMPL_EXPAND",
    ),
];

/// The macros that make the Python module.
const MODULES: [&str; 2] = [MODULE, "PYBIND11_MODULE"];

/// Namespaces of torch, to which any kernel may add.
const TORCH: [&str; 6] = ["aten", "c10", "prim", "prims", "quantized", "torchvision"];

/// A file of a kernel.
#[derive(Clone, Debug)]
pub struct OldSource {
    /// The path that the user is shown.
    pub path: Utf8PathBuf,
    pub text: String,
    pub role: Role,
}

/// The role of a file in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A file of the binding that is compiled, and so is in every library of the kernel.
    Binding,
    /// Another source, or a header.
    Source,
    /// A module of the Python package, with the number of folders between it and the package.
    Python(usize),
}

/// A kernel's files after the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedSources {
    /// The namespace that they register under.
    pub namespace: String,
    /// Changed files: their index among the given files, and the new texts.
    pub texts: Vec<(usize, String)>,
    /// The places that an author must look at.
    pub left: Vec<LeftPlace>,
}

/// A place that stays as it is: the index of its file among the given ones, a line that counts from
/// 1, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftPlace {
    pub file: usize,
    pub line: usize,
    pub why: String,
}

/// The edits of a kernel's files; `None` if they register under no namespace of their own.
///
/// # Errors
/// The first place that only its author can change; no file is changed then.
pub fn update(files: &[OldSource]) -> Result<Option<RenamedSources>, LeftPlace> {
    let asked: Vec<&str> = MACROS.iter().map(|(old, _)| *old).chain(MODULES).collect();
    let cxx: Vec<(usize, CxxText)> = files
        .iter()
        .enumerate()
        .filter(|(_, file)| !matches!(file.role, Role::Python(_)))
        .map(|(index, file)| (index, CxxText::read(&file.text, &asked)))
        .collect();
    let left = |file: usize, at: usize, why: String| LeftPlace {
        file,
        line: line(&files[file].text, at),
        why,
    };

    // A namespace is the kernel's if the kernel declares operators in it.
    let mut declared: Vec<(usize, &MacroCall, &str)> = Vec::new();
    for (file, found) in &cxx {
        for call in &found.calls {
            let text = &files[*file].text;
            let macro_name = &text[call.name.clone()];
            let namespace = call
                .arguments
                .first()
                .map_or("", |name| &text[name.clone()]);
            let declares = MACROS.iter().any(|(old, _)| *old == macro_name)
                && !macro_name.contains("_IMPL")
                && namespace != NAME
                && !TORCH.contains(&namespace);
            // These macros take their name as it is written, without expansion.
            let literal = macro_name.ends_with("TORCH_LIBRARY") && namespace == NAME;
            if declares || literal {
                declared.push((*file, call, namespace));
            }
        }
    }
    let Some((_, _, namespace)) = declared.first().copied() else {
        return Ok(None);
    };
    if let Some((file, call, other)) = declared.iter().find(|(_, _, other)| *other != namespace) {
        let why =
            format!("registers under {other} beside {namespace}: one namespace has to hold both");
        return Err(left(*file, call.name.start, why));
    }
    for (file, found) in &cxx {
        if let Some(at) = found.wrappers.first() {
            let why = format!(
                "this macro registers operators, beside {namespace}: it has to name {NAME}"
            );
            return Err(left(*file, *at, why));
        }
        if found.defined.contains(namespace) {
            let why = format!("registers under {namespace}, which is a macro");
            return Err(left(declared[0].0, declared[0].1.name.start, why));
        }
        for call in &found.calls {
            let macro_name = &files[*file].text[call.name.clone()];
            let name = call.arguments.first();
            let name = name.map_or("", |name| &files[*file].text[name.clone()]);
            let why = match macro_name {
                "PYBIND11_MODULE" if name != NAME => {
                    format!("the Python module is called {name}: it has to be {NAME}")
                }
                "TORCH_LIBRARY_EXPAND" | "STABLE_TORCH_LIBRARY_EXPAND" if name == NAME => {
                    format!(
                        "registers under {NAME} beside {namespace}: one namespace has to hold both"
                    )
                }
                _ => continue,
            };
            return Err(left(*file, call.name.start, why));
        }
    }

    let module = module_file(files, &cxx, &declared)?;
    let mut renamed = RenamedSources {
        namespace: namespace.to_owned(),
        texts: Vec::new(),
        left: Vec::new(),
    };
    for (file, found) in &cxx {
        let text = edited(&files[*file].text, found, namespace, module == Some(*file));
        renamed.texts.extend(text.map(|text| (*file, text)));
    }
    for (index, file) in files.iter().enumerate() {
        if let Role::Python(depth) = file.role {
            let updated = python::update(&file.text, namespace, depth);
            renamed.texts.extend(updated.text.map(|text| (index, text)));
            let places = updated.left.into_iter();
            renamed
                .left
                .extend(places.map(|(at, why)| left(index, at, why)));
        }
    }
    Ok(Some(renamed))
}

/// The file that gets the Python module: a file of the binding, since every library has these;
/// `None` if there is a module already.
fn module_file(
    files: &[OldSource],
    cxx: &[(usize, CxxText)],
    declared: &[(usize, &MacroCall, &str)],
) -> Result<Option<usize>, LeftPlace> {
    let is_module =
        |word: &String| word == MODULE || word == "PYBIND11_MODULE" || word.starts_with("PyInit_");
    if cxx
        .iter()
        .any(|(_, found)| found.words.iter().any(is_module))
    {
        return Ok(None);
    }
    let binding = |file: &usize| files[*file].role == Role::Binding;
    let mut candidates = declared.iter().map(|(file, _, _)| *file).filter(binding);
    let first = candidates.next();
    match first.or_else(|| cxx.iter().map(|(file, _)| *file).find(binding)) {
        Some(file) => Ok(Some(file)),
        None => Err(LeftPlace {
            file: declared[0].0,
            line: line(&files[declared[0].0].text, declared[0].1.name.start),
            why: format!("no source of the binding can have {MODULE}({NAME})"),
        }),
    }
}

/// A C++ text with the build's namespace; `None` if it stays as it is.
fn edited(text: &str, found: &CxxText, namespace: &str, module: bool) -> Option<String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for call in &found.calls {
        let name = &text[call.name.clone()];
        let Some(argument) = call.arguments.first().cloned() else {
            continue;
        };
        if name == MODULE && text[argument.clone()] != *NAME {
            edits.push((argument, NAME.to_owned()));
        } else if let Some((_, new)) = MACROS.iter().find(|(old, _)| *old == name)
            && text[argument.clone()] == *namespace
        {
            edits.push((call.name.clone(), (*new).to_owned()));
            edits.push((argument, NAME.to_owned()));
        }
    }
    if edits.is_empty() && !module {
        return None;
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let first = edits.iter().map(|(range, _)| range.start).min();
    let includes = &found.includes;
    let has_header = includes
        .iter()
        .any(|include| include.file.trim_matches(['"', '<', '>']) == HEADER);
    if !has_header {
        let first = first.unwrap_or(text.len());
        let mut before = includes
            .iter()
            .filter(|include| !include.conditional && include.line.end <= first);
        let line = format!("#include \"{HEADER}\"{newline}");
        edits.push(match before.next_back() {
            Some(last) if text[last.line.clone()].ends_with('\n') => {
                (last.line.end..last.line.end, line)
            }
            Some(last) => (last.line.end..last.line.end, format!("{newline}{line}")),
            None => (found.body..found.body, format!("{line}{newline}")),
        });
    }
    if module {
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            newline
        };
        let line = format!("{end}{newline}{MODULE}({NAME}){newline}");
        edits.push((text.len()..text.len(), line));
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        edited.replace_range(range, &new);
    }
    (edited != text).then_some(edited)
}

/// The line of a place, counted from 1.
fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str, role: Role) -> OldSource {
        OldSource {
            path: path.into(),
            text: text.to_owned(),
            role,
        }
    }

    fn binding(text: &str) -> OldSource {
        file("torch-ext/torch_binding.cpp", text, Role::Binding)
    }

    /// The texts after the edit, of all files.
    fn texts(files: &[OldSource]) -> Vec<String> {
        let renamed = update(files).expect("edits").expect("a namespace");
        let mut texts: Vec<String> = files.iter().map(|file| file.text.clone()).collect();
        for (index, text) in renamed.texts {
            texts[index] = text;
        }
        let again: Vec<OldSource> = files
            .iter()
            .zip(&texts)
            .map(|(file, text)| OldSource {
                text: text.clone(),
                ..file.clone()
            })
            .collect();
        assert_eq!(update(&again), Ok(None), "a second run changes it");
        texts
    }

    #[test]
    fn the_binding_of_the_2025_tutorial() {
        let text = "#include <torch/library.h>\n\n#include \"torch_binding.h\"\n\nTORCH_LIBRARY(img2gray, ops) {\n  \
                    ops.def(\"img2gray(Tensor input, Tensor! output) -> ()\");\n}\n\n\
                    TORCH_LIBRARY_IMPL(img2gray, CUDA, ops) {\n  ops.impl(\"img2gray\", &img2gray_cuda);\n}\n";
        insta::assert_snapshot!(texts(&[binding(text)])[0], @r##"
        #include <torch/library.h>

        #include "torch_binding.h"
        #include "registration.h"

        TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
          ops.def("img2gray(Tensor input, Tensor! output) -> ()");
        }

        TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops) {
          ops.impl("img2gray", &img2gray_cuda);
        }

        REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
        "##);
    }

    #[test]
    fn only_the_namespace_of_the_kernel_changes() {
        let text = "#ifdef X\n#include <x.h>\n#endif\n// TORCH_LIBRARY(mine, m)\n#if defined(CUDA_KERNEL)\n\
                    TORCH_LIBRARY_FRAGMENT(mine, m) { m.def(\"mine::f() -> ()\"); }\n#endif\n\
                    TORCH_LIBRARY_IMPL(aten, CUDA, m) {}\nTORCH_LIBRARY_FRAGMENT(aten, m) {}";
        insta::assert_snapshot!(texts(&[binding(text)])[0], @r##"
        #include "registration.h"

        #ifdef X
        #include <x.h>
        #endif
        // TORCH_LIBRARY(mine, m)
        #if defined(CUDA_KERNEL)
        TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) { m.def("mine::f() -> ()"); }
        #endif
        TORCH_LIBRARY_IMPL(aten, CUDA, m) {}
        TORCH_LIBRARY_FRAGMENT(aten, m) {}

        REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
        "##);
    }

    /// The module is in the binding, which every library has, and once.
    #[test]
    fn several_files_have_one_module() {
        let files = [
            file(
                "csrc/a.cu",
                "#include <a.h>\r\nTORCH_LIBRARY_IMPL(mine, CUDA, m) {}\r\n",
                Role::Source,
            ),
            binding("#include \"registration.h\"\nSTABLE_TORCH_LIBRARY(mine, m) {}\n"),
            file("torch-ext/other.cpp", "int x;\n", Role::Binding),
            file(
                "torch-ext/mine/__init__.py",
                "import torch\ntorch.ops.mine.f()\n",
                Role::Python(0),
            ),
        ];
        let all = texts(&files);
        assert_eq!(
            all[0],
            "#include <a.h>\r\n#include \"registration.h\"\r\n\
             TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, m) {}\r\n"
        );
        assert_eq!(
            all[1],
            "#include \"registration.h\"\nSTABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m) {}\n\n\
             REGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n"
        );
        assert_eq!(all[2], "int x;\n");
        assert_eq!(all[3], "import torch\n\nfrom ._ops import ops\nops.f()\n");
        let module = [
            files[1].clone(),
            file(
                "m.cpp",
                "REGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n",
                Role::Binding,
            ),
        ];
        assert!(!texts(&module)[0].contains("REGISTER_EXTENSION"));
        // The macros of registration.h take a fixed name as well.
        let text = "#include \"registration.h\"\nTORCH_LIBRARY_EXPAND(mine, m) {}\nREGISTER_EXTENSION(_mine)\n";
        let expected = text
            .replace("_mine", "mine")
            .replace("mine", "TORCH_EXTENSION_NAME");
        assert_eq!(texts(&[binding(text)])[0], expected);
    }

    #[test]
    fn changes_for_the_author_alone_are_refused() {
        let refused = |files: &[OldSource]| update(files).expect_err("refused").line;
        assert_eq!(
            refused(&[binding("TORCH_LIBRARY(a, m) {}\n\nTORCH_LIBRARY(b, m) {}")]),
            3
        );
        assert_eq!(
            refused(&[binding(
                "TORCH_LIBRARY(a, m) {}\n#define R(n) TORCH_LIBRARY_IMPL(n, CPU, m)\n"
            )]),
            2
        );
        assert_eq!(
            refused(&[binding("#define a b\nTORCH_LIBRARY(a, m) {}\n")]),
            2
        );
        let both = "TORCH_LIBRARY(a, m) {}\nTORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m) {}\n";
        assert_eq!(refused(&[binding(both)]), 2);
        assert_eq!(
            refused(&[binding(
                "TORCH_LIBRARY(a, m) {}\nPYBIND11_MODULE(a, m) {}\n"
            )]),
            2
        );
        assert_eq!(
            refused(&[file("a.cu", "\nTORCH_LIBRARY(a, m) {}", Role::Source)]),
            2
        );
        for text in [
            "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m) {}\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n",
            "TORCH_LIBRARY_IMPL(aten, CPU, m) {}",
            "// TORCH_LIBRARY(a, m)",
        ] {
            assert_eq!(update(&[binding(text)]), Ok(None), "{text}");
        }
    }

    /// No part of a text ends the program, wherever it is cut off.
    #[test]
    fn every_part_of_a_text_is_read() {
        let cxx = "#ifndef A // é\n#define A \\\r\n  1\n#include <a.h>\n/* ü */ R\"x(é)x\" 'ä' \"\\\"\" 1'0é\n\
                   TORCH_LIBRARY(a /* , */, (m)) {}\n#endif";
        let python = "import torch\nr'''é\\''' # ü\ntorch.ops.a.f(f\"\\é\", 'a::f' \\\n)\n";
        for (text, role) in [(cxx, Role::Binding), (python, Role::Python(0))] {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            for from in &places {
                for to in places.iter().filter(|to| *to >= from) {
                    let part = file("part", &text[*from..*to], role);
                    let _ = update(&[binding("TORCH_LIBRARY(a, m) {}"), part]);
                }
            }
        }
    }
}
