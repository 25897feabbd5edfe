import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Inputs, type Outputs, steward, trpc } from '../api.ts';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import type { conditionsOf } from './people-filter.ts';
import type { Selected } from './use-selection.ts';

type Input = Extract<Inputs['users']['bulkUpdate'], object>;
export type BulkChange = Pick<Input, 'action' | 'apps'>;
export type BulkRow = Outputs['users']['bulkUpdate']['results'][number];

/** What the requests of a change have done in all. */
export type BulkOutcome = { change: BulkChange; operation: string; canUndo: boolean; results: BulkRow[] };

const MAX_ADDRESSES = 1_000;

/** Sends one request for each thousand people. Together they are one operation. */
const updateAll = async (
  selected: Selected,
  filter: ReturnType<typeof conditionsOf>,
  change: BulkChange,
): Promise<BulkOutcome> => {
  const emails = selected === 'all' ? null : [...selected];
  const results: BulkRow[] = [];
  let operation: string | undefined;
  let cursor: string | undefined;
  for (let sent = 0; ; sent += MAX_ADDRESSES) {
    const people = emails ? { emails: emails.slice(sent, sent + MAX_ADDRESSES) } : { filter, cursor };
    const result = await steward.api.users.bulkUpdate.mutate(
      { ...people, ...change, operation },
      { context: { idempotencyKey: newIdempotencyKey() } },
    );
    results.push(...result.results);
    operation = result.operation;
    cursor = result.next_cursor ?? undefined;
    const isDone = emails ? sent + MAX_ADDRESSES >= emails.length : cursor === undefined;
    if (isDone) return { change, operation, canUndo: result.undo_until !== null, results };
  }
};

type Variables = { selected: Selected; filter: ReturnType<typeof conditionsOf>; change: BulkChange };

/** Refreshes everything that a change of people shows in. */
const useRefresh = () => {
  const queryClient = useQueryClient();
  return () =>
    Promise.all([
      queryClient.invalidateQueries(trpc.users.pathFilter()),
      queryClient.invalidateQueries(trpc.audit.pathFilter()),
    ]);
};

export const useBulkUpdate = () => {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: ({ selected, filter, change }: Variables) => updateAll(selected, filter, change),
    // After a failure too: the requests before it have changed people.
    onSettled: refresh,
  });
};

/** Undoes a change, in several requests if many people were changed. */
export const useUndo = () => {
  const refresh = useRefresh();
  return useMutation({
    mutationFn: async (id: string) => {
      let reverted = 0;
      let skipped = 0;
      for (;;) {
        const undo = await steward.api.operations.undo.mutate({ id });
        reverted += undo.reverted;
        skipped += undo.skipped.length;
        if (undo.is_finished) return { reverted, skipped };
      }
    },
    onSettled: refresh,
  });
};
