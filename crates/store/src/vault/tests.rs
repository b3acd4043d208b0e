//! What the vault promises without a database.

use super::*;
use crate::ErrorKind;

fn vault(text: &str) -> Vault {
    Vault::load(Path::new("/nonexistent"), Some(&Secret::new(text))).unwrap()
}

fn hex_key(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

#[test]
fn opens_what_it_sealed_at_the_same_place_only() {
    let vault = vault(&hex_key(1));
    let key = vault.first_key_id();
    let sealed = vault.seal(&key, "service/acme/api/crm", "hunter2").unwrap();
    assert!(sealed.starts_with(&format!("v1.{key}.")) && !sealed.contains("hunter2"));
    assert_eq!(*vault.open("service/acme/api/crm", &sealed).unwrap(), "hunter2");
    let error = vault.open("service/evil/api/crm", &sealed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_ne!(
        sealed,
        vault.seal(&key, "service/acme/api/crm", "hunter2").unwrap(),
        "a fresh nonce each time"
    );
}

#[test]
fn refuses_a_text_with_any_character_changed() {
    let vault = vault(&hex_key(1));
    let sealed = vault.seal(&vault.first_key_id(), "here", "a secret").unwrap();
    for at in 0..sealed.len() {
        let mut bytes = sealed.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        assert_eq!(vault.open("here", &tampered).unwrap_err().kind(), ErrorKind::Corrupt, "at {at}");
    }
    for text in ["", "v1", "v1.", "v1.abc", "v1..", "v2.abc.def", "v1.72cd6e84.AAAA"] {
        assert_eq!(vault.open("here", text).unwrap_err().kind(), ErrorKind::Corrupt, "{text:?}");
    }
}

#[test]
fn opens_with_every_key_of_the_ring_and_seals_with_the_first() {
    let old = vault(&hex_key(1));
    let sealed = old.seal(&old.first_key_id(), "here", "text").unwrap();
    let both = vault(&format!("{}, {}", hex_key(2), hex_key(1)));
    assert_eq!(*both.open("here", &sealed).unwrap(), "text");
    assert_ne!(both.first_key_id(), old.first_key_id());
    let only_new = vault(&hex_key(2));
    assert_eq!(only_new.open("here", &sealed).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn reads_keys_in_base64_and_hex_and_refuses_others() {
    let bytes = [7u8; 32];
    let ids: Vec<String> =
        [BASE64.encode(bytes), base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes), hex_key(7)]
            .iter()
            .map(|text| vault(text).first_key_id())
            .collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    for text in ["", " , ", "short", &hex_key(7)[1..], &BASE64.encode([7u8; 31]), &"é".repeat(32)] {
        let error = Vault::load(Path::new("/nonexistent"), Some(&Secret::new(text))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text:?}");
        assert!(text.trim().is_empty() || !error.to_string().contains(text), "the key is not repeated");
    }
}

#[test]
fn still_opens_what_was_read_before_a_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let running = Vault::load(folder.path(), None).unwrap();
    let old = running.seal(&running.first_key_id(), "here", "old").unwrap();
    Vault::rotate_file(folder.path()).unwrap().finish().unwrap();
    let restarted = Vault::load(folder.path(), None).unwrap();
    let new = restarted.seal(&restarted.first_key_id(), "here", "new").unwrap();
    assert_eq!(*running.open("here", &new).unwrap(), "new", "it reads the file again");
    assert_eq!(*running.open("here", &old).unwrap(), "old", "and keeps what it had");
    assert_eq!(running.first_key_id(), restarted.first_key_id());
    assert_eq!(restarted.open("here", &old).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn shows_nothing_of_its_keys() {
    assert_eq!(format!("{:?}", vault(&hex_key(1))), "Vault(***)");
}
