//! What may be answered: a list of categories, or the numbers below k.

use std::collections::HashMap;
use veracity_core::Refusal;

/// The values a person may have, each known by its place.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::local::Domain;
///
/// let domain = Domain::categories(vec!["yes".into(), "no".into()])?;
/// assert_eq!(domain.place("no")?, 1);
/// // The refusal does not repeat what somebody answered.
/// let refusal = domain.place("a secret").unwrap_err();
/// assert!(!refusal.to_string().contains("secret"));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    size: u32,
    /// Places by name; none for a range, whose names are its numbers.
    places: Option<HashMap<String, u32>>,
    names: Vec<String>,
}

impl Domain {
    /// The most values.
    pub const MOST: u32 = 1 << 20;

    /// The numbers 0, …, `size` − 1.
    ///
    /// # Errors
    /// Refuses sizes outside of 2 to [`Domain::MOST`].
    pub fn range(size: u32) -> Result<Domain, Refusal> {
        check_size(size as usize)?;
        Ok(Domain { size, places: None, names: Vec::new() })
    }

    /// Named categories, all different.
    ///
    /// # Errors
    /// Refuses sizes outside of 2 to [`Domain::MOST`], and a name that occurs twice.
    pub fn categories(names: Vec<String>) -> Result<Domain, Refusal> {
        check_size(names.len())?;
        let size = names.len() as u32;
        let places: HashMap<String, u32> = names.iter().cloned().zip(0..).collect();
        if places.len() < names.len() {
            return Err(Refusal::Invalid(
                "the domain lists a category twice; list each category once".into(),
            ));
        }
        Ok(Domain { size, places: Some(places), names })
    }

    /// How many values there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The categories in order, if they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.places.is_some().then_some(&self.names)
    }

    /// The place of a value. The refusal does not repeat it: it is someone's.
    ///
    /// # Errors
    /// Refuses a value that is not in the domain.
    pub fn place(&self, value: &str) -> Result<u32, Refusal> {
        let place = match &self.places {
            Some(places) => places.get(value).copied(),
            // Only the way we write it: "+7" and "07" are other words.
            None => value.parse().ok().filter(|place: &u32| *place < self.size && place.to_string() == value),
        };
        place.ok_or_else(|| Refusal::Invalid("the value is not in the domain; nothing is reported".into()))
    }

    /// The value at a place below the size.
    pub fn name(&self, place: u32) -> String {
        match self.places {
            Some(_) => self.names[place as usize].clone(),
            None => place.to_string(),
        }
    }
}

/// Checks a number of values.
pub(crate) fn check_size(size: usize) -> Result<(), Refusal> {
    if (2..=Domain::MOST as usize).contains(&size) {
        Ok(())
    } else {
        Err(Refusal::out_of_range("domain size", size, "2 ≤ domain size ≤ 2^20"))
    }
}

/// Checks the place of a client's value, without repeating it.
pub(crate) fn check_place(place: u32, size: u32) -> Result<(), Refusal> {
    if place < size {
        Ok(())
    } else {
        Err(Refusal::Invalid("the value is not in the domain; nothing is reported".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_is_refused_without_being_named() {
        let domain = Domain::categories(vec!["red".into(), "green".into()]).unwrap();
        assert_eq!(domain.place("green").unwrap(), 1);
        let refusal = domain.place("secret").unwrap_err().to_string();
        assert!(!refusal.contains("secret"));
        let range = Domain::range(10).unwrap();
        assert_eq!(range.place("9").unwrap(), 9);
        for bad in ["10", "-1", "+7", "07", " 7", "", "7.0"] {
            assert!(range.place(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_and_duplicates_are_checked() {
        assert!(Domain::range(1).is_err() && Domain::range(Domain::MOST + 1).is_err());
        assert!(Domain::categories(vec!["a".into(), "a".into()]).is_err());
        assert!(Domain::categories(vec!["a".into()]).is_err());
    }
}
