//! Amounts as the file has them: the bits of each float in hexadecimal, so that what is read is what was written.
//!
//! `3fe0000000000000 0000000000000000 2,0` is a sum of 0.5, no δ, two uses of the first slot and none of the second. A union has its
//! sum of pure ε in place of slots: `3fe0000000000000 0000000000000000 pure:7ff0000000000000`.

use veracity_account::filter::Amounts;

/// What the sum of pure ε begins with.
const PURE: &str = "pure:";

/// The text of amounts. No rule has both slots and a sum of pure ε.
pub(crate) fn written(amounts: &Amounts) -> String {
    let slots: Vec<String> = amounts.slots.iter().map(u64::to_string).collect();
    let rest = match amounts.pure > 0.0 {
        true => format!("{PURE}{:016x}", amounts.pure.to_bits()),
        false => slots.join(","),
    };
    let text = format!("{:016x} {:016x} {rest}", amounts.sum.to_bits(), amounts.delta.to_bits());
    text.trim_end().to_owned()
}

/// Amounts from their text; nothing where it is not exactly as [`written`] has it.
pub(crate) fn read(text: &str) -> Option<Amounts> {
    let mut words = text.split(' ');
    let float = |bits: &str| u64::from_str_radix(bits, 16).ok().map(f64::from_bits);
    let (sum, delta) = (float(words.next()?)?, float(words.next()?)?);
    let mut amounts = Amounts::of(sum, delta);
    if let Some(rest) = words.next() {
        match rest.strip_prefix(PURE) {
            Some(bits) => amounts.pure = float(bits)?,
            None => {
                let counts = rest.split(',').map(|count| count.parse().ok());
                amounts.slots = counts.collect::<Option<Vec<u64>>>()?;
            }
        }
    }
    (sum >= 0.0 && delta >= 0.0 && written(&amounts) == text).then_some(amounts)
}

/// Nothing, of as many slots as a limit has.
pub(crate) fn nothing(limit: &Amounts) -> Amounts {
    Amounts { slots: vec![0; limit.slots.len()], ..Amounts::of(0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written_to_the_bit() {
        for (sum, delta, slots) in
            [(0.0, 0.0, vec![]), (0.1 + 0.2, 1e-100, vec![]), (5e-324, f64::MAX, vec![0, 7, u64::MAX])]
        {
            let amounts = Amounts { slots, ..Amounts::of(sum, delta) };
            let back = read(&written(&amounts)).unwrap();
            assert_eq!(back, amounts);
            assert_eq!(back.sum.to_bits(), amounts.sum.to_bits());
        }
        for pure in [0.0, 5e-324, 0.3, f64::INFINITY] {
            let amounts = Amounts { pure, ..Amounts::of(0.25, 1e-9) };
            assert_eq!(read(&written(&amounts)).unwrap(), amounts);
        }
    }

    #[test]
    fn what_nobody_wrote_is_not_read() {
        let nan = format!("{:016x} {:016x}", f64::NAN.to_bits(), 0);
        let negative = format!("{:016x} {:016x}", (-1.0f64).to_bits(), 0);
        for text in ["", "0", "0 0", "3fe0000000000000", &nan, &negative, "3FE0000000000000 0000000000000000"]
        {
            assert!(read(text).is_none(), "{text}");
        }
        let zero = "0000000000000000 0000000000000000";
        assert!(read(zero).is_some());
        for text in [
            format!("{zero} "),
            format!("{zero} 1,"),
            format!("{zero} 01"),
            format!("{zero} 1 2"),
            format!("{zero} pure:0000000000000000"),
            format!("{zero} pure:{nan}"),
        ] {
            assert!(read(&text).is_none(), "{text}");
        }
    }
}
