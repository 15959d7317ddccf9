"""Packs a folder, always to the same bytes, and writes the SHA-256 beside it: `pack.py FOLDER ARCHIVE.tar.gz|ARCHIVE.zip EPOCH`."""

import gzip
import hashlib
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path

folder, archive, epoch = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
entries = [folder, *sorted(folder.rglob("*"))]


def mode(entry):
    return 0o755 if entry.is_dir() or os.access(entry, os.X_OK) else 0o644


if archive.suffix == ".zip":
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in entries:
            if entry.is_file():
                info = zipfile.ZipInfo(str(entry.relative_to(folder.parent).as_posix()), time.gmtime(epoch)[:6])
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = mode(entry) << 16
                packed.writestr(info, entry.read_bytes())
else:
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as packed:
            for entry in entries:
                info = packed.gettarinfo(entry, str(entry.relative_to(folder.parent).as_posix()))
                info.mode, info.mtime, info.uid, info.gid, info.uname, info.gname = mode(entry), epoch, 0, 0, "", ""
                with entry.open("rb") if entry.is_file() else open(os.devnull, "rb") as content:
                    packed.addfile(info, content)

digest = hashlib.sha256(archive.read_bytes()).hexdigest()
Path(f"{archive}.sha256").write_bytes(f"{digest}  {archive.name}\n".encode())
