#!/bin/sh
# Installs the program `idempost` from a folder of release archives: `sh install.sh [--prefix DIR] URL`.
#
# URL is where the files written by `archive` are: https://…, http://localhost…, or a local folder. The archive is unpacked only if its
# SHA-256 matches the file next to it. DIR is ~/.local by default; the program, its manual pages and its completions go to bin and share below it.
set -eu

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

prefix=${PREFIX:-$HOME/.local}
url=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -gt 1 ] || fail "--prefix needs a folder"
        prefix=$2
        shift
        ;;
    -h | --help)
        sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
        exit 0
        ;;
    -*) fail "unknown flag $1; usage: sh install.sh [--prefix DIR] URL" ;;
    *)
        [ -z "$url" ] || fail "only one URL; usage: sh install.sh [--prefix DIR] URL"
        url=${1%/}
        ;;
    esac
    shift
done
[ -n "$url" ] || fail "usage: sh install.sh [--prefix DIR] URL"

case $(uname -s) in
Linux)
    case $(ldd --version 2>&1 || true) in
    *musl*) system=unknown-linux-musl ;;
    *) system=unknown-linux-gnu ;;
    esac
    ;;
Darwin) system=apple-darwin ;;
*) fail "there are no archives for $(uname -s); build it with: cargo install --locked --path cli" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "there are no archives for $(uname -m); build it with: cargo install --locked --path cli" ;;
esac
name=idempost-$machine-$system
archive=$name.tar.gz

# Fetches a file from the folder; follows redirects only to HTTPS.
fetch() {
    case $url in
    *@*) fail "the URL must have no user name; found $url" ;;
    https://*) only='=https' ;;
    http://localhost | http://localhost[:/]* | http://127.0.0.1 | http://127.0.0.1[:/]*) only='=http,https' ;;
    *://*) fail "the URL must start with https://; found $url" ;;
    *)
        cp "$url/$1" "$2" || fail "there is no $1 in $url"
        return
        ;;
    esac
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --proto "$only" --output "$2" "$url/$1" || fail "couldn't download $url/$1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$url/$1" || fail "couldn't download $url/$1"
    else
        fail "curl or wget is required"
    fi
}

sum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 <"$1"
    elif command -v openssl >/dev/null 2>&1; then
        openssl dgst -sha256 -r <"$1"
    else
        fail "sha256sum, shasum or openssl is required to verify the archive"
    fi | cut -d ' ' -f 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
fetch "$archive.sha256" "$folder/sum"
fetch "$archive" "$folder/$archive"
expected=$(cut -d ' ' -f 1 "$folder/sum")
found=$(sum "$folder/$archive")
[ -n "$found" ] && [ "$found" = "$expected" ] ||
    fail "the SHA-256 of $archive is $found, but $archive.sha256 has ${expected:-nothing}; nothing was installed"

mkdir "$folder/files"
tar -xzf "$folder/$archive" -C "$folder/files"
version=$("$folder/files/$name/bin/idempost" --version) || fail "this machine can't run the program; nothing was installed"
(cd "$folder/files/$name" && find . -type f) | while IFS= read -r file; do
    mkdir -p "$prefix/${file%/*}"
    # The rename replaces a program that is running.
    cp -p "$folder/files/$name/$file" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done
echo "installed $version to $prefix/bin/idempost"
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "add $prefix/bin to PATH" ;;
esac
