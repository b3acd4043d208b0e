// People: keys for programs, users for persons, tenants for everybody apart.
import { useMay } from "../../api/session";
import { Header, PageTabs, Stack } from "../../kit";
import { useWords } from "../../words";
import { Keys } from "./keys";
import { Tenants } from "./tenants";
import { Users } from "./users";

export default function People() {
  const words = useWords();
  const may = useMay();
  const tabs = [
    { id: "keys", label: words.people.keys, body: () => <Keys /> },
    { id: "users", label: words.people.users, body: () => <Users /> },
  ];
  const tenants = { id: "tenants", label: words.people.tenants, body: () => <Tenants /> };
  return (
    <Stack>
      <Header title={words.nav.people} />
      <PageTabs label={words.nav.people} tabs={may("administer") ? [...tabs, tenants] : tabs} />
    </Stack>
  );
}
