// One's own password: whoever signed in with one may give themselves another.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { messageAt } from "../../api/error";
import { changePassword } from "../../api/people";
import { me } from "../../api/session";
import { ActionErrors, useAction } from "../../form/action";
import { useUnsaved } from "../../form/kept";
import { useSignedOut } from "../../form/secrets";
import { Button, Muted, Region, Row, Stack, TextField, useDialogKey } from "../../kit";
import { useWords } from "../../words";

const NOTHING = { old_password: "", new_password: "" };

export function OwnPassword() {
  const { data } = useQuery(me);
  return data?.kind === "user" ? <Password /> : null;
}

function Password() {
  const words = useWords();
  const [typed, setTyped] = useState(NOTHING);
  const isTyped = typed.old_password !== "" && typed.new_password !== "";
  useUnsaved(typed !== NOTHING);
  useSignedOut(() => setTyped(NOTHING));
  const action = useAction(async () => {
    await changePassword(typed);
    setTyped(NOTHING);
  }, words.done.saved);
  const save = () => void (isTyped && !action.isBusy && action.run());
  const onKeyDown = useDialogKey(save);
  const field = (name: keyof typeof NOTHING, label: string, autoComplete: string) => (
    <TextField
      type="password"
      autoComplete={autoComplete}
      label={label}
      value={typed[name]}
      error={messageAt(action.problems, name)}
      onValue={(text) => setTyped({ ...typed, [name]: text })}
    />
  );
  return (
    <Region title={words.password.title}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: one key for the whole form */}
      <div onKeyDown={onKeyDown}>
        <Stack>
          {field("old_password", words.password.old, "current-password")}
          {field("new_password", words.people.newPassword, "new-password")}
          <Muted small>{words.password.hint}</Muted>
          <ActionErrors of={action} />
          <Row>
            <Button look="primary" disabled={action.isBusy || !isTyped} onClick={save}>
              {words.password.change}
            </Button>
          </Row>
        </Stack>
      </div>
    </Region>
  );
}
