// A door that was just made: its key, and the way to the client's settings.
import { useNavigate } from "@tanstack/react-router";
import type { NewDoor } from "../api/doors";
import { Button } from "../kit";
import { useWords } from "../words";
import { KeyDialog } from "./key-dialog";

export function NewDoorDialog({ door, onClose }: { door: NewDoor | null; onClose: () => void }) {
  const words = useWords();
  const navigate = useNavigate();
  const connect = () => navigate({ to: `/ui/doors/${door?.id}`, search: { connect: "1" } as never });
  return (
    <KeyDialog value={door?.api_key ?? null} onClose={onClose}>
      <Button look="primary" onClick={connect}>
        {words.doors.connect}
      </Button>
    </KeyDialog>
  );
}
