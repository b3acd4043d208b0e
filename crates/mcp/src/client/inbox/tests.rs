//! Who gets what arrives.

use super::*;

fn cx() -> Context {
    let caller = std::sync::Arc::new(tool::Caller::local());
    let time = std::time::Duration::from_secs(5);
    Context::new(tool::TenantId::default_tenant(), caller, tool::Door::Local, time)
}

fn deliver(inbox: &Inbox, text: &str) -> Result<Vec<String>, NotAMessage> {
    let mut answers = Vec::new();
    inbox.deliver(text.as_bytes(), None, &mut answers).map(|()| answers)
}

#[test]
fn gives_each_answer_to_the_one_who_asked_and_ignores_the_rest() {
    let (inbox, _rx) = Inbox::new(None);
    let mut first = inbox.expect(1, &cx()).unwrap();
    let mut second = inbox.expect(2, &cx()).unwrap();
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":2,"result":{"a": 1.0}}"#).unwrap();
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":2,"result":{"twice":true}}"#).unwrap();
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).unwrap();
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#).unwrap();
    assert_eq!(second.try_recv().unwrap().unwrap().get(), r#"{"a": 1.0}"#);
    assert!(first.try_recv().is_err());
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"no"}}"#).unwrap();
    let Err(Failure::Rpc(error)) = first.try_recv().unwrap() else { panic!() };
    assert_eq!((error.code, error.message.as_str()), (-32602, "no"));
}

#[test]
fn answers_pings_and_refuses_what_no_caller_can_answer() {
    let (inbox, _rx) = Inbox::new(None);
    let answers = deliver(&inbox, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).unwrap();
    assert_eq!(answers, [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#]);
    let asked = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#;
    assert!(deliver(&inbox, asked).unwrap()[0].contains("-32601"));
}

#[test]
fn a_storm_of_notifications_is_counted_and_not_kept() {
    let (inbox, _rx) = Inbox::new(None);
    let mut changed = inbox.lists_changed();
    for _ in 0..10_000 {
        deliver(&inbox, r#"{"jsonrpc":"2.0","method":"notifications/new","params":{}}"#).unwrap();
    }
    assert_eq!(inbox.dropped(), 10_000 - MAX_NOTIFICATIONS as u64);
    deliver(&inbox, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).unwrap();
    assert!(changed.has_changed().unwrap());
    assert_eq!(*changed.borrow_and_update(), 1);
}

#[test]
fn tells_noise_from_messages_and_survives_depth_bombs() {
    let (inbox, _rx) = Inbox::new(None);
    for noise in ["", "Server started", "{", "7", "{}", "[1]", r#"{"id":1}"#, r#"{"method":7}"#] {
        assert!(deliver(&inbox, noise).is_err(), "{noise}");
    }
    let mut waiting = inbox.expect(1, &cx()).unwrap();
    let mut other = inbox.expect(3, &cx()).unwrap();
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    deliver(&inbox, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#)).unwrap();
    let Err(Failure::Protocol(why)) = waiting.try_recv().unwrap() else { panic!() };
    assert!(why.contains("nested more than 256 levels deep"), "{why}");
    let asked = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{{"x":{deep}}}}}"#);
    assert!(deliver(&inbox, &asked).unwrap()[0].contains("levels deep"));
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).unwrap();
    assert_eq!(other.try_recv().unwrap().unwrap().get(), "{}");
    let error = format!(r#"{{"code":1,"message":"m","data":{deep}}}"#);
    let mut waiting = inbox.expect(2, &cx()).unwrap();
    deliver(&inbox, &format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#)).unwrap();
    assert!(matches!(waiting.try_recv().unwrap(), Err(Failure::Rpc(RpcError { data: None, .. }))));
}

#[test]
fn takes_no_array_for_a_message() {
    let (inbox, _rx) = Inbox::new(None);
    let mut waiting = inbox.expect(1, &cx()).unwrap();
    for array in [r#"[1,null,null,{"a":1}]"#, r#"[[1,null,null,{"a":1}]]"#] {
        assert!(deliver(&inbox, array).is_err(), "{array}");
    }
    assert!(waiting.try_recv().is_err());
    deliver(&inbox, r#" [{"jsonrpc":"2.0","id":1,"result":{}}]"#).unwrap();
    assert_eq!(waiting.try_recv().unwrap().unwrap().get(), "{}");
}

#[test]
fn ends_every_wait_when_the_connection_ends() {
    let (inbox, _rx) = Inbox::new(None);
    let mut waiting = inbox.expect(1, &cx()).unwrap();
    inbox.close(&Failure::cut_off("gone"));
    assert!(matches!(waiting.try_recv().unwrap(), Err(Failure::Broken { is_sent: true, .. })));
    assert!(inbox.expect(2, &cx()).unwrap_err().is_unsent());
}

/// A program that can be asked anything, in a session of this name.
#[derive(Debug)]
struct Program(&'static str);

#[async_trait::async_trait]
impl tool::Client for Program {
    fn capabilities(&self) -> &RawValue {
        RawValue::NULL
    }

    fn session(&self) -> &str {
        self.0
    }

    fn can(&self, _: tool::Ability) -> bool {
        true
    }

    fn question_mode(&self) -> tool::QuestionMode {
        tool::QuestionMode::DuringCall
    }

    async fn ask(&self, _: &Context, _: tool::Question) -> tool::Result<Box<RawValue>> {
        Err(tool::Error::unsupported("nobody asks here"))
    }
}

fn cx_of(key: &str, session: Option<&'static str>) -> Context {
    let caller =
        tool::Caller { identity: tool::Identity::Key(key.parse().unwrap()), ..tool::Caller::local() };
    let client = session.map(|session| Arc::new(Program(session)) as Arc<dyn tool::Client>);
    Context { caller: Arc::new(caller), client, ..cx() }
}

/// What a question is refused with; nothing when it is put to somebody.
fn refusal(inbox: &Inbox) -> Option<String> {
    let asked = r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}"#;
    deliver(inbox, asked).unwrap().pop()
}

#[test]
fn puts_a_question_to_a_program_only_while_no_other_calls() {
    for (others, why) in [
        (vec![("a", Some("s"))], None),
        (vec![("a", Some("t"))], Some("several clients")),
        (vec![("b", Some("s"))], Some("several clients")),
        (vec![("b", None)], Some("several clients")),
        (vec![("a", None)], Some("several clients")),
    ] {
        let (inbox, _rx) = Inbox::new(None);
        let _first = inbox.expect(1, &cx_of("a", Some("s"))).unwrap();
        let waiting: Vec<_> =
            others.iter().map(|(key, session)| inbox.expect(2, &cx_of(key, *session))).collect();
        let said = refusal(&inbox);
        assert_eq!(said.is_none(), why.is_none(), "{others:?}: {said:?}");
        assert!(why.is_none_or(|why| said.unwrap().contains(why)));
        drop(waiting);
    }
    let (inbox, _rx) = Inbox::new(None);
    assert!(refusal(&inbox).unwrap().contains("no call is under way"));
    let _rest = inbox.expect(1, &cx_of("b", None)).unwrap();
    assert!(refusal(&inbox).unwrap().contains("does not support"));
}

#[test]
fn a_request_that_was_given_up_may_still_be_asked_about() {
    let (inbox, _rx) = Inbox::new(None);
    let _theirs = inbox.expect(1, &cx_of("a", None)).unwrap();
    let _ours = inbox.expect(2, &cx_of("b", Some("s"))).unwrap();
    assert!(inbox.forget(1));
    assert!(refusal(&inbox).unwrap().contains("several clients"));
    // One that was answered is none of it.
    let (inbox, _rx) = Inbox::new(None);
    let _theirs = inbox.expect(1, &cx_of("a", None)).unwrap();
    let _ours = inbox.expect(2, &cx_of("b", Some("s"))).unwrap();
    deliver(&inbox, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
    assert!(refusal(&inbox).is_none());
}

#[test]
fn a_question_about_a_call_that_has_ended_is_nobody_s() {
    let (inbox, _rx) = Inbox::new(None);
    let _ours = inbox.expect(2, &cx_of("b", Some("s"))).unwrap();
    let asked = r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}"#;
    let mut answers = Vec::new();
    inbox.deliver(asked.as_bytes(), Some(1), &mut answers).unwrap();
    assert!(answers[0].contains("has ended"), "{answers:?}");
}
