//! Writes the JavaScript of a WebAssembly library: `wasm LIBRARY FOLDER`.

#[cfg(not(target_family = "wasm"))]
fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(library), Some(folder)) = (arguments.next(), arguments.next()) else {
        panic!("usage: wasm LIBRARY FOLDER");
    };
    let mut bindings = wasm_bindgen_cli_support::Bindgen::new();
    bindings
        .input_path(library)
        .nodejs_module(true)
        .and_then(|made| made.typescript(false).generate(folder))
        .unwrap();
}

#[cfg(target_family = "wasm")]
fn main() {}
