// The way in: with a key, or as a person.
import { type FormEvent, useState } from "react";
import { type Credentials, signIn } from "../api/session";
import type { Me } from "../api/types";
import { forgetDrafts } from "../form/kept";
import { Button, ErrorNote, Header, LocalTabs, Note, Stack, TextField } from "../kit";
import css from "../kit/shell.module.css";
import { useWords } from "../words";

type Props = {
  onIn: (who: Me) => void;
  isAgain: boolean;
  isLinkSpent: boolean;
  /** Who is signed in now, in another tab. */
  other: Me | null;
};

export function Login({ onIn, isAgain, isLinkSpent, other }: Props) {
  const words = useWords();
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const enter = async (credentials: Credentials) => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      onIn(await signIn(credentials));
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className={css.login}>
      <div>
        <Stack>
          <Header title={words.login.title} />
          {isAgain && !other && <Note tone="warn" title={words.login.again} />}
          {other && <SomebodyElse who={other} />}
          {isLinkSpent && <Note tone="warn" title={words.login.codeSpent} live="alert" />}
          {error && <ErrorNote error={error} />}
          <LocalTabs
            label={words.login.how}
            tabs={[
              { id: "key", label: words.login.key, body: () => <KeyForm onEnter={enter} isBusy={isBusy} /> },
              { id: "user", label: words.login.user, body: () => <UserForm onEnter={enter} isBusy={isBusy} /> },
            ]}
          />
        </Stack>
      </div>
    </main>
  );
}

/** The page stays where it is, and nothing of it is sent as somebody else. */
function SomebodyElse({ who }: { who: Me }) {
  const words = useWords();
  const goOn = () => {
    forgetDrafts();
    location.reload();
  };
  return (
    <Note tone="warn" title={words.login.other(who.name, who.tenant)} live="alert">
      <p>{words.login.otherDetail}</p>
      <div>
        <Button onClick={goOn}>{words.login.goOnAs(who.name)}</Button>
      </div>
    </Note>
  );
}

type FormProps = { onEnter: (credentials: Credentials) => void; isBusy: boolean };

function KeyForm({ onEnter, isBusy }: FormProps) {
  const words = useWords();
  const [key, setKey] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onEnter({ key: key.trim() });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextField
          label={words.login.key}
          hint={words.login.keyHint}
          type="password"
          autoComplete="current-password"
          value={key}
          onValue={setKey}
        />
        <Button look="primary" type="submit" disabled={isBusy}>
          {words.login.title}
        </Button>
      </Stack>
    </form>
  );
}

function UserForm({ onEnter, isBusy }: FormProps) {
  const words = useWords();
  const [user, setUser] = useState({ tenant: "default", username: "", password: "" });
  const set = (field: keyof typeof user) => (value: string) => setUser((old) => ({ ...old, [field]: value }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onEnter(user);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextField label={words.login.tenant} value={user.tenant} onValue={set("tenant")} autoComplete="organization" />
        <TextField
          label={words.login.userName}
          value={user.username}
          onValue={set("username")}
          autoComplete="username"
        />
        <TextField
          label={words.login.password}
          type="password"
          value={user.password}
          onValue={set("password")}
          autoComplete="current-password"
        />
        <Button look="primary" type="submit" disabled={isBusy}>
          {words.login.title}
        </Button>
      </Stack>
    </form>
  );
}
