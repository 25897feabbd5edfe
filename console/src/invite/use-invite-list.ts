import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import { type End, endOf, NO_END } from '../components/end-choice.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { objectFault, parseObject } from '../components/json-object.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import type { CLIENT_ROLES } from '../session/roles.ts';
import type { Outcome } from './add-notice.tsx';
import {
  addRows,
  hasErrors,
  type InviteRow,
  markChecked,
  type NewRow,
  recheckTwice,
  restored,
  withErrorsFirst,
} from './invite-rows.ts';

export const MAX_ROWS = 1_000;
const PAUSE_MS = 600;

type RoleName = (typeof CLIENT_ROLES)[number]['name'];

/** The access that all invited people get, in addition to their apps. */
export type SharedAccess = {
  groups: string[];
  end: End;
  /** Data permissions: the text of a JSON object. */
  extra: string;
  /** The name of the role that they get; empty for none. */
  role: RoleName | '';
};

/** Whether the access can be sent. */
export const isComplete = ({ end, extra }: SharedAccess): boolean =>
  endOf(end) !== undefined && objectFault(extra) === null;

const NO_ACCESS: SharedAccess = { groups: [], end: NO_END, extra: '', role: '' };

/** @param at when the list was sent, in ISO 8601 */
export type OnSent = (at: string, kept: InviteRow[]) => Promise<void>;

/**
 * The list of people to invite to a client, which is checked and sent as a whole.
 * @param kept the initial rows
 */
export const useInviteList = (client: number, kept: readonly InviteRow[], onSent: OnSent) => {
  const queryClient = useQueryClient();
  const [rows, setRows] = useState<InviteRow[]>(() => restored(kept));
  const [access, setAccess] = useState(NO_ACCESS);
  const change = (next: (rows: InviteRow[]) => InviteRow[]): void =>
    setRows((current) => recheckTwice(next(current)));
  // A repeat of the same list after a lost response invites no one twice.
  const keys = useIdempotencyKeys();
  const { onError, prompt } = usePasswordConfirmation();
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const send = useMutation({
    mutationFn: (input: Inputs['invitations']['create']) =>
      steward.api.invitations.create.mutate(input, { context: { idempotencyKey: keys.keyOf(input) } }),
    onSuccess: async (invitations) => {
      keys.forget();
      for (const router of [trpc.invitations, trpc.mail, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
      setOutcome(null);
      await onSent(await timeOf(client, invitations[0]?.email), rows.filter(hasErrors));
    },
  });
  const check = useMutation(trpc.invitations.create.mutationOptions());
  /** Rows with errors stay in the list. */
  const submit = (): void => {
    const sent = rows.filter((row) => !hasErrors(row));
    const isSent = new Set(sent.map(({ key }) => key));
    send.mutate(
      { items: sent.map((row) => itemOf(row, client, access)) },
      {
        onSuccess: () => change((current) => current.filter(({ key }) => !isSent.has(key))),
        onError: (error) => {
          onError(error, submit);
          setRows((current) => withErrorsFirst(markChecked(current, sent, withoutConfirmation(error))));
        },
      },
    );
  };
  /** Rows with errors are sent too, so that all errors are found at once. */
  const checkAll = (sent: readonly InviteRow[], arrange = withErrorsFirst): void => {
    if (sent.length > MAX_ROWS || !isComplete(access)) return;
    check.mutate(
      { items: sent.map((row) => itemOf(row, client, access)), dry_run: true },
      { onSettled: (_data, error) => setRows((current) => arrange(markChecked(current, sent, error))) },
    );
  };
  const hasUnchecked = rows.some(({ isChecked }) => !isChecked);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a pause after a change of the rows
  useEffect(() => {
    if (!hasUnchecked || check.isPending || send.isPending || rows.length > MAX_ROWS) return;
    // The rows do not move while someone types.
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
      setAccess((current) => ({ ...current, ...changes })),
    change,
    add,
    clear: (): void => {
      setOutcome(null);
      change(() => []);
    },
    outcome,
    /** Restores the rows that the last file lacked. */
    keepRemoved: (): void => {
      if (outcome) change((current) => [...current, ...outcome.removed]);
      setOutcome(null);
    },
    closeOutcome: () => setOutcome(null),
    submit,
    checkAll,
    isSending: send.isPending,
    isChecking: check.isPending,
    hasUnchecked,
    error: withoutConfirmation(send.error) ?? check.error,
    prompt,
  };
};

/** When a list was sent, by the time of one of its mails; all of them have the same time. Renewed invitations have older times. */
const timeOf = async (client: number, recipient: string | undefined): Promise<string> => {
  const [mail] = await steward.api.mail.list.query({ client, recipient, limit: 1 });
  return (mail?.created_at ?? new Date()).toISOString();
};

export const hasFieldErrors = (error: unknown): boolean => Object.keys(fieldErrors(error)).length > 0;

const itemOf = (
  { email, firstName, lastName, apps, isDemo }: InviteRow,
  client: number,
  { groups, end, extra, role }: SharedAccess,
) => ({
  email: email.trim(),
  first_name: firstName.trim() || undefined,
  last_name: lastName.trim() || undefined,
  client,
  initial_apps: apps,
  groups: groups.map(Number),
  roles: role === '' ? [] : [role],
  apps_expire_at: endOf(end) ?? null,
  extra: extra.trim() === '' ? undefined : parseObject(extra),
  is_demo_user: isDemo,
});

export const peopleOf = (count: number): string => (count === 1 ? '1 person' : `${count} people`);
