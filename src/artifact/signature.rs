//! Signatures of variants in minisign's format: of metadata.json, which has the digest of every
//! other file. They lie beside the folder of a variant, since clients know no other file in it, and
//! name the variant in their trusted comment.

use std::io::{self, Cursor, Write};
use std::os::unix::fs::OpenOptionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use minisign::{KeyPair, PError, PublicKey, PublicKeyBox, SecretKey, SecretKeyBox, SignatureBox};
use thiserror::Error;

use super::finding::{ArtifactFinding, ArtifactRule};
use super::metadata::METADATA;
use crate::file::{MAX_TEXT, help_for_io, read_at_most, replace_file};

/// The most bytes of a key or a signature.
const MAX_KEY: u64 = 1 << 16;

/// The reason why a key or a signature cannot be made or read.
#[derive(Debug, Diagnostic, Error)]
pub enum SignatureError {
    #[error("{path} is no {kind} key of minisign: {why}")]
    #[diagnostic(
        code(signature::key),
        help(
            "`kernel-builder sign --generate-key FILE` makes a key, and FILE.pub with its public half"
        )
    )]
    Key {
        path: String,
        kind: &'static str,
        why: PError,
    },

    #[error("failed to sign {path}: {why}")]
    #[diagnostic(
        code(signature::failed),
        help("a key with a password asks for it on a terminal; check the password")
    )]
    Failed { path: Utf8PathBuf, why: PError },

    #[error("failed to read or write {path}")]
    #[diagnostic(code(io), help("{}", help_for_io(source)))]
    Io {
        path: Utf8PathBuf,
        source: io::Error,
    },
}

fn failed(path: &Utf8Path) -> impl FnOnce(io::Error) -> SignatureError {
    let path = path.to_owned();
    move |source| SignatureError::Io { path, source }
}

/// Makes a key without a password: the secret half in a file that its owner alone may read, and the
/// public half in `<file>.pub`. Returns the path of the public half. Neither file may exist.
///
/// # Errors
/// `SignatureError::Io`, also if one of the files exists.
pub fn generate_key(file: &Utf8Path) -> Result<Utf8PathBuf, SignatureError> {
    let public = Utf8PathBuf::from(format!("{file}.pub"));
    let invalid = |why: PError| failed(file)(io::Error::other(why));
    let KeyPair { pk, sk } = KeyPair::generate_unencrypted_keypair().map_err(invalid)?;
    let text = |text: &str| format!("{}\n", text.trim_end());
    let secret = sk.to_box(Some("secret key of kernel-builder"));
    let secret = text(&secret.map_err(invalid)?.into_string());
    let shared = text(&pk.to_box().map_err(invalid)?.into_string());
    for (path, content, mode) in [(file, secret, 0o600), (&public, shared, 0o644)] {
        let mut options = std::fs::OpenOptions::new();
        let new = options.write(true).create_new(true).mode(mode).open(path);
        let written = new.and_then(|mut new| new.write_all(content.as_bytes()));
        written.map_err(failed(path))?;
    }
    Ok(public)
}

/// Reads a secret key. Asks for its password on the terminal if it has one.
///
/// # Errors
/// `SignatureError::Key`; the errors of the file system.
pub fn read_secret_key(file: &Utf8Path) -> Result<SecretKey, SignatureError> {
    let text = read_at_most(file, MAX_KEY).map_err(failed(file))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let read = || SecretKeyBox::from_string(&text);
    let plain = read().and_then(SecretKeyBox::into_unencrypted_secret_key);
    let key = plain.or_else(|_| read().and_then(|own| own.into_secret_key(None)));
    key.map_err(|why| SignatureError::Key {
        path: file.to_string(),
        kind: "secret",
        why,
    })
}

/// Reads a public key: a file, or the key itself as minisign prints it.
///
/// # Errors
/// `SignatureError::Key`; the errors of the file system.
pub fn read_public_key(key: &str) -> Result<PublicKey, SignatureError> {
    let wrong = |why| SignatureError::Key {
        path: key.to_owned(),
        kind: "public",
        why,
    };
    let path = Utf8Path::new(key);
    if !path.exists()
        && let Ok(key) = PublicKey::from_base64(key)
    {
        return Ok(key);
    }
    let text = read_at_most(path, MAX_KEY).map_err(failed(path))?;
    let text = String::from_utf8_lossy(&text);
    let key = PublicKeyBox::from_string(text.trim_end());
    key.and_then(PublicKeyBox::into_public_key).map_err(wrong)
}

/// The file of a variant's signature: beside its folder.
///
/// # Errors
/// The errors of the file system.
pub fn signature_file(folder: &Utf8Path) -> io::Result<Utf8PathBuf> {
    let folder = camino::absolute_utf8(folder)?;
    Ok(Utf8PathBuf::from(format!(
        "{}.minisig",
        folder.as_str().trim_end_matches('/')
    )))
}

/// The trusted comment of a signature, which it covers: a build for one variant cannot be passed
/// off as that of another.
fn trusted_comment(variant: &str) -> String {
    format!("metadata.json of {variant}")
}

/// Signs the metadata.json of a variant. Returns the path of the signature.
///
/// # Errors
/// `SignatureError::Failed`; the errors of the file system.
pub fn sign_variant(
    folder: &Utf8Path,
    variant: &str,
    key: &SecretKey,
) -> Result<Utf8PathBuf, SignatureError> {
    let file = signature_file(folder).map_err(failed(folder))?;
    let path = folder.join(METADATA);
    let metadata = std::fs::read(&path).map_err(failed(&path))?;
    let comment = trusted_comment(variant);
    let untrusted = Some("signature of kernel-builder");
    let signature = minisign::sign(None, key, Cursor::new(metadata), Some(&comment), untrusted);
    let signature = signature.map_err(|why| SignatureError::Failed { path, why })?;
    let text = format!("{}\n", signature.into_string().trim_end());
    replace_file(&file, text.as_bytes()).map_err(failed(&file))?;
    Ok(file)
}

/// Whether the two signatures of a text have their length in base64. NB: the crate takes slices of
/// them without looking.
fn has_whole_signatures(text: &str) -> bool {
    let lengths = [(1, 100), (3, 88)];
    lengths.iter().all(|(line, length)| {
        let line = text.lines().nth(*line);
        line.is_some_and(|line| line.trim().len() == *length)
    })
}

/// The finding about the signature of a variant; `None` if it is right.
pub fn check_signature(
    folder: &Utf8Path,
    variant: &str,
    key: &PublicKey,
) -> Option<ArtifactFinding> {
    let finding = |message: String| {
        let help =
            "get the variant with its signature from its author, and do not run it meanwhile";
        Some(ArtifactFinding::new(
            ArtifactRule::Signature,
            METADATA,
            message,
            help,
        ))
    };
    let file = signature_file(folder).ok()?;
    let text = match read_at_most(&file, MAX_KEY) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => return finding(format!("there is no signature {file}: {error}")),
    };
    let read = SignatureBox::from_string(&text);
    let Some(signature) = read.ok().filter(|_| has_whole_signatures(&text)) else {
        return finding(format!("{file} is no signature of minisign"));
    };
    let metadata = match read_at_most(&folder.join(METADATA), MAX_TEXT) {
        Ok(metadata) => metadata,
        Err(error) => return finding(format!("it cannot be read: {error}")),
    };
    if let Err(error) = minisign::verify(key, &signature, Cursor::new(metadata), true, false, false)
    {
        return finding(format!("{file} does not sign it with this key: {error}"));
    }
    let comment = signature.trusted_comment().unwrap_or_default();
    if comment != trusted_comment(variant) {
        return finding(format!("{file} signs the {comment}, not of {variant}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_signature_is_of_one_variant_by_one_key() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let (file, variant) = (dir.join("key"), dir.join("torch-cpu"));
        let public = generate_key(&file).expect("a key");
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(generate_key(&file).is_err(), "a key is never overwritten");
        std::fs::create_dir(&variant).expect("created");
        std::fs::write(variant.join(METADATA), "{}").expect("written");
        let key = read_public_key(public.as_str()).expect("a key");
        let words = |name: &str| check_signature(&variant, name, &key).map(|own| own.message);
        assert!(
            words("torch-cpu")
                .expect("a finding")
                .contains("no signature")
        );

        let secret = read_secret_key(&file).expect("a key");
        let signature = sign_variant(&variant, "torch-cpu", &secret).expect("signed");
        assert_eq!(signature, dir.join("torch-cpu.minisig"));
        assert_eq!(words("torch-cpu"), None);
        let moved = words("torch-cuda").expect("a finding");
        assert!(moved.contains("of torch-cpu, not of torch-cuda"), "{moved}");
        let text = std::fs::read_to_string(&public).expect("read");
        let written = read_public_key(text.lines().nth(1).expect("the key")).expect("a key");
        assert_eq!(check_signature(&variant, "torch-cpu", &written), None);

        let other = generate_key(&dir.join("other")).expect("a key");
        let other = read_public_key(other.as_str()).expect("a key");
        assert!(check_signature(&variant, "torch-cpu", &other).is_some());
        std::fs::write(variant.join(METADATA), "{ }").expect("written");
        assert!(
            words("torch-cpu")
                .expect("a finding")
                .contains("does not sign it")
        );
        let text = std::fs::read_to_string(&signature).expect("read");
        for end in 0..text.len() - 1 {
            // Whatever is cut off, nobody crashes.
            std::fs::write(&signature, &text[..end]).expect("written");
            let words = words("torch-cpu").expect("a finding");
            assert!(words.contains("no signature of minisign"), "{words}");
        }
        assert!(read_public_key(file.as_str()).is_err());
        assert!(read_secret_key(&public).is_err());
    }
}
