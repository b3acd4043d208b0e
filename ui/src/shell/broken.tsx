// What a page shows when it breaks: what happened, and a way on.
import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button, ErrorNote, Header, Stack } from "../kit";
import { useWords } from "../words";

export function Broken({ error, reset }: ErrorComponentProps) {
  const words = useWords();
  return (
    <Stack>
      <Header title={words.missing.broken} />
      <ErrorNote error={error as Error} onRetry={reset} />
      <div>
        <Button onClick={() => location.reload()}>{words.missing.reload}</Button>
      </div>
    </Stack>
  );
}
