// Somebody else has saved meanwhile: both versions side by side, and a choice.
import { Diff } from "../editor";
import { Button, Dialog, Row } from "../kit";
import { useWords } from "../words";

type Props = { mine: string; theirs: string | null; onTheirs: () => void; onMine: () => void; onClose: () => void };

export function ConflictDialog({ mine, theirs, onTheirs, onMine, onClose }: Props) {
  const words = useWords();
  return (
    <Dialog title={words.conflict.title} open={theirs !== null} onClose={onClose} wide>
      <p>{words.conflict.detail}</p>
      <Diff
        label={words.conflict.title}
        before={theirs ?? ""}
        after={mine}
        onlyBefore={words.conflict.onlyTheirs}
        onlyAfter={words.conflict.onlyMine}
      />
      <Row at="end">
        <Button onClick={onTheirs}>{words.conflict.theirs}</Button>
        <Button look="primary" onClick={onMine}>
          {words.conflict.mine}
        </Button>
      </Row>
    </Dialog>
  );
}
