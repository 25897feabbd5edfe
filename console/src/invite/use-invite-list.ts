import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import { type End, endOf, NO_END } from '../components/end-choice.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { objectFault, parseObject } from '../components/json-object.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import type { CLIENT_ROLES } from '../session/roles.ts';
import type { Outcome } from './add-notice.tsx';
import {
  type Added,
  addRows,
  hasErrors,
  type InviteRow,
  markChecked,
  type NewRow,
  recheckTwice,
  restored,
  withErrorsFirst,
} from './invite-rows.ts';
import { parsePeople } from './parse-addresses.ts';
import type { ImportedCsv } from './parse-csv.ts';

export const MAX_ROWS = 1_000;
const PAUSE_MS = 600;

type RoleName = (typeof CLIENT_ROLES)[number]['name'];

/** What all invited people get. A row of the list may have its own apps and flag instead. */
export type SharedAccess = {
  /** Ids. */
  apps: string[];
  isDemo: boolean;
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

const NO_ACCESS: SharedAccess = { apps: [], isDemo: false, groups: [], end: NO_END, extra: '', role: '' };

export const appsOf = ({ apps }: Pick<InviteRow, 'apps'>, access: SharedAccess): string[] =>
  apps ?? access.apps;

/** @param at when the list was sent, in ISO 8601 */
export type OnSent = (at: string, kept: InviteRow[]) => Promise<void>;

type Options = {
  client: number;
  /** The apps that are chosen at first. */
  apps: string[];
  /** The initial rows. */
  kept: readonly InviteRow[];
  onSent: OnSent;
};

/** The people to invite to a client: typed addresses, and the rows of a list. They are sent as a whole. */
export const useInviteList = ({ client, apps, kept, onSent }: Options) => {
  const queryClient = useQueryClient();
  const [rows, setRows] = useState<InviteRow[]>(() => restored(kept));
  const [text, setText] = useState('');
  const [access, setAccess] = useState({ ...NO_ACCESS, apps });
  const all = useMemo(() => addRows(rows, typedRows(text)), [rows, text]);
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
      const keptRows = rows
        .filter(hasErrors)
        .map((row) => ({ ...row, apps: appsOf(row, access), isDemo: row.isDemo ?? access.isDemo }));
      await onSent(await timeOf(client, invitations[0]?.email), keptRows);
    },
  });
  const check = useMutation(trpc.invitations.create.mutationOptions());
  /** Rows with errors stay in the list. Typed addresses get into it if one of all is refused. */
  const submit = (people = all.rows): void => {
    const sent = people.filter((row) => !hasErrors(row));
    const typed = people.filter((row) => !rows.includes(row));
    const isSent = new Set(sent.map(({ key }) => key));
    send.mutate(
      { items: sent.map((row) => itemOf(row, client, access)) },
      {
        onSuccess: () => {
          setText('');
          change((current) => current.filter(({ key }) => !isSent.has(key)));
        },
        onError: (error) => {
          onError(error, () => submit(people));
          if (!hasFieldErrors(error)) return;
          setText('');
          setRows((current) => withErrorsFirst(markChecked([...current, ...typed], sent, error)));
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
  const put = (result: Added, ignored: readonly string[]): void => {
    setOutcome({ ...result, ignored });
    change(() => withErrorsFirst(result.rows));
    checkAll(result.rows);
  };

  return {
    rows,
    /** Of those who are typed. */
    text,
    setText,
    /** All who are sent: the rows, and those who are typed. */
    people: all.rows,
    /** Puts those who are typed into the list. */
    listTyped: (): void => {
      setText('');
      put(all, []);
    },
    access,
    changeAccess: (changes: Partial<SharedAccess>): void =>
      setAccess((current) => ({ ...current, ...changes })),
    change,
    /** Those who are typed get into the list, too. */
    addFile: ({ rows: added, ignored }: ImportedCsv): void => {
      setText('');
      put(addRows(all.rows, added), ignored);
    },
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
    submit: () => submit(),
    isSending: send.isPending,
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

const typedRows = (text: string): NewRow[] =>
  parsePeople(text).map((person) => ({ ...person, apps: null, isDemo: null, errors: {} }));

const itemOf = (row: InviteRow, client: number, access: SharedAccess) => ({
  ...whoOf(row),
  client,
  initial_apps: appsOf(row, access),
  groups: access.groups.map(Number),
  roles: access.role === '' ? [] : [access.role],
  apps_expire_at: endOf(access.end) ?? null,
  extra: access.extra.trim() === '' ? undefined : parseObject(access.extra),
  is_demo_user: row.isDemo ?? access.isDemo,
});

const whoOf = ({ email, firstName, lastName }: InviteRow) => ({
  email: email.trim(),
  first_name: firstName.trim() || undefined,
  last_name: lastName.trim() || undefined,
});

export const peopleOf = (count: number): string => (count === 1 ? '1 person' : `${count} people`);
