//! Every way to write an address, and where it may lead.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tool::Reason;

fn public_and(ranges: &[&str]) -> Policy {
    let ranges = ranges.iter().map(|range| range.parse().unwrap()).collect();
    Policy::PublicAnd(ranges, Setting::Service)
}

fn is_refused(policy: &Policy, url: &str) -> bool {
    policy.check(&url.parse().unwrap()).is_err()
}

#[test]
fn refuses_every_way_to_write_an_address_of_our_own_network() {
    for host in [
        "127.0.0.1",
        "127.8.9.10",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.0.0.1.",
        "0.0.0.0",
        "0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "100.64.0.1",
        "100.100.100.200",
        "192.0.0.1",
        "198.18.0.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::1]",
        "[2001::1]",
        "[2001:db8::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[100::1]",
        "[3fff::1]",
        "[::ffff:0:127.0.0.1]",
        "①②⑦.0.0.1",
    ] {
        let url = format!("http://{host}/");
        assert!(is_refused(&public_and(&[]), &url), "{host}");
        assert!(!is_refused(&Policy::Anywhere, &url), "{host}");
    }
}

#[test]
fn lets_public_addresses_pass() {
    for host in [
        "1.1.1.1",
        "93.184.216.34",
        "172.32.0.1",
        "100.128.0.1",
        "[2606:4700::1111]",
        "[2001:4860:4860::8888]",
        "[64:ff9b::8.8.8.8]",
        "[::ffff:8.8.8.8]",
        "[2002:808:808::1]",
        "example.com",
    ] {
        assert!(!is_refused(&public_and(&[]), &format!("http://{host}/")), "{host}");
    }
}

#[test]
fn opens_only_the_ranges_that_are_listed() {
    let policy = public_and(&["10.1.0.0/16", "127.0.0.1", "fd00::/8", "0.0.0.0/32"]);
    for host in ["10.1.2.3", "127.0.0.1", "[::ffff:10.1.2.3]", "[fd12::1]", "8.8.8.8", "0.0.0.0"] {
        assert!(!is_refused(&policy, &format!("http://{host}/")), "{host}");
    }
    for host in ["10.2.0.1", "127.0.0.2", "[::1]", "[fc00::1]", "0.0.0.1"] {
        assert!(is_refused(&policy, &format!("http://{host}/")), "{host}");
    }
    assert!(!is_refused(&public_and(&["0.0.0.0/0"]), "http://192.168.0.1/"));
}

#[test]
fn says_which_ranges_are_none() {
    let texts = ["10.0.0.0/8", "10.0.0.0/33", "::/129", "ten", "10.0.0.0/", "10.0.0.0/-1", ""];
    let setting = AllowPrivateNetwork::Ranges(texts.map(str::to_owned).into());
    let mut problems = Vec::new();
    Policy::new(Some(&setting), &Env::default(), &mut problems);
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    let expected: Vec<_> = (1..7).map(|index| format!("allow_private_network[{index}]")).collect();
    assert_eq!(paths, expected);
}

#[test]
fn the_process_can_open_everything() {
    let env = Env { allow_private_network: true, ..Env::default() };
    assert_eq!(Policy::new(None, &env, &mut Vec::new()), Policy::Anywhere);
    assert_eq!(Policy::new(None, &Env::default(), &mut Vec::new()), public_and(&[]));
}

#[tokio::test]
async fn refuses_a_name_that_resolves_to_loopback() {
    let resolve = async |policy| Resolver(Arc::new(policy)).resolve("localhost").await;
    let error = resolve(public_and(&[])).await.err().unwrap();
    assert!(error.downcast_ref::<Error>().unwrap().reason() == Some(Reason::AddressRefused), "{error}");
    assert!(error.to_string().contains("\"allow_private_network\": true"), "{error}");
    assert!(!resolve(Policy::Anywhere).await.unwrap().is_empty());
}

/// A name whose address is another each time it is asked for; what is found is checked as ever.
#[derive(Debug)]
struct Moving(Resolver, std::sync::Mutex<Vec<&'static str>>);

impl Resolve for Moving {
    fn resolve(&self, _: &str) -> Resolving {
        let address: IpAddr = self.1.lock().unwrap().remove(0).parse().unwrap();
        let allowed = self.0.allowed(std::iter::once(SocketAddr::new(address, 0)));
        Box::pin(async move { Ok(allowed?) })
    }
}

/// Answers every connection once, and closes it.
async fn answering(host: &str) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((host, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    });
    address
}

/// F27: a name that is answered with an allowed address first and with our own then. 127.0.0.2 stands for the public one.
#[tokio::test]
async fn refuses_the_second_connection_to_a_name_that_has_moved() {
    let address = answering("127.0.0.2").await;
    let resolver = Resolver(Arc::new(public_and(&["127.0.0.2"])));
    let names = vec!["127.0.0.2", "127.0.0.1", "127.0.0.2"];
    let moving = Moving(resolver, std::sync::Mutex::new(names));
    let client = fetch::Client::new(Arc::new(moving), fetch::Tls::default());
    let url: Url = format!("http://rebinding.test:{}/", address.port()).parse().unwrap();
    let send = async || client.send(fetch::Request::new(fetch::http::Method::GET, url.clone())).await;
    assert_eq!(send().await.unwrap().status(), 204);
    let error = crate::shared::unreachable::explain(send().await.unwrap_err());
    assert_eq!((error.kind(), error.reason()), (tool::ErrorKind::Denied, Some(Reason::AddressRefused)));
    assert_eq!(send().await.unwrap().status(), 204);
}
