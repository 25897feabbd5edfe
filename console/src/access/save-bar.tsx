import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { BarButton, FloatingBar } from '../components/floating-bar.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUndoElsewhere } from '../people/undo-offer.ts';
import { useUndo } from '../people/use-bulk-update.ts';
import { useIsOver } from '../server-clock.ts';
import { useAccessRefresh } from './use-access-refresh.ts';
import type { Cells } from './use-cells.ts';

type Props = {
  clientId: number;
  cells: Cells;
  /** Whether the matrix shows only changed rows. */
  isReview: boolean;
  onReview: (isReview: boolean) => void;
  /** Called when a button disappears that may have the focus. */
  onEnd: () => void;
};
type Saved = Outputs['access']['update'];

/** Saves all changed cells with one request, and undoes the last save. */
export const SaveBar = ({ clientId, cells, isReview, onReview, onEnd }: Props) => {
  const [saved, setSaved] = useState<Saved | null>(null);
  const refresh = useAccessRefresh();
  const save = useMutation(
    trpc.access.update.mutationOptions({
      onSuccess: async (result, sent) => {
        setSaved(result);
        // Before the changes are cleared: until then, the matrix shows the old cells.
        await refresh();
        cells.settle(sent.cells);
        onEnd();
      },
    }),
  );
  const undo = useUndo();
  const savedText = saved && `Saved ${saved.changed.toLocaleString()}.`;
  const canUndo = !undo.isPending && !undo.isSuccess;
  useUndoElsewhere(`Access: ${savedText}`, saved?.operation ?? '', (canUndo && saved?.undo_until) || null);
  const isOver = useIsOver(saved?.undo_until ?? null);
  const count = cells.changes.length;
  const close = (): void => {
    setSaved(null);
    onEnd();
  };
  const discard = (): void => {
    cells.clear();
    onEnd();
  };
  const undoSave = (operation: string): void =>
    undo.mutate(operation, {
      onSuccess: async () => {
        await refresh();
        close();
      },
    });
  return (
    <>
      <ProblemAlert error={save.error ?? undo.error} />
      {count > 0 && (
        <FloatingBar label="Changes of access">
          <span role="status">{summaryOf(cells)}</span>
          <BarButton
            loading={save.isPending}
            onClick={() => save.mutate({ id: clientId, cells: cells.changes })}
          >
            Save
          </BarButton>
          <BarButton aria-pressed={isReview} onClick={() => onReview(!isReview)}>
            {isReview ? 'Show everything' : 'Show only changes'}
          </BarButton>
          <BarButton onClick={discard}>Discard</BarButton>
        </FloatingBar>
      )}
      {count === 0 && saved && (
        <FloatingBar label="Saved changes of access">
          <span role="status">{savedText}</span>
          {!isOver && (
            <BarButton loading={undo.isPending} onClick={() => undoSave(saved.operation)}>
              Undo
            </BarButton>
          )}
          <BarButton onClick={close}>Close</BarButton>
        </FloatingBar>
      )}
    </>
  );
};

/** `3 changes: 2 granted, 1 revoked` */
const summaryOf = ({ changes }: Cells): string => {
  const granted = changes.filter((cell) => cell.granted).length;
  const revoked = changes.length - granted;
  const parts = [
    granted > 0 && `${granted.toLocaleString()} granted`,
    revoked > 0 && `${revoked.toLocaleString()} revoked`,
  ];
  const count = changes.length === 1 ? '1 change' : `${changes.length.toLocaleString()} changes`;
  return `${count}: ${parts.filter(Boolean).join(', ')}`;
};
