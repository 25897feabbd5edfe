import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { trpc } from '../api.ts';
import { type End, endOf, NO_END } from '../components/end-choice.tsx';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { useSession } from '../layout/use-session.ts';
import type { Outcome } from './add-notice.tsx';
import type { SentInvitations } from './delivery.tsx';
import {
  addRows,
  type InviteRow,
  markChecked,
  type NewRow,
  recheckTwice,
  withErrorsFirst,
} from './invite-rows.ts';

export const MAX_ROWS = 1_000;
const PAUSE_MS = 600;

/** What all invited people get beside their apps. */
export type SharedAccess = { groups: string[]; end: End };

const NO_ACCESS: SharedAccess = { groups: [], end: NO_END };

/** The list of people to invite to a client, which is checked and sent as a whole. */
export const useInviteList = (client: number, onSent: (sent: SentInvitations) => void) => {
  const queryClient = useQueryClient();
  const sendsMail = useSession().sends_mail;
  // A repeat of the same list has the same key, so that a lost response does not invite anyone twice.
  const [{ rows, access, idempotencyKey }, setList] = useState(() => listOf([], NO_ACCESS));
  const change = (next: (rows: InviteRow[]) => InviteRow[]): void =>
    setList((list) => listOf(recheckTwice(next(list.rows)), list.access));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const send = useMutation(
    trpc.invitations.create.mutationOptions({
      trpc: { context: { idempotencyKey } },
      onSuccess: (invitations) => {
        for (const router of [trpc.invitations, trpc.mail, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notifications.show({ message: sentMessage(invitations.length, sendsMail) });
        onSent(invitations);
      },
    }),
  );
  const check = useMutation(trpc.invitations.create.mutationOptions());
  /** Marks rows. In the same order they are the same list, whose repeat keeps its key. */
  const mark = (next: (rows: InviteRow[]) => InviteRow[]): void =>
    setList((list) => {
      const marked = next(list.rows);
      const isSameList = marked.every(({ key }, index) => key === list.rows[index]?.key);
      return isSameList ? { ...list, rows: marked } : listOf(marked, list.access);
    });
  const submit = (): void =>
    send.mutate(
      { items: rows.map((row) => itemOf(row, client, access)) },
      { onError: (error) => mark((current) => withErrorsFirst(markChecked(current, rows, error))) },
    );
  /** Rows with errors are sent too, so that all errors are found at once. */
  const checkAll = (sent: readonly InviteRow[], arrange = withErrorsFirst): void => {
    if (sent.length > MAX_ROWS) return;
    check.mutate(
      { items: sent.map((row) => itemOf(row, client, access)), dry_run: true },
      { onSettled: (_data, error) => mark((current) => arrange(markChecked(current, sent, error))) },
    );
  };
  const hasUnchecked = rows.some(({ isChecked }) => !isChecked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a pause after a change of the rows
  useEffect(() => {
    if (!hasUnchecked || check.isPending || send.isPending || rows.length > MAX_ROWS) return;
    // The rows stay in their places while someone types.
    const timer = setTimeout(() => checkAll(rows, (current) => [...current]), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [rows, hasUnchecked, check.isPending, send.isPending]);
  const add = (added: readonly NewRow[], ignored: readonly string[]): InviteRow[] => {
    const result = addRows(rows, added);
    setOutcome({ ...result, ignored });
    change(() => withErrorsFirst(result.rows));
    return result.rows;
  };

  return {
    rows,
    access,
    changeAccess: (changes: Partial<SharedAccess>): void =>
      setList((list) => listOf(list.rows, { ...list.access, ...changes })),
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
    hasUnchecked,
    error: send.error ?? check.error,
  };
};

export const hasFieldErrors = (error: unknown): boolean => Object.keys(fieldErrors(error)).length > 0;

const listOf = (rows: InviteRow[], access: SharedAccess) => ({
  rows,
  access,
  idempotencyKey: newIdempotencyKey(),
});

const itemOf = ({ email, apps, isDemo }: InviteRow, client: number, { groups, end }: SharedAccess) => ({
  email: email.trim(),
  client,
  initial_apps: apps,
  groups: groups.map(Number),
  apps_expire_at: endOf(end) ?? null,
  is_demo_user: isDemo,
});

const sentMessage = (count: number, sendsMail: boolean): string =>
  sendsMail ? `${peopleOf(count)} invited.` : `Invitations created: ${count}. Their mails are not sent.`;

export const peopleOf = (count: number): string => (count === 1 ? '1 person' : `${count} people`);
