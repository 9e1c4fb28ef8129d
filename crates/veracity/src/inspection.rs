//! Everything in a folder that can be checked: each claim and certificate recomputed, each model matched with its claim.
//!
//! Files are known by what is in them. A claim is tied to a model of its own folder by the digest that it holds; of claims of
//! the same release, or of the same model, all but the first are copies.

use crate::{
    ClaimFile, Confirmation, Error,
    auditing::certificate::Recomputation,
    training::{MODEL, Model},
    verify_file::{VerifiedFile, verify_file},
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use veracity_account::claims::{
    recognition::{Kind, is_numbered_claim, kind_of},
    verification::recompute_claim,
};

/// How deep folders are followed.
const DEEPEST: usize = 16;
/// The longest model that is looked at.
const LONGEST_MODEL: u64 = 1 << 33;

/// The files of a folder that may be models.
type Models = BTreeMap<PathBuf, Result<Tensors, Error>>;

/// One file, and what came of checking it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Where it is, from the folder on.
    pub file: PathBuf,
    /// What it is, and whether it stands.
    pub found: FileContents,
}

/// What a file was found to be.
#[derive(Debug, Clone, PartialEq)]
pub enum FileContents {
    /// A claim, recomputed.
    Claim(Box<Confirmation>),
    /// A certificate, recomputed.
    Certificate(Box<Recomputation>),
    /// A model, and the file of its claim.
    Model {
        /// The claim that holds its digest.
        claim: Option<PathBuf>,
    },
    /// A claim that another file is, too.
    Copy {
        /// The other file.
        of: PathBuf,
        /// Whether both are of one model, rather than the same claim.
        is_second: bool,
    },
    /// A claim whose model another one has replaced. What it cost is spent all the same.
    Replaced(Box<Confirmation>),
    /// A claim whose model is not there.
    NoModel,
    /// Damaged, or of a kind that cannot be checked.
    Unreadable(Error),
}

impl Inspection {
    /// Whether nothing is wrong with it.
    pub fn stands(&self) -> bool {
        match &self.found {
            FileContents::Claim(confirmation) | FileContents::Replaced(confirmation) => confirmation.stands(),
            FileContents::Certificate(recomputed) => recomputed.failure().is_none(),
            FileContents::Model { claim } => claim.is_some(),
            FileContents::Copy { .. } | FileContents::NoModel | FileContents::Unreadable(_) => false,
        }
    }
}

/// Checks everything in a folder and in those below it. Links are not followed.
///
/// # Errors
/// A folder that cannot be read, or one without anything to verify.
pub fn inspect(folder: &Path) -> Result<Vec<Inspection>, Error> {
    let mut all = Vec::new();
    let mut claims = BTreeMap::new();
    walk(folder, Path::new(""), DEEPEST, &mut claims, &mut all)?;
    if all.is_empty() {
        return Err(Error::invalid(format!(
            "{} holds no claim, model or certificate, expected something to verify",
            folder.display()
        )));
    }
    Ok(all)
}

fn walk(
    root: &Path,
    within: &Path,
    depth: usize,
    known: &mut BTreeMap<String, PathBuf>,
    all: &mut Vec<Inspection>,
) -> Result<(), Error> {
    let folder = root.join(within);
    let unreadable = |error: std::io::Error| Error::unreadable("folder", &folder, error);
    if depth == 0 {
        return Err(Error::invalid(format!(
            "{} is deeper than {DEEPEST} folders, expected less",
            folder.display()
        )));
    }
    let mut entries =
        fs::read_dir(&folder).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in entries {
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            folders.push(within.join(entry.file_name()));
        } else if kind.is_file() {
            files.push(within.join(entry.file_name()));
        }
    }
    all.extend(look_at(root, &files, known)?);
    folders.iter().try_for_each(|folder| walk(root, folder, depth - 1, known, all))
}

/// The files of one folder.
fn look_at(
    root: &Path,
    files: &[PathBuf],
    known: &mut BTreeMap<String, PathBuf>,
) -> Result<Vec<Inspection>, Error> {
    let ends = |file: &&PathBuf, ending: &str| file.extension().is_some_and(|found| found == ending);
    let mut models: Models = BTreeMap::new();
    for file in files.iter().filter(|file| ends(file, "safetensors")) {
        if let Some(tensors) = tensors_at(&root.join(file)).transpose() {
            models.insert(file.clone(), tensors);
        }
    }
    let mut all = Vec::new();
    // The claims of the models that are there, by their digests.
    let mut tied: BTreeMap<String, PathBuf> = BTreeMap::new();
    // A claim that has a number comes after the one that has none.
    let (numbered, named): (Vec<_>, Vec<_>) =
        files.iter().filter(|file| ends(file, "json")).partition(|file| is_numbered(file));
    for file in named.into_iter().chain(numbered) {
        let found = match kind_of(&root.join(file)) {
            Kind::Other => continue,
            Kind::Damaged(refusal) => FileContents::Unreadable(refusal),
            Kind::Certificate => match verify_file(&root.join(file)) {
                Ok(VerifiedFile::Certificate(recomputed)) => FileContents::Certificate(recomputed),
                Ok(VerifiedFile::Claim(confirmation)) => FileContents::Claim(confirmation),
                Err(refusal) => FileContents::Unreadable(refusal),
            },
            Kind::Claim(claim) => {
                let identity = claim.identity()?;
                match known.get(&identity) {
                    Some(of) => FileContents::Copy { of: of.clone(), is_second: false },
                    None => {
                        known.insert(identity, file.clone());
                        judge(*claim, file, &models, &mut tied)
                    }
                }
            }
        };
        all.push(Inspection { file: file.clone(), found });
    }
    for (file, tensors) in models {
        let found = match tensors {
            Ok(tensors) => match tied.get(&tensors.digest) {
                None if !tensors.is_ours => continue,
                claim => FileContents::Model { claim: claim.cloned() },
            },
            Err(refusal) => FileContents::Unreadable(refusal),
        };
        all.push(Inspection { file, found });
    }
    all.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(all)
}

fn is_numbered(file: &Path) -> bool {
    file.file_name().and_then(|name| name.to_str()).is_some_and(is_numbered_claim)
}

/// Recomputes a claim and looks for its model.
fn judge(
    claim: ClaimFile,
    file: &Path,
    models: &Models,
    tied: &mut BTreeMap<String, PathBuf>,
) -> FileContents {
    let digest = claim.model().map(str::to_owned);
    let mut confirmation = match recompute_claim(claim) {
        Ok(confirmation) => confirmation,
        Err(refusal) => return FileContents::Unreadable(refusal.into()),
    };
    let Some(digest) = digest else { return FileContents::Claim(Box::new(confirmation)) };
    let mine = models
        .iter()
        .find(|(_, found)| found.as_ref().is_ok_and(|found| found.digest == digest))
        .map(|(model, _)| model);
    match (mine, tied.get(&digest)) {
        (Some(_), Some(of)) => FileContents::Copy { of: of.clone(), is_second: true },
        (Some(model), None) => {
            let name = model.file_name().unwrap_or_default().to_string_lossy().into_owned();
            confirmation.meets_model(&name, &digest);
            tied.insert(digest, file.to_owned());
            FileContents::Claim(Box::new(confirmation))
        }
        (None, _) if is_numbered(file) => FileContents::Replaced(Box::new(confirmation)),
        (None, _) => FileContents::NoModel,
    }
}

/// Tensors in a file, which may be a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tensors {
    /// The digest that a claim would hold.
    pub digest: String,
    /// Whether the file is called as our models are, or says that it is one. Saved anew by others it may not.
    pub is_ours: bool,
}

/// The tensors of a file; nothing where they are of a kind that only others write.
pub(crate) fn tensors_at(path: &Path) -> Result<Option<Tensors>, Error> {
    let refuse = |why: &str| Error::invalid(format!("not readable as a model, found {why}"));
    let bytes = fs::metadata(path)
        .and_then(|about| if about.len() > LONGEST_MODEL { Ok(None) } else { fs::read(path).map(Some) })
        .map_err(|error| refuse(&error.to_string()))?
        .ok_or_else(|| refuse("a file of more than 8 GiB"))?;
    let is_called_ours = path.file_name().is_some_and(|name| name == MODEL);
    match Model::digest_of(&bytes) {
        Ok((digest, is_model)) => Ok(Some(Tensors { digest, is_ours: is_model || is_called_ours })),
        Err(_) if says_it_is_anothers(&bytes) => Ok(None),
        Err(why) => Err(refuse(why)),
    }
}

/// Whether the header of a safetensors file can be read and has no card of ours.
fn says_it_is_anothers(bytes: &[u8]) -> bool {
    let header = bytes.split_first_chunk::<8>().and_then(|(length, rest)| {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        serde_json::from_slice::<serde_json::Value>(rest.get(..length)?).ok()
    });
    header.is_some_and(|header| header["__metadata__"]["veracity"].is_null())
}
