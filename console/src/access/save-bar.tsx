import { Button, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUndoElsewhere } from '../people/undo-offer.ts';
import { useUndo } from '../people/use-bulk-update.ts';
import { useAccessRefresh } from './use-access-refresh.ts';
import type { Cells } from './use-cells.ts';

type Props = { clientId: number; cells: Cells };
type Saved = Outputs['access']['update'];

/** Saves all changed cells with one request, and undoes the last save. */
export const SaveBar = ({ clientId, cells }: Props) => {
  const [saved, setSaved] = useState<Saved | null>(null);
  const refresh = useAccessRefresh();
  const save = useMutation(
    trpc.access.update.mutationOptions({
      onSuccess: async (result) => {
        setSaved(result);
        // Before the changes are dropped: until then the matrix shows the old cells.
        await refresh();
        cells.clear();
      },
    }),
  );
  const undo = useUndo();
  const savedText = saved && `Saved ${saved.changed.toLocaleString()}.`;
  useUndoElsewhere(`Access: ${savedText}`, saved?.operation ?? '', saved?.undo_until ?? null);
  const count = cells.changes.length;
  return (
    <>
      <ProblemAlert error={save.error ?? undo.error} />
      <Group mb="sm" mih={36} role="status">
        {count > 0 && (
          <>
            <Text>{count === 1 ? '1 change' : `${count.toLocaleString()} changes`}</Text>
            <Button
              loading={save.isPending}
              onClick={() => save.mutate({ id: clientId, cells: cells.changes })}
            >
              Save
            </Button>
            <Button variant="default" onClick={cells.clear}>
              Discard
            </Button>
          </>
        )}
        {count === 0 && saved && (
          <>
            <Text>{savedText}</Text>
            <Button
              variant="default"
              loading={undo.isPending}
              onClick={() =>
                undo.mutate(saved.operation, {
                  onSuccess: async () => {
                    await refresh();
                    setSaved(null);
                  },
                })
              }
            >
              Undo
            </Button>
          </>
        )}
      </Group>
    </>
  );
};
