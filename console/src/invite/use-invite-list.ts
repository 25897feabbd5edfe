import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import type { Outcome } from './add-notice.tsx';
import type { SentInvitations } from './delivery.tsx';
import {
  addRows,
  hasErrors,
  type InviteRow,
  markDuplicates,
  markErrors,
  type NewRow,
  withErrorsFirst,
} from './invite-rows.ts';

export const MAX_ROWS = 1_000;

/** The list of people to invite to a client, which is checked and sent as a whole. */
export const useInviteList = (client: number, onSent: (sent: SentInvitations) => void) => {
  const queryClient = useQueryClient();
  // A repeat of the same list has the same key, so that a lost response does not invite anyone twice.
  const [{ rows, idempotencyKey }, setList] = useState(() => listOf([]));
  const change = (next: (rows: InviteRow[]) => InviteRow[]): void =>
    setList((list) => listOf(next(list.rows)));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  // Without errors of fields, such as after a lost response, the list and its key stay.
  const showErrors = (sent: readonly InviteRow[]) => (error: unknown) => {
    if (hasFieldErrors(error)) change((current) => withErrorsFirst(markErrors(current, sent, error)));
  };

  const send = useMutation(
    trpc.invitations.create.mutationOptions({
      trpc: { context: { idempotencyKey } },
      onSuccess: (invitations) => {
        for (const router of [trpc.invitations, trpc.mail, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notifications.show({ message: `${peopleOf(invitations.length)} invited.` });
        onSent(invitations);
      },
    }),
  );
  const check = useMutation(trpc.invitations.create.mutationOptions());
  const submit = (): void => {
    const checked = markDuplicates(rows);
    if (checked.some(hasErrors)) change(() => withErrorsFirst(checked));
    else send.mutate({ items: rows.map((row) => itemOf(row, client)) }, { onError: showErrors(rows) });
  };
  /** Rows with errors are sent too, so that all errors are found at once. */
  const checkAll = (unchecked: readonly InviteRow[]): void => {
    const checked = markDuplicates(unchecked);
    change(() => withErrorsFirst(checked));
    if (checked.length > MAX_ROWS) return;
    const onSuccess = (): void => {
      if (!checked.some(hasErrors)) notifications.show({ message: 'All of them can be invited.' });
    };
    check.mutate(
      { items: checked.map((row) => itemOf(row, client)), dry_run: true },
      { onSuccess, onError: showErrors(checked) },
    );
  };
  const add = (added: readonly NewRow[], ignored: readonly string[]): InviteRow[] => {
    const result = addRows(rows, added);
    setOutcome({ ...result, ignored });
    change(() => withErrorsFirst(result.rows));
    return result.rows;
  };

  return {
    rows,
    change,
    add,
    clear: (): void => {
      setOutcome(null);
      change(() => []);
    },
    outcome,
    closeOutcome: () => setOutcome(null),
    submit,
    checkAll,
    isSending: send.isPending,
    isChecking: check.isPending,
    error: send.error ?? check.error,
  };
};

export const hasFieldErrors = (error: unknown): boolean => Object.keys(fieldErrors(error)).length > 0;

const listOf = (rows: InviteRow[]) => ({ rows, idempotencyKey: newIdempotencyKey() });

const itemOf = ({ email, apps, isDemo }: InviteRow, client: number) => ({
  email: email.trim(),
  client,
  initial_apps: apps,
  is_demo_user: isDemo,
});

export const peopleOf = (count: number): string => (count === 1 ? '1 person' : `${count} people`);
