//! Kafka that is signed in to by SCRAM: the server's side of RFC 5802 in front of a broker that knows no such thing.

use super::kafka_coordinator::{bytes, frame, put_bytes, put_text, text, write};
use super::support::{Home, cx, name, run};
use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use krafka::testing::FakeBroker;
use serde_json::json;
use std::io;
use std::num::NonZeroU32;
use tokio::net::{TcpListener, TcpStream};
use tool::ErrorKind;

const HANDSHAKE: i16 = 17;
const VERSIONS: i16 = 18;
const AUTHENTICATE: i16 = 36;
const UNSUPPORTED_MECHANISM: i16 = 33;
const AUTHENTICATION_FAILED: i16 = 58;

const USER: &str = "ana";
const PASSWORD: &str = "right-password";
const SALT: &[u8] = b"salt of the broker";
const ROUNDS: u32 = 4096;

/// How a mechanism reckons.
#[derive(Clone, Copy)]
struct Mechanism {
    name: &'static str,
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
}

fn mechanisms() -> [Mechanism; 2] {
    let (hmac, pbkdf2) = (hmac::HMAC_SHA256, pbkdf2::PBKDF2_HMAC_SHA256);
    let shorter = Mechanism { name: "SCRAM-SHA-256", digest: &digest::SHA256, hmac, pbkdf2 };
    let (hmac, pbkdf2) = (hmac::HMAC_SHA512, pbkdf2::PBKDF2_HMAC_SHA512);
    [shorter, Mechanism { name: "SCRAM-SHA-512", digest: &digest::SHA512, hmac, pbkdf2 }]
}

impl Mechanism {
    fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(self.hmac, key), text).as_ref().to_vec()
    }

    /// What the server says last, where the proof shows that the client knows the password.
    fn judge(self, spoken: &str, proof: &[u8]) -> Option<String> {
        let mut salted = vec![0; self.digest.output_len()];
        let rounds = NonZeroU32::new(ROUNDS).unwrap();
        pbkdf2::derive(self.pbkdf2, rounds, SALT, PASSWORD.as_bytes(), &mut salted);
        let stored = digest::digest(self.digest, &self.mac(&salted, b"Client Key"));
        let signature = self.mac(stored.as_ref(), spoken.as_bytes());
        let key: Vec<u8> = proof.iter().zip(&signature).map(|(proof, signed)| proof ^ signed).collect();
        let is_known = digest::digest(self.digest, &key).as_ref() == stored.as_ref();
        let server = self.mac(&self.mac(&salted, b"Server Key"), spoken.as_bytes());
        is_known.then(|| format!("v={}", STANDARD.encode(server)))
    }
}

/// A broker that talks to nobody who has not signed in by this mechanism.
async fn start(broker: &FakeBroker, mechanism: Mechanism) -> String {
    let upstream = broker.broker_addr(0).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    broker.with_state(|state| state.brokers[0].port = i32::from(address.port()));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let server = TcpStream::connect(upstream).await?;
                carry(client, server, mechanism).await
            });
        }
    });
    address.to_string()
}

async fn carry(mut client: TcpStream, mut server: TcpStream, mechanism: Mechanism) -> io::Result<()> {
    let (mut first, mut is_known) = (None, false);
    loop {
        let request = frame(&mut client).await?;
        let mut body = request.clone();
        let (api, _version, id) = (body.get_i16(), body.get_i16(), body.get_i32());
        let mut answer = BytesMut::new();
        answer.put_i32(id);
        match api {
            HANDSHAKE => {
                let _client_id = text(&mut body);
                let fits = text(&mut body) == mechanism.name;
                answer.put_i16(if fits { 0 } else { UNSUPPORTED_MECHANISM });
                answer.put_i32(1);
                put_text(&mut answer, mechanism.name);
            }
            AUTHENTICATE => {
                let _client_id = text(&mut body);
                let said = String::from_utf8(bytes(&mut body).to_vec()).unwrap();
                let reply = reply(mechanism, &mut first, &mut is_known, &said);
                answer.put_i16(if reply.is_some() { 0 } else { AUTHENTICATION_FAILED });
                put_text(&mut answer, "");
                put_bytes(&mut answer, &Bytes::from(reply.unwrap_or_default()));
                answer.put_i64(0);
            }
            api if is_known || api == VERSIONS => {
                write(&mut server, &request).await?;
                answer = BytesMut::from(&frame(&mut server).await?[..]);
            }
            _ => return Ok(()),
        }
        write(&mut client, &answer.freeze()).await?;
    }
}

/// The two replies of a sign-in; `first` is what both have said before the second.
fn reply(
    mechanism: Mechanism,
    first: &mut Option<String>,
    is_known: &mut bool,
    said: &str,
) -> Option<String> {
    let Some(before) = first else {
        let bare = said.strip_prefix("n,,")?;
        let nonce = bare.strip_prefix(&format!("n={USER},r="))?;
        let reply = format!("r={nonce}-server,s={},i={ROUNDS}", STANDARD.encode(SALT));
        *first = Some(format!("{bare},{reply}"));
        return Some(reply);
    };
    let (without_proof, proof) = said.rsplit_once(",p=")?;
    let reply = mechanism.judge(&format!("{before},{without_proof}"), &STANDARD.decode(proof).ok()?);
    *is_known = reply.is_some();
    reply
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_in_by_scram_and_says_when_that_is_refused() {
    for mechanism in mechanisms() {
        let (broker, home, topic) = (FakeBroker::start().await.unwrap(), Home::new().await, name("orders"));
        let servers = start(&broker, mechanism).await;
        let open = |sasl: &str, password: &str| {
            home.open(json!({ "broker": "kafka", "connection_string": servers, "sasl": sasl,
                "username": USER, "password": password, "allow_private_network": true,
                "tools": [{ "id": "created", "topic": topic }], "retry": { "max_attempts": 1 } }))
        };
        run(&open(mechanism.name, PASSWORD), "created", json!({ "message": 1 })).await.unwrap();
        assert_eq!(broker.all_records(&topic).unwrap().len(), 1);
        for (sasl, password) in [(mechanism.name, "wrong-password"), ("PLAIN", PASSWORD)] {
            let error = open(sasl, password).health(&cx()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{sasl}: {error:?}");
            assert!(error.is_about_credentials() && error.message().contains("'sasl'"), "{error}");
            assert!(!format!("{error:?}").contains(password), "{error:?}");
        }
    }
}
