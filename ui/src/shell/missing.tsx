// A page that is not there.
import { Header, LinkButton, Stack } from "../kit";
import { useWords } from "../words";

export function Missing() {
  const words = useWords();
  return (
    <Stack>
      <Header title={words.missing.title} />
      <p>{words.missing.detail}</p>
      <div>
        <LinkButton to="/">{words.nav.home}</LinkButton>
      </div>
    </Stack>
  );
}
