// Users: persons with a password.
import { useQuery } from "@tanstack/react-query";
import { users } from "../../api/people";
import type { User } from "../../api/types";
import { StateBadge } from "../../catalog/badges";
import { type Column, List, Loaded, Row, Stack } from "../../kit";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { AddPerson, PersonActions, type Values } from "./add";
import { EditPerson } from "./edit";

const text = (user: User) => `${user.username} ${user.display_name} ${user.role}`;
const id = (user: User) => user.id;

const valuesOf = ({ display_name, role, bu_code }: User): Values => ({ display_name, role, bu_code: bu_code ?? "" });

const bodyOf = ({ display_name = "", role, bu_code, password }: Values) => ({
  display_name,
  role,
  bu_code: bu_code || null,
  // One that is not typed stays.
  ...(password && { password }),
});

const newOf = ({ username = "", ...values }: Values) => ({ ...bodyOf(values), username });

export function Users() {
  const words = useWords();
  const format = useFormat();
  const all = useQuery(users);
  const about = [
    { name: "display_name", label: words.field.name },
    { name: "bu_code", label: words.people.unit, hint: words.people.unitHint },
  ];
  const password = { name: "password", label: words.login.password, type: "password" as const };
  const columns: Column<User>[] = [
    { id: "name", label: words.login.userName, cell: (user) => user.username },
    { id: "display", label: words.field.name, cell: (user) => user.display_name },
    { id: "role", label: words.field.role, cell: (user) => words.people.roles[user.role] },
    { id: "status", label: words.field.status, cell: (user) => <StateBadge state={user.status} /> },
    { id: "made", label: words.field.created, kind: "nowrap", cell: (user) => format.time(user.created_at) },
    {
      id: "act",
      label: words.people.actions,
      cell: (user) => (
        <PersonActions what="users" {...user} name={user.username}>
          <EditPerson
            {...{ what: "users", of: user, name: user.username, valuesOf, bodyOf }}
            fields={[...about, { ...password, label: words.people.newPassword, hint: words.people.newPasswordHint }]}
            hasRole
          />
        </PersonActions>
      ),
    },
  ];
  const fields = [
    { name: "username", label: words.login.userName, required: true },
    ...about,
    { ...password, required: true },
  ];
  return (
    <Stack>
      <Row at="end">
        <AddPerson what="users" label={words.things.users.add} fields={fields} hasRole body={newOf} />
      </Row>
      <Loaded query={all}>
        {(rows) => <List things={words.things.users} rows={rows} columns={columns} id={id} text={text} />}
      </Loaded>
    </Stack>
  );
}
