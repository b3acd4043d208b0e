//! Groups of Kafka with more than one member. The broker of krafka's tests forgets a member when another joins; this one, in
//! front of it, has the members of a generation come together as Kafka's classic protocol says. Whoever is killed stays a
//! member: only those who leave are gone.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use krafka::testing::{FakeBroker, GroupMember};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

const JOIN: i16 = 11;
const HEARTBEAT: i16 = 12;
const LEAVE: i16 = 13;
const SYNC: i16 = 14;

const NO_ERROR: i16 = 0;
const ILLEGAL_GENERATION: i16 = 22;
const UNKNOWN_MEMBER: i16 = 25;
const REBALANCE_IN_PROGRESS: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;

/// A broker whose groups have any number of members.
pub(crate) struct GroupBroker {
    pub(crate) address: String,
    coordinator: Arc<Coordinator>,
    _task: AbortOnDropHandle<()>,
}

struct Coordinator {
    broker: FakeBroker,
    groups: Mutex<BTreeMap<String, Group>>,
    /// Something became of some group.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Group {
    generation: i32,
    /// What each member wants to read.
    members: BTreeMap<String, Bytes>,
    /// Who has come for the next generation; empty when nobody wants one.
    joined: BTreeSet<String>,
    is_rebalancing: bool,
    protocol: String,
    /// What the leader of this generation has said.
    assignments: Option<BTreeMap<String, Bytes>>,
}

impl GroupBroker {
    pub(crate) async fn start() -> Self {
        let broker = FakeBroker::start().await.unwrap();
        let (upstream, listener) =
            (broker.broker_addr(0).unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        broker.with_state(|state| state.brokers[0].port = i32::from(address.port()));
        let coordinator =
            Arc::new(Coordinator { broker, groups: Mutex::default(), changed: watch::Sender::new(()) });
        let shared = coordinator.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (coordinator, server) = (shared.clone(), TcpStream::connect(upstream).await.unwrap());
                tokio::spawn(async move { coordinator.carry(client, server).await });
            }
        });
        Self { address: address.to_string(), coordinator, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn create_topic(&self, name: &str, partitions: i32) {
        assert!(self.coordinator.broker.create_topic(name, partitions));
    }

    /// How often the members of the group came together.
    pub(crate) fn generation(&self, group: &str) -> i32 {
        self.coordinator.groups.lock().unwrap().get(group).map_or(0, |group| group.generation)
    }

    /// So many members have come together, and know what each of them reads.
    pub(crate) fn has_settled(&self, group: &str, members: usize) -> bool {
        let groups = self.coordinator.groups.lock().unwrap();
        groups.get(group).is_some_and(|group| {
            group.members.len() == members && !group.is_rebalancing && group.assignments.is_some()
        })
    }
}

impl Coordinator {
    /// One request after the other, as Kafka does: whatever follows one that waits waits, too.
    async fn carry(&self, mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
        loop {
            let request = frame(&mut client).await?;
            let mut body = request.clone();
            let (api, _version, id) = (body.get_i16(), body.get_i16(), body.get_i32());
            let answer = match api {
                JOIN | HEARTBEAT | LEAVE | SYNC => {
                    let _client_id = text(&mut body);
                    let mut answer = BytesMut::new();
                    answer.put_i32(id);
                    answer.put_i32(0);
                    answer.extend_from_slice(&self.answer(api, &mut body).await);
                    answer.freeze()
                }
                _ => {
                    write(&mut server, &request).await?;
                    frame(&mut server).await?
                }
            };
            write(&mut client, &answer).await?;
        }
    }

    async fn answer(&self, api: i16, body: &mut Bytes) -> BytesMut {
        let group = text(body);
        match api {
            JOIN => self.join(&group, body).await,
            SYNC => self.sync(&group, body).await,
            LEAVE => self.leave(&group, body),
            _ => {
                let (generation, member) = (body.get_i32(), text(body));
                error(self.change(&group, |group| group.fits(generation, &member)))
            }
        }
    }

    fn change<T>(&self, name: &str, change: impl FnOnce(&mut Group) -> T) -> T {
        let mut groups = self.groups.lock().unwrap();
        let group = groups.entry(name.to_owned()).or_default();
        let result = change(group);
        if group.come_together() {
            self.broker.with_state(|state| {
                let state = state.groups.entry(name.to_owned()).or_default();
                // By these it is judged whose offsets are taken.
                state.generation_id = group.generation;
                state.members = group.members.iter().map(|(id, metadata)| member(id, metadata)).collect();
            });
        }
        drop(groups);
        self.changed.send_replace(());
        result
    }

    /// Waits until the group has something to say.
    async fn wait<T>(&self, name: &str, mut look: impl FnMut(&Group) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            let seen = self.groups.lock().unwrap().get(name).and_then(&mut look);
            match seen {
                Some(seen) => return seen,
                None => changes.changed().await.unwrap(),
            }
        }
    }

    async fn join(&self, name: &str, body: &mut Bytes) -> BytesMut {
        let _timeouts = (body.get_i32(), body.get_i32());
        let id = text(body);
        if id.is_empty() {
            // Who joins gets a name first, by which it can leave while it waits.
            return joined(MEMBER_ID_REQUIRED, -1, ["", "", &tool::new_id::<String>()], &[]);
        }
        let (_instance, _kind, _count) = (text(body), text(body), body.get_i32());
        let (protocol, metadata) = (text(body), bytes(body));
        let before = self.change(name, |group| {
            let before = group.generation;
            group.protocol = protocol;
            group.members.insert(id.clone(), metadata);
            group.joined.insert(id.clone());
            group.is_rebalancing = true;
            before
        });
        self.wait(name, |group| (group.generation > before).then(|| group.joined_as(&id))).await
    }

    async fn sync(&self, name: &str, body: &mut Bytes) -> BytesMut {
        let (generation, member, _instance) = (body.get_i32(), text(body), text(body));
        let said: BTreeMap<_, _> = (0..body.get_i32()).map(|_| (text(body), bytes(body))).collect();
        self.change(name, |group| {
            if group.fits(generation, &member) == NO_ERROR && !said.is_empty() {
                group.assignments = Some(said);
            }
        });
        self.wait(name, |group| {
            let error = group.fits(generation, &member);
            if error == NO_ERROR && group.assignments.is_none() {
                return None;
            }
            let mine = group.assignments.as_ref().and_then(|all| all.get(&member)).cloned();
            let mut answer = BytesMut::new();
            answer.put_i16(error);
            put_bytes(&mut answer, &mine.filter(|_| error == NO_ERROR).unwrap_or_default());
            Some(answer)
        })
        .await
    }

    fn leave(&self, name: &str, body: &mut Bytes) -> BytesMut {
        let members: Vec<_> = (0..body.get_i32()).map(|_| (text(body), text(body)).0).collect();
        self.change(name, |group| {
            for member in &members {
                group.joined.remove(member);
                group.is_rebalancing |= group.members.remove(member).is_some();
            }
        });
        let mut answer = error(NO_ERROR);
        answer.put_i32(0);
        answer
    }
}

impl Group {
    /// A generation begins when everybody has come for it.
    fn come_together(&mut self) -> bool {
        let is_complete = self.is_rebalancing && self.members.keys().all(|id| self.joined.contains(id));
        if is_complete {
            self.generation += 1;
            self.joined.clear();
            (self.is_rebalancing, self.assignments) = (false, None);
        }
        is_complete
    }

    fn fits(&self, generation: i32, member: &str) -> i16 {
        match self.members.contains_key(member) {
            false => UNKNOWN_MEMBER,
            true if generation != self.generation => ILLEGAL_GENERATION,
            true if self.is_rebalancing => REBALANCE_IN_PROGRESS,
            true => NO_ERROR,
        }
    }

    /// What a member gets to know of its generation: the leader, all the others; who is gone by now, that.
    fn joined_as(&self, id: &str) -> BytesMut {
        let leader = self.members.keys().next().cloned().unwrap_or_default();
        let error = if self.members.contains_key(id) { NO_ERROR } else { UNKNOWN_MEMBER };
        let told: Vec<_> = self.members.iter().filter(|_| leader == id).collect();
        joined(error, self.generation, [&self.protocol, &leader, id], &told)
    }
}

fn joined(error: i16, generation: i32, names: [&str; 3], members: &[(&String, &Bytes)]) -> BytesMut {
    let mut answer = BytesMut::new();
    answer.put_i16(error);
    answer.put_i32(generation);
    names.into_iter().for_each(|name| put_text(&mut answer, name));
    answer.put_i32(i32::try_from(members.len()).unwrap());
    for (id, metadata) in members {
        put_text(&mut answer, id);
        answer.put_i16(-1);
        put_bytes(&mut answer, metadata);
    }
    answer
}

fn member(id: &str, metadata: &Bytes) -> GroupMember {
    let (member_id, metadata, client_host) = (id.to_owned(), metadata.clone(), String::new());
    GroupMember { member_id, group_instance_id: None, metadata, client_id: String::new(), client_host }
}

fn error(code: i16) -> BytesMut {
    BytesMut::from(&code.to_be_bytes()[..])
}

/// A text; nothing where there is none.
pub(super) fn text(body: &mut Bytes) -> String {
    let length = usize::try_from(body.get_i16()).unwrap_or(0);
    String::from_utf8(body.split_to(length).to_vec()).unwrap()
}

pub(super) fn put_text(answer: &mut BytesMut, text: &str) {
    answer.put_i16(i16::try_from(text.len()).unwrap());
    answer.extend_from_slice(text.as_bytes());
}

pub(super) fn bytes(body: &mut Bytes) -> Bytes {
    let length = usize::try_from(body.get_i32()).unwrap_or(0);
    body.split_to(length)
}

pub(super) fn put_bytes(answer: &mut BytesMut, bytes: &Bytes) {
    answer.put_i32(i32::try_from(bytes.len()).unwrap());
    answer.extend_from_slice(bytes);
}

pub(super) async fn frame(stream: &mut TcpStream) -> io::Result<Bytes> {
    let length = stream.read_i32().await?;
    let mut bytes = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes.into())
}

pub(super) async fn write(stream: &mut TcpStream, frame: &Bytes) -> io::Result<()> {
    stream.write_i32(i32::try_from(frame.len()).unwrap()).await?;
    stream.write_all(frame).await
}
