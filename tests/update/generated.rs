//! Generated files of the editions before 5, with comments everywhere.

use proptest::prelude::*;

use super::{assert_kept, updated};
use crate::fixture::Fixture;

/// Lines that may stand in a table, each with or without comments around it.
type Lines = Vec<(bool, bool, bool, String)>;

/// Some of the lines given; those that start with `!` always.
fn some_of(lines: &[&str]) -> impl Strategy<Value = Lines> + use<> {
    let line = |line: &&str| {
        let (always, line) = match line.strip_prefix('!') {
            Some(line) => (true, line),
            None => (false, *line),
        };
        let line = line.to_owned();
        (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(move |(there, above, beside)| (always || there, above, beside, line.clone()))
    };
    lines.iter().map(line).collect::<Vec<_>>().prop_shuffle()
}

fn write(out: &mut String, header: &str, lines: &Lines) {
    out.push_str(&format!(
        "\n# above {header}\n[{header}] # beside {header}\n"
    ));
    for (there, above, beside, line) in lines {
        if !there {
            continue;
        }
        let key = line.split(' ').next().unwrap_or_default();
        if *above {
            out.push_str(&format!("  # above {header} {key}\n"));
        }
        out.push_str(line);
        if *beside {
            out.push_str(&format!(" # beside {header} {key}"));
        }
        out.push('\n');
    }
}

/// A file from tables, in any order.
fn file(tables: Vec<(&'static str, BoxedStrategy<Lines>)>) -> impl Strategy<Value = String> {
    let tables: Vec<_> = tables
        .into_iter()
        .map(|(header, lines)| lines.prop_map(move |lines| (header, lines)))
        .collect();
    tables.prop_shuffle().prop_map(|tables| {
        let mut out = "# the first line\n".to_owned();
        for (header, lines) in tables {
            write(&mut out, header, &lines);
        }
        out.push_str("# the last line\n");
        out
    })
}

const SRC: &str = "!src = [\n  # in a list\n  \"csrc/relu.cu\", # beside an element\n]";
const CPU: &str = "!src = [\"csrc/relu_cpu.cpp\"]";
const BINDING: &str = "!src = [ \"torch-ext/torch_binding.cpp\" ]";
const TORCH: [&str; 5] = [
    BINDING,
    "pyext = [\"py\"]",
    "include = [\"csrc/include\"]",
    "minver = \"2.0\"",
    "maxver = \"2.10\"",
];

fn v1() -> impl Strategy<Value = String> {
    let language = prop_oneof![
        some_of(&[
            "!language = \"cuda-hipify\"",
            SRC,
            "!depends = [\"torch\"]",
            "rocm-archs = [\"gfx942\"]",
            "cuda-capabilities = ['8.0']"
        ]),
        some_of(&[
            "!language = \"cuda\"",
            SRC,
            "!depends = []",
            "include = [\"csrc\"]"
        ]),
        some_of(&[SRC, "!depends = []"]),
    ];
    file(vec![
        ("general", some_of(&["!name = \"relu\""]).boxed()),
        (
            "torch",
            some_of(&["!universal = false", BINDING, "pyext = [\"py\"]"]).boxed(),
        ),
        ("kernel.relu", language.boxed()),
        (
            "kernel.\"a-b\"",
            some_of(&["!src = [\"csrc/relu_shared.cpp\"]", "!depends = [ ]"]).boxed(),
        ),
    ])
}

fn v2() -> impl Strategy<Value = String> {
    file(vec![
        (
            "general",
            some_of(&[
                "!name = \"relu\"",
                "universal = false",
                "cuda-minver = \"12.0\"",
                "!cuda-maxver = '13.0'",
                "python-depends = [\"einops\", \"nvidia-cutlass-dsl\"]",
            ])
            .boxed(),
        ),
        (
            "general.hub",
            some_of(&["repo-id = \"org/relu\"", "branch = \"x\""]).boxed(),
        ),
        ("torch", some_of(&TORCH).boxed()),
        (
            "kernel.relu",
            some_of(&[
                "!backend = \"cuda\"",
                SRC,
                "!depends = [\"torch\"]",
                "cuda-flags = [\"-O3\"]",
            ])
            .boxed(),
        ),
        (
            "kernel.relu_cpu",
            some_of(&["!backend = \"cpu\"", CPU, "!depends = [\"torch\"]"]).boxed(),
        ),
    ])
}

fn v3() -> impl Strategy<Value = String> {
    let backends = "!backends = [ \"cuda\",\n  \"cpu\" # beside cpu\n]";
    file(vec![
        (
            "general",
            some_of(&[
                "!name = \"relu\"",
                backends,
                "license = \"MIT\"",
                "python-depends = [\"einops\"]",
            ])
            .boxed(),
        ),
        (
            "general.cuda",
            some_of(&["minver = \"12.0\"", "maxver = \"13.0\""]).boxed(),
        ),
        ("torch", some_of(&TORCH).boxed()),
        (
            "kernel.relu",
            some_of(&[
                "!backend = \"cuda\"",
                SRC,
                "!depends = [\"torch\"]",
                "cuda-minver = \"12.0\"",
            ])
            .boxed(),
        ),
        (
            "kernel.relu_cpu",
            some_of(&[
                "!backend = \"cpu\"",
                CPU,
                "!depends = [\"torch\"]",
                "cxx-flags = [\"-O3\"]",
            ])
            .boxed(),
        ),
    ])
}

fn v4() -> impl Strategy<Value = String> {
    file(vec![
        (
            "general",
            some_of(&[
                "!name = \"relu\"",
                "!version = 0x10",
                "!license = \"MIT\"",
                "!backends = [\"cuda\"]",
                "upstream = \"https://example.org/relu\"",
                "source = 'https://example.org/relu'",
            ])
            .boxed(),
        ),
        (
            "torch",
            some_of(&[BINDING, "stable-abi = \"2.10\"", "cxx-flags = [\"-O3\"]"]).boxed(),
        ),
        (
            "kernel.relu",
            some_of(&["!backend = \"cuda\"", SRC, "!depends = [\"torch\"]"]).boxed(),
        ),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn comments_survive_and_the_kernel_stays_the_same(
        text in prop_oneof![v1(), v2(), v3(), v4()],
        windows in any::<bool>(),
    ) {
        let fixture = Fixture::new();
        let text = if windows { text.replace('\n', "\r\n") } else { text };
        let (kernel, problems) = fixture.check(text.as_bytes());
        prop_assert!(kernel.is_some(), "{text}\n{}", problems.render(Default::default()));
        let new = updated(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let new = new.expect("an old file");
        assert_kept(&fixture, &text, &new);
    }
}
