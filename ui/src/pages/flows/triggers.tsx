// What starts a flow by itself, as its published version says.
import { useQuery } from "@tanstack/react-query";
import { setTriggerEnabled, triggers } from "../../api/flows";
import { writeJson } from "../../api/json";
import type { Flow, Trigger } from "../../api/types";
import { ActionErrors, useAction } from "../../form/action";
import { type Column, Empty, Loaded, Mono, Stack, SwitchField, Table } from "../../kit";
import { useWords } from "../../words";
import { TriggerActions } from "./trigger-actions";

export function Triggers({ flow, canEdit }: { flow: Flow; canEdit: boolean }) {
  const words = useWords();
  const all = useQuery(triggers(flow.id));
  const flip = useAction((name: string, isOn: boolean) => setTriggerEnabled(flow.id, name, isOn), words.done.saved);
  const columns: Column<Trigger>[] = [
    { id: "name", label: words.field.name, cell: (trigger) => trigger.name },
    { id: "type", label: words.field.type, cell: (trigger) => trigger.type },
    { id: "path", label: words.field.address, cell: (trigger) => trigger.path && <Mono>{trigger.path}</Mono> },
    { id: "settings", label: words.flows.settings, cell: (trigger) => <Mono>{writeJson(trigger.settings)}</Mono> },
    {
      id: "on",
      label: words.field.enabled,
      cell: (trigger) => (
        <SwitchField
          hideLabel
          label={words.flows.triggerOn(trigger.name)}
          checked={trigger.enabled}
          disabled={!canEdit || flip.isBusy}
          onChecked={(isOn) => flip.run(trigger.name, isOn)}
        />
      ),
    },
  ];
  const actions: Column<Trigger> = {
    id: "act",
    label: words.people.actions,
    cell: (trigger) => <TriggerActions flow={flow.id} of={trigger} />,
  };
  return (
    <Stack>
      <ActionErrors of={flip} />
      <Loaded query={all}>
        {(rows) =>
          rows.length > 0 ? (
            <Table
              label={words.flows.triggers}
              columns={canEdit ? [...columns, actions] : columns}
              rows={rows}
              id={(trigger) => trigger.name}
            />
          ) : (
            <Empty title={words.flows.noTriggers}>{words.flows.noTriggersHint}</Empty>
          )
        }
      </Loaded>
    </Stack>
  );
}
