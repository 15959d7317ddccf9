//! The segment of each record, and the number of bytes in use in each segment.

use std::collections::BTreeMap;

use crate::persistence::segment::Place;

/// The number of adjacent positions that share an entry: positions are dense, since each table numbers them consecutively.
const CHUNK: usize = 16;
/// The bytes that segments may take beyond twice the bytes in use.
const SLACK: usize = 4 << 20;

/// The segment and length of each record in a range of positions. Segments are numbered from 1; 0 means no record.
type Chunk = [(u32, u32); CHUNK];

#[derive(Debug, Default)]
pub(super) struct Index {
    tables: BTreeMap<(u32, u8), BTreeMap<u64, Box<Chunk>>>,
    segments: BTreeMap<u32, Segment>,
    bytes: usize,
    used: usize,
    /// The highest number of a tenant in any segment when the file was opened.
    pub(super) last_tenant: u32,
}

/// The size of a segment, and of its records in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) bytes: usize,
    pub(super) used: usize,
}

impl Index {
    /// Returns the segment of a record.
    pub(super) fn segment(&self, place: Place) -> Option<u32> {
        let (number, slot) = chunk(place.position);
        let (segment, _) = self.tables.get(&(place.tenant, place.table))?.get(&number)?[slot];
        (segment > 0).then_some(segment)
    }

    /// Adds a segment, which gets the highest number. Its records follow.
    pub(super) fn add_segment(&mut self, number: u32, bytes: usize) {
        self.segments.insert(number, Segment { bytes, used: 0 });
        self.bytes += bytes;
    }

    /// Sets the segment and length of a record, or deletes it.
    pub(super) fn set(&mut self, place: Place, found: Option<(u32, u32)>) {
        let key = (place.tenant, place.table);
        let (number, slot) = chunk(place.position);
        let before = if let Some(found) = found {
            let chunk = self.tables.entry(key).or_default().entry(number).or_default();
            std::mem::replace(&mut chunk[slot], found)
        } else {
            let Some(chunks) = self.tables.get_mut(&key) else { return };
            let Some(chunk) = chunks.get_mut(&number) else { return };
            let before = std::mem::take(&mut chunk[slot]);
            if **chunk == Chunk::default() {
                chunks.remove(&number);
            }
            before
        };
        self.count(before, false);
        self.count(found.unwrap_or_default(), true);
    }

    fn count(&mut self, (segment, length): (u32, u32), is_used: bool) {
        let Some(segment) = self.segments.get_mut(&segment) else { return };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if is_used {
            (segment.used, self.used) = (segment.used + length, self.used + length);
        } else {
            (segment.used, self.used) = (segment.used - length, self.used - length);
        }
    }

    /// Returns the positions in a table that have a record.
    pub(super) fn positions(&self, tenant: u32, table: u8) -> Vec<u64> {
        let chunks = self.tables.get(&(tenant, table)).into_iter().flatten();
        let slots = chunks.flat_map(|(number, chunk)| (number * CHUNK as u64..).zip(chunk.iter()));
        slots.filter(|(_, (segment, _))| *segment > 0).map(|(position, _)| position).collect()
    }

    /// Returns the segments that contain a record in use, newest first.
    pub(super) fn segments_in_use(&self) -> Vec<u32> {
        let used = self.segments.iter().rev().filter(|(_, segment)| segment.used > 0);
        used.map(|(number, _)| *number).collect()
    }

    /// Removes all records of a tenant.
    pub(super) fn remove_tenant(&mut self, tenant: u32) {
        let of_tenant = self.tables.extract_if((tenant, 0)..=(tenant, u8::MAX), |_, _| true);
        let chunks: Vec<_> = of_tenant.flat_map(|(_, chunks)| chunks.into_values()).collect();
        for found in chunks.iter().flat_map(|chunk| chunk.iter()) {
            self.count(*found, false);
        }
    }

    /// Returns the oldest segments if all segments together take more than twice the bytes in use: as many as can be copied with about `slice` bytes.
    /// Nothing is older, so their deletions can be forgotten.
    pub(super) fn to_compact(&self, slice: usize) -> Vec<(u32, Segment)> {
        let (mut unused, mut copied) = (self.bytes.saturating_sub(2 * self.used + SLACK), 0);
        let oldest = self.segments.iter().take_while(|(_, segment)| {
            let goes = unused > 0 && copied < slice;
            unused = unused.saturating_sub(segment.bytes - segment.used);
            copied += segment.used;
            goes
        });
        oldest.map(|(number, segment)| (*number, *segment)).collect()
    }

    /// Removes the oldest segment, whose records have been copied.
    pub(super) fn remove_segment(&mut self, number: u32) {
        if let Some(segment) = self.segments.remove(&number) {
            self.bytes -= segment.bytes;
            self.used -= segment.used;
        }
    }

    /// Returns the number of the newest segment.
    pub(super) fn last_segment(&self) -> u32 {
        self.segments.last_key_value().map_or(0, |(number, _)| *number)
    }
}

/// Returns the chunk number of a position, and its slot in the chunk.
fn chunk(position: u64) -> (u64, usize) {
    (position / CHUNK as u64, usize::try_from(position % CHUNK as u64).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(tenant: u32, position: u64) -> Place {
        Place { tenant, table: 1, position }
    }

    #[test]
    fn the_last_record_of_a_place_counts_and_a_deleted_tenant_has_none() {
        let mut index = Index::default();
        for number in 1..=2 {
            index.add_segment(number, 1_000);
            for position in [0, 15, 16, 1_000_000] {
                index.set(place(number, position), Some((number, 100)));
            }
        }
        index.add_segment(3, 100);
        index.set(place(1, 15), Some((3, 50)));
        index.set(place(1, 16), None);
        index.set(place(1, 17), None);
        assert_eq!(index.positions(1, 1), [0, 15, 1_000_000]);
        assert_eq!([0, 15, 16].map(|at| index.segment(place(1, at))), [Some(1), Some(3), None]);
        assert_eq!(index.used, 650);
        index.remove_tenant(1);
        assert_eq!((index.positions(1, 1).len(), index.positions(2, 1).len(), index.used), (0, 4, 400));
    }

    #[test]
    fn compaction_takes_the_oldest_segments_in_slices_until_half_is_in_use() {
        let mut index = Index::default();
        for number in 1..=100 {
            index.add_segment(number, 1 << 20);
            index.set(place(1, number.into()), Some((number, 1 << 20)));
        }
        assert_eq!(index.to_compact(1 << 20), []);
        (1..=60).for_each(|position| index.set(place(1, position), None));
        let unused = index.to_compact(1 << 20);
        assert_eq!(unused.len(), 100 - 2 * 40 - 4, "segments without records cost nothing");
        assert!(unused.iter().all(|(_, segment)| segment.used == 0) && !unused.is_empty());
        for (number, _) in unused {
            index.remove_segment(number);
        }
        assert_eq!(index.to_compact(1 << 20), []);
        (62..=100).for_each(|position| index.set(place(1, position), None));
        index.set(place(1, 17), Some((100, 1)));
        let slice = index.to_compact(1);
        assert_eq!(
            (slice[0].0, slice.last().map(|(number, _)| *number)),
            (17, Some(61)),
            "only one has a record"
        );
    }
}
