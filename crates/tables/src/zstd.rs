//! A zstd stream, frame after frame. What a frame says of itself, its length and its checksum, is held against what it gave.

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// The decompressed bytes of all frames of a stream.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    state: State,
    /// Bytes that the frame at work gave so far.
    given: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a frame, or at the end.
    Between,
    /// Inside a frame.
    Inside,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Frames<R> {
        Frames { source, decoder: FrameDecoder::new(), state: State::Between, given: 0 }
    }

    /// Goes on to the next frame that has content. False at the end of the stream.
    fn begin(&mut self) -> Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    (self.state, self.given) = (State::Inside, 0);
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped =
                        std::io::copy(&mut (&mut self.source).take(length.into()), &mut std::io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(_) => return Err(self.damage()),
            }
        }
    }

    /// Checks a frame that has ended.
    fn finish(&mut self) -> Result<()> {
        self.state = State::Between;
        let announced = self.decoder.content_size();
        let sum = self.decoder.get_checksum_from_data();
        let is_whole = announced == 0 || announced == self.given;
        let is_intact = sum.is_none() || sum == self.decoder.get_calculated_checksum();
        if is_whole && is_intact { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
    }

    /// A decoder that fails where nothing is left was given a stream that is truncated.
    fn damage(&mut self) -> Error {
        match self.source.fill_buf() {
            Ok([]) => ErrorKind::UnexpectedEof.into(),
            Ok(_) => ErrorKind::InvalidData.into(),
            Err(error) => error,
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.state == State::Between && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                if self.decoder.decode_blocks(&mut self.source, one).is_err() {
                    return Err(self.damage());
                }
            }
            let count = self.decoder.read(buffer)?;
            self.given += count as u64;
            if count > 0 {
                return Ok(count);
            }
            self.finish()?;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// zstd 1.5.4: printf 'age\n31\n' | zstd -19.
    const CHECKED: &[u8] = b"\x28\xb5\x2f\xfd\x04\x68\x39\x00\x00age\n31\n\x74\xe5\xd1\x76";
    /// zstd 1.5.4: a file of '41\n' by zstd --no-check.
    const PLAIN: &[u8] = b"\x28\xb5\x2f\xfd\x20\x03\x19\x00\x0041\n";
    const SKIPPED: &[u8] = b"\x52\x2a\x4d\x18\x03\x00\x00\x00abc";

    fn unpacked(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        Frames::new(bytes).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn frames_follow_each_other_and_what_is_to_be_skipped_is() {
        let all = [CHECKED, SKIPPED, PLAIN].concat();
        assert_eq!(unpacked(&all).unwrap(), b"age\n31\n41\n");
        assert_eq!(unpacked(&[]).unwrap(), b"");
    }

    #[test]
    fn no_cut_and_no_change_of_content_passes() {
        let all = [CHECKED, SKIPPED, PLAIN].concat();
        let ends = [0, CHECKED.len(), CHECKED.len() + SKIPPED.len(), all.len()];
        for cut in (0..all.len()).filter(|cut| !ends.contains(cut)) {
            assert_eq!(unpacked(&all[..cut]).unwrap_err().kind(), ErrorKind::UnexpectedEof, "{cut}");
        }
        for at in 9..CHECKED.len() {
            let mut bad = CHECKED.to_vec();
            bad[at] ^= 1;
            assert!(unpacked(&bad).is_err(), "{at}");
        }
        // A frame that says it has four bytes and has three.
        let mut long = PLAIN.to_vec();
        long[5] = 4;
        assert!(unpacked(&long).is_err());
        assert!(unpacked(&[PLAIN, b"more"].concat()).is_err());
    }
}
