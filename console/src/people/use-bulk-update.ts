import { useMutation } from '@tanstack/react-query';
import { type Inputs, type Outputs, steward } from '../api.ts';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import type { conditionsOf } from './people-filter.ts';
import type { Selected } from './use-selection.ts';

type Input = Extract<Inputs['users']['bulkUpdate'], object>;
export type BulkChange = Pick<
  Input,
  'action' | 'apps' | 'groups' | 'reason' | 'client' | 'attribute' | 'value'
> & {
  /** The end of new grants. */
  expires_at?: Date | null | undefined;
};
export type BulkRow = Outputs['users']['bulkUpdate']['results'][number];

/** The total outcome of all requests of a change. */
export type BulkOutcome = {
  change: BulkChange;
  operation: string;
  undoUntil: Date | null;
  results: BulkRow[];
};

const MAX_ADDRESSES = 1_000;

/** Sends one request for each thousand people. Together they are one operation. */
const updateAll = async (
  keyOf: (request: Input) => string,
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
    const request = { ...people, ...change, operation };
    const context = { idempotencyKey: keyOf(request) };
    const result = await steward.api.users.bulkUpdate.mutate(request, { context });
    results.push(...result.results);
    operation = result.operation;
    cursor = result.next_cursor ?? undefined;
    const isDone = emails ? sent + MAX_ADDRESSES >= emails.length : cursor === undefined;
    if (isDone) return { change, operation, undoUntil: result.undo_until, results };
  }
};

type Variables = { selected: Selected; filter: ReturnType<typeof conditionsOf>; change: BulkChange };

export const useBulkUpdate = () => {
  const refresh = useAccessRefresh();
  const { keyOf, forget } = useIdempotencyKeys();
  return useMutation({
    mutationFn: ({ selected, filter, change }: Variables) => updateAll(keyOf, selected, filter, change),
    onSuccess: forget,
    // Also after a failure: earlier requests have already changed people.
    onSettled: refresh,
  });
};

/** Undoes a change, with several requests if many people were changed. Each response reports the total so far. */
export const useUndo = () => {
  const refresh = useAccessRefresh();
  return useMutation({
    mutationFn: async (id: string) => {
      for (;;) {
        const { reverted, skipped, is_finished } = await steward.api.operations.undo.mutate({ id });
        if (is_finished) return { reverted, skipped: skipped.length };
      }
    },
    onSettled: refresh,
  });
};
