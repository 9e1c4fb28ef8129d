//! The device that trained an audit's models, as the settings of its subject say.
//!
//! A device computes in integers and the CPU in floats, so scores differ slightly. Therefore the device is a setting of the subject: an
//! audit is resumed, and its shards are merged, only on devices of one kind and name, whatever their number in the machine. A verification
//! repeats trials in integer arithmetic on the CPU, bit for bit.

use crate::SubjectNote;
use serde::{Deserialize, Serialize};
use veracity_core::Error;
use veracity_train::device::Device;

/// The setting.
pub(crate) const SETTING: &str = "device";
/// The CPU, which has no note.
const CORES: &str = "cpu";
/// The longest name.
const LONGEST: usize = 200;

/// A device that computes in integers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceNote {
    /// Its kind and name, without its number.
    pub name: String,
}

impl DeviceNote {
    /// The note of a device; none for the CPU.
    ///
    /// # Errors
    /// A device that does not answer.
    pub fn of(device: &dyn Device) -> Result<Option<DeviceNote>, Error> {
        let name = without_number(&device.name());
        if name == CORES {
            return Ok(None);
        }
        let note = DeviceNote { name };
        note.check()?;
        Ok(Some(note))
    }

    /// The device that a subject's settings state.
    ///
    /// # Errors
    /// A setting that is no device.
    pub fn stated_in(subject: &SubjectNote) -> Result<Option<DeviceNote>, Error> {
        let Some(value) = subject.settings.get(SETTING) else { return Ok(None) };
        let note = DeviceNote::deserialize(value).map_err(|error| {
            Error::invalid(format!(
                "device in the settings is not in the form that veracity writes ({error})"
            ))
        })?;
        note.check()?;
        Ok(Some(note))
    }

    /// States it in a subject's settings.
    pub(crate) fn state_in(&self, subject: &mut SubjectNote) {
        let written = serde_json::json!({ "name": self.name });
        subject.settings.insert(SETTING.to_owned(), written);
    }

    fn check(&self) -> Result<(), Error> {
        let is_name = !self.name.trim().is_empty()
            && self.name.chars().count() <= LONGEST
            && !self.name.chars().any(char::is_control)
            && self.name != CORES
            && self.name == without_number(&self.name);
        if !is_name {
            return Err(Error::invalid(
                "the name of the device is invalid, expected its kind and name in one line",
            ));
        }
        Ok(())
    }
}

/// The name of a device without the number that it has in its machine: `cuda:1 X` is `cuda X`.
fn without_number(name: &str) -> String {
    let Some((kind, rest)) = name.split_once(':') else { return name.to_owned() };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{kind}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::sample;

    #[test]
    fn devices_of_one_kind_and_name_are_noted_alike() {
        assert_eq!(without_number("cuda:0 NVIDIA H200"), without_number("cuda:13 NVIDIA H200"));
        assert_eq!(without_number("cuda:0 NVIDIA H200"), "cuda NVIDIA H200");
        assert_ne!(without_number("cuda:0 NVIDIA H200"), without_number("cuda:0 NVIDIA H100"));
        assert_eq!(without_number(CORES), CORES);
        let noted = DeviceNote::of(&veracity_train::device::Cpu);
        assert_eq!(noted.expect("no name"), None);
    }

    #[test]
    fn a_device_reads_back_and_what_is_none_is_refused() {
        let mut subject = sample(4).subject;
        assert_eq!(DeviceNote::stated_in(&subject).expect("none"), None);
        let good = DeviceNote { name: "cuda X".to_owned() };
        good.state_in(&mut subject);
        assert_eq!(DeviceNote::stated_in(&subject).expect("one"), Some(good.clone()));
        for name in ["cpu", "", "a\nb", "cuda:1 X"] {
            DeviceNote { name: name.to_owned() }.state_in(&mut subject);
            let refused = DeviceNote::stated_in(&subject).expect_err(name).to_string();
            assert!(!refused.contains('\n'), "{refused}");
        }
        // A device that may be off is none that veracity has.
        for other in [serde_json::json!("cuda X"), serde_json::json!({ "name": "cuda X", "tolerance": 0.01 })]
        {
            subject.settings.insert(SETTING.to_owned(), other);
            assert!(DeviceNote::stated_in(&subject).is_err());
        }
    }
}
