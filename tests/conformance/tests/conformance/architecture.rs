//! The diagram in ARCHITECTURE.md, generated from the crates' dependencies and their files' imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The folders of the crates: those that depend on no other crate are at the bottom, and crates on the same level are side by side.
const CRATES: [&str; 5] = ["cli", "bulk", "sandbox", "sdk", "tests/reference-server"];
/// Files that may import everything, or contain only documentation or macros.
const LEFT_OUT: [&str; 5] = ["lib", "main", "guide", "fuzzing", "macros"];

const WIDTH: usize = 960;
const MARGIN: usize = 20;
const ROW: usize = 30;
/// The space for arrows, between two levels and next to the boxes of an upper level.
const GAP: usize = 48;

const STYLE: &str = "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.crate{font-weight:bold;font-size:15px}.note{fill:#59636e}\
    .page{fill:#fff}.box{fill:#f6f8fa;stroke:#818b98}.module{fill:#fff;stroke:#d1d9e0}path{stroke:#59636e;stroke-width:1.5;fill:none}\
    @media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.page{fill:#0d1117}.box{fill:#151b23;stroke:#656c76}\
    .module{fill:#0d1117;stroke:#3d444d}path{stroke:#9198a1}}";

/// The crate's name, and the crates of this project that it depends on, each with whether a feature turns it off.
fn manifest(folder: &str) -> (String, BTreeMap<String, bool>) {
    let text = fs::read_to_string(format!("{ROOT}/{folder}/Cargo.toml")).unwrap();
    let manifest: toml_edit::DocumentMut = text.parse().unwrap();
    let optional =
        |item: &toml_edit::Item| item.get("optional").and_then(toml_edit::Item::as_bool) == Some(true);
    let dependencies = manifest["dependencies"].as_table().unwrap().iter();
    let ours = dependencies.filter(|(name, _)| name.starts_with("idempost"));
    let ours = ours.map(|(name, item)| (name.to_owned(), optional(item))).collect();
    (manifest["package"]["name"].as_str().unwrap().to_owned(), ours)
}

/// The number of steps down to a module that has nothing below it. `above` are the modules that led to this one.
fn height(name: &str, below: &BTreeMap<String, BTreeSet<String>>, above: &[&str]) -> usize {
    assert!(!above.contains(&name), "imports form a cycle: {above:?}, then {name}");
    let above = [above, &[name]].concat();
    below[name].iter().map(|next| 1 + height(next, below, &above)).max().unwrap_or(0)
}

/// The modules of a crate from top to bottom: each imports only from the rows below its own.
fn rows(folder: &str) -> Vec<Vec<String>> {
    let mut below: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, imports) in idempost_conformance::layers::imports(format!("{ROOT}/{folder}/src").as_ref()) {
        let others =
            imports.into_iter().map(|mut import| import.swap_remove(0)).filter(|other| *other != file[0]);
        below.entry(file[0].clone()).or_default().extend(others);
    }
    below.retain(|module, _| !LEFT_OUT.contains(&module.as_str()));
    let known: BTreeSet<String> = below.keys().cloned().collect();
    for others in below.values_mut() {
        others.retain(|other| known.contains(other));
    }
    let mut rows = vec![Vec::new(); known.len()];
    for module in known {
        rows[height(&module, &below, &[])].push(module);
    }
    rows.into_iter().rev().filter(|row| !row.is_empty()).collect()
}

/// A crate's box at a position, and its height.
fn draw(svg: &mut String, (x, y, width): (usize, usize, usize), name: &str, folder: &str) -> usize {
    let mut modules = String::new();
    let mut down = y + 12 + ROW;
    for row in rows(folder) {
        let mut right = x + 12;
        for module in row {
            let length = module.len() * 8 + 16;
            if right + length > x + width - 12 {
                (right, down) = (x + 12, down + ROW);
            }
            let (text, line) = (right + 8, down + 16);
            let _ = writeln!(
                modules,
                r#"<rect class="module" x="{right}" y="{down}" width="{length}" height="24" rx="4"/><text x="{text}" y="{line}">{module}</text>"#
            );
            right += length + 8;
        }
        down += ROW;
    }
    let (height, text, line) = (down - y + 4, x + 12, y + 26);
    let _ = writeln!(
        svg,
        r#"<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>
<text x="{text}" y="{line}"><tspan class="crate">{name}</tspan><tspan class="note" dx="10">{folder}/</tspan></text>
{modules}"#
    );
    height
}

fn drawing() -> String {
    let manifests: BTreeMap<_, _> = CRATES.map(|folder| (folder, manifest(folder))).into();
    let below = manifests.values().map(|(name, on)| (name.clone(), on.keys().cloned().collect())).collect();
    let level = |folder: &&str| height(&manifests[folder].0, &below, &[]);
    let (mut svg, mut boxes, mut y) = (String::new(), BTreeMap::<&str, [usize; 4]>::new(), MARGIN);
    for this in (0..=CRATES.iter().map(level).max().unwrap()).rev() {
        let folders: Vec<_> = CRATES.iter().filter(|folder| level(folder) == this).collect();
        let column = (WIDTH - MARGIN) / folders.len();
        let mut bottom = y;
        for (number, folder) in folders.iter().enumerate() {
            let (x, inset) = (MARGIN + number * column, if folders.len() > 1 { this * GAP } else { 0 });
            let (name, width) = (&manifests[*folder].0, column - MARGIN - inset);
            let height = draw(&mut svg, (x, y, width), name, folder);
            boxes.insert(name, [x, y, width, y + height]);
            bottom = bottom.max(y + height);
        }
        y = bottom + GAP;
    }
    for (name, on) in manifests.values() {
        for (other, optional) in on {
            let ([_, _, _, from], [x, to, width, _]) = (boxes[name.as_str()], boxes[other.as_str()]);
            // Passes next to the boxes in between.
            let is_between = |[left, top, ..]: &[usize; 4]| *left == x && (from..to).contains(top);
            let at = if boxes.values().any(is_between) { x + width - GAP / 2 } else { x + width / 2 };
            let dashes = if *optional { r#" stroke-dasharray="5""# } else { "" };
            let _ = writeln!(
                svg,
                r#"<path{dashes} d="M{at} {from}V{to}"/><path d="M{at} {to}m-5 -9l5 9l5 -9"/>"#
            );
        }
    }
    let legend = "An arrow: depends on; dashed: by a feature. In a box, a module imports only from the rows below its own.";
    let _ = writeln!(svg, r#"<text class="note" x="{MARGIN}" y="{}">{legend}</text>"#, y - GAP / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" role=\"img\" aria-label=\"Crates, modules and dependencies\"><style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{y}\"/>\n{svg}</svg>\n"
    )
}

#[test]
fn the_drawing_of_the_architecture_is_current() {
    let file = format!("{ROOT}/docs/assets/architecture.svg");
    let expected = drawing();
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(&file, &expected).unwrap();
    }
    let advice = "SNAPSHOTS=overwrite cargo test -p idempost-conformance --test conformance architecture";
    assert!(fs::read_to_string(&file).unwrap_or_default() == expected, "{file} is outdated: {advice}");
}
