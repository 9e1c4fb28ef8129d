//! A row of bits, packed into words.

use veracity_core::Refusal;

/// A row of bits, 64 to a word; bits beyond the length are zero.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::local::BitRow;
///
/// let row = BitRow::from_hex(12, "8001")?;
/// assert!(row.bit(7) && row.bit(8) && row.ones() == 2);
/// assert_eq!(row.to_hex(), "8001");
/// // A bit beyond the length is refused.
/// assert!(BitRow::from_hex(12, "0010").is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitRow {
    len: u32,
    words: Box<[u64]>,
}

impl BitRow {
    /// Packs words made in order; what lies beyond `len` is cleared.
    pub(crate) fn new(len: u32, words: impl Iterator<Item = u64>) -> BitRow {
        let mut words: Box<[u64]> = words.take(len.div_ceil(64) as usize).collect();
        if let (Some(last), used @ 1..) = (words.last_mut(), len % 64) {
            *last &= (1 << used) - 1;
        }
        BitRow { len, words }
    }

    /// Packs bits, the first of them first. Refused where they are more than 2^32 − 1.
    ///
    /// # Errors
    /// Refuses 2^32 bits or more.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_mechanisms::local::BitRow;
    ///
    /// let row = BitRow::from_bits((0..100).map(|place| place % 7 == 0))?;
    /// assert_eq!((row.len(), row.ones()), (100, 15));
    /// assert!(row.bit(98) && !row.bit(99));
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn from_bits(bits: impl IntoIterator<Item = bool>) -> Result<BitRow, Refusal> {
        let (mut len, mut words) = (0u32, Vec::new());
        for bit in bits {
            if len % 64 == 0 {
                words.push(0u64);
            }
            if let Some(last) = words.last_mut() {
                *last |= u64::from(bit) << (len % 64);
            }
            len = len
                .checked_add(1)
                .ok_or_else(|| Refusal::out_of_range("bits", "2^32 or more", "fewer than 2^32 bits"))?;
        }
        Ok(BitRow::new(len, words.into_iter()))
    }

    /// No bit set.
    pub(crate) fn zeros(len: u32) -> BitRow {
        BitRow::new(len, std::iter::repeat(0))
    }

    /// How many bits.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bit at a place below the length.
    pub fn bit(&self, place: u32) -> bool {
        self.words[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    /// Sets the bit at a place below the length.
    pub fn set(&mut self, place: u32, bit: bool) {
        let word = &mut self.words[(place / 64) as usize];
        *word = *word & !(1 << (place % 64)) | u64::from(bit) << (place % 64);
    }

    /// How many bits are set.
    pub fn ones(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Two hexadecimal digits for each eight bits, the first bit the lowest of the first pair.
    pub fn to_hex(&self) -> String {
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes()).take(self.len.div_ceil(8) as usize);
        let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble & 15)]);
        bytes.flat_map(|byte| [digit(byte >> 4), digit(byte)]).collect()
    }

    /// Reads what [`BitRow::to_hex`] wrote: exactly as many digits, none set beyond the length.
    ///
    /// # Errors
    /// Refuses any other text.
    pub fn from_hex(len: u32, hex: &str) -> Result<BitRow, Refusal> {
        let wrong = |what: &str| Refusal::Invalid(format!("bits {what}"));
        if hex.len() != 2 * len.div_ceil(8) as usize {
            return Err(wrong("have another length than the header says"));
        }
        let mut words = vec![0u64; len.div_ceil(64) as usize];
        for (place, pair) in hex.as_bytes().chunks_exact(2).enumerate() {
            let byte = match (nibble(pair[0]), nibble(pair[1])) {
                (Some(high), Some(low)) => high << 4 | low,
                _ => return Err(wrong("are not lower-case hexadecimal")),
            };
            words[place / 8] |= byte << (8 * (place % 8));
        }
        let packed = BitRow::new(len, words.iter().copied());
        if *packed.words == *words { Ok(packed) } else { Err(wrong("are set beyond the length")) }
    }
}

fn nibble(digit: u8) -> Option<u64> {
    match digit {
        b'0'..=b'9' => Some(u64::from(digit - b'0')),
        b'a'..=b'f' => Some(u64::from(digit - b'a' + 10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_hostile_hex_is_refused() {
        for len in [1, 7, 8, 63, 64, 65, 130] {
            let packed = BitRow::new(len, (0..).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xff));
            assert_eq!(BitRow::from_hex(len, &packed.to_hex()).unwrap(), packed);
            assert_eq!(BitRow::from_bits((0..len).map(|place| packed.bit(place))).unwrap(), packed);
        }
        for bad in ["", "0", "000", "zz", "0G", "FF", "10", "é"] {
            assert!(BitRow::from_hex(4, bad).is_err(), "{bad}");
        }
        assert!(BitRow::from_hex(4, "0f").is_ok());
        assert_eq!(BitRow::from_bits([]).unwrap(), BitRow::zeros(0));
    }

    #[test]
    fn a_set_bit_is_read_back() {
        let mut packed = BitRow::zeros(100);
        packed.set(70, true);
        assert!(packed.bit(70) && packed.ones() == 1);
        packed.set(70, false);
        assert_eq!(packed, BitRow::zeros(100));
    }
}
