//! Replays the samples of every target, and mutations of them that are the same in every run. `FUZZ_ROUNDS=100` tries a hundred times as
//! many mutations, for machines without a C++ compiler.

#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

use idempost_fuzz::{TARGETS, Target};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};

/// The mutations of each sample, and the most of each target.
const MUTATIONS: usize = 12;
const MAX_MUTATIONS: usize = 100;

/// The samples of a target by name, in order.
fn samples(target: Target) -> Vec<(String, Vec<u8>)> {
    let folder = folder("seeds").join(target.name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut samples: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    samples.sort();
    samples
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The tokens of a target's dictionary: lines of a quoted token, in which `\xAB` is a byte.
fn words(target: Target) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(folder("words").join(target.name)).unwrap_or_default();
    let tokens = text.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"'));
    tokens.map(unescaped).collect()
}

fn unescaped(token: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), token.as_bytes());
    loop {
        match rest {
            [] => return bytes,
            [b'\\', b'x', high, low, after @ ..] => {
                let digits = [*high, *low];
                let byte =
                    std::str::from_utf8(&digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
                bytes.push(byte.expect("a byte has two hexadecimal digits"));
                rest = after;
            }
            [b'\\', byte, after @ ..] | [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
}

fn mutated(sample: &[u8], words: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for _ in 0..random.gen_range(1..4) {
        let start = random.gen_range(0..=bytes.len());
        let end = (start + random.gen_range(0..16)).min(bytes.len());
        match random.gen_range(0..5) {
            0 => bytes.truncate(start),
            1 => drop(bytes.drain(start..end)),
            2 => bytes = [&bytes[..end], &bytes[start..]].concat(),
            3 if start < bytes.len() => bytes[start] = random.r#gen(),
            _ => drop(bytes.splice(start..end, words.choose(random).cloned().unwrap_or_default())),
        }
    }
    bytes
}

#[test]
fn every_target_has_samples_and_valid_words() {
    for target in TARGETS {
        assert!(!samples(*target).is_empty(), "{}", target.name);
        assert!(!words(*target).iter().any(Vec::is_empty), "{}", target.name);
    }
    for kind in ["seeds", "words"] {
        for file in fs::read_dir(folder(kind)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            assert!(idempost_fuzz::target(&name).is_some(), "{kind}/{name} belongs to no target");
        }
    }
}

#[test]
fn properties_hold_for_all_samples_and_mutations_of_them() {
    let (failures, threads) =
        (std::sync::Mutex::new(Vec::new()), std::thread::available_parallelism().unwrap());
    let queue = std::sync::Mutex::new(TARGETS.iter().copied());
    std::thread::scope(|scope| {
        for _ in 0..threads.get() {
            scope.spawn(|| {
                loop {
                    let Some(target) = queue.lock().unwrap().next() else { break };
                    let failed = replay(target);
                    failures.lock().unwrap().extend(failed);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn replay(target: Target) -> Option<String> {
    let (samples, words) = (samples(target), words(target));
    let rounds = std::env::var("FUZZ_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    let mut random = StdRng::seed_from_u64(1);
    let mutations = samples.iter().cycle().take((samples.len() * MUTATIONS).min(MAX_MUTATIONS) * rounds);
    let mutations = mutations.map(|(name, sample)| (name, mutated(sample, &words, &mut random)));
    let originals = samples.iter().map(|(name, sample)| (name, sample.clone()));
    originals.chain(mutations).find_map(|(name, input)| {
        let held = std::panic::catch_unwind(|| (target.run)(&input));
        held.err()
            .map(|_| format!("{}: {name} or a mutation: {:?}", target.name, input.escape_ascii().to_string()))
    })
}
