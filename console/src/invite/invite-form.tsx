import { Alert, Button, Group, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AddNotice, type Outcome } from './add-notice.tsx';
import { AddPeople } from './add-people.tsx';
import type { SentInvitations } from './delivery.tsx';
import { InviteGrid } from './invite-grid.tsx';
import {
  addRows,
  hasErrors,
  type InviteRow,
  markDuplicates,
  markErrors,
  type NewRow,
  withErrorsFirst,
} from './invite-rows.ts';

const MAX_ROWS = 1_000;

type Props = { client: number; onSent: (sent: SentInvitations) => void };

/** The list of people to invite. All of them are invited, or none. */
export const InviteForm = ({ client, onSent }: Props) => {
  const queryClient = useQueryClient();
  const apps = useSuspenseQuery(trpc.clients.apps.queryOptions({ id: client })).data;
  const [defaults, setDefaults] = useState<Pick<InviteRow, 'apps' | 'isDemo'>>({ apps: [], isDemo: false });
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

  const faulty = rows.filter(hasErrors).length;
  const isBlocked = rows.length === 0 || rows.length > MAX_ROWS;
  return (
    <>
      <AddPeople
        apps={apps}
        defaults={defaults}
        onDefaults={setDefaults}
        onAdd={(added) => add(added, [])}
        onFile={(file) => checkAll(add(file.rows, file.ignored))}
        onApply={
          rows.length > 0
            ? () => change((current) => current.map((row) => ({ ...row, ...defaults })))
            : undefined
        }
      />
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h3">
          {peopleOf(rows.length)}
        </Title>
        <Group>
          {rows.length > 0 && (
            <Button
              variant="subtle"
              onClick={() => {
                setOutcome(null);
                change(() => []);
              }}
            >
              Remove all
            </Button>
          )}
          <Button
            variant="default"
            disabled={isBlocked}
            loading={check.isPending}
            onClick={() => checkAll(rows)}
          >
            Check only
          </Button>
          <Button disabled={isBlocked || faulty > 0} loading={send.isPending} onClick={submit}>
            Send {rows.length === 1 ? '1 invitation' : `${rows.length} invitations`}
          </Button>
        </Group>
      </Group>
      <Faults faulty={faulty} surplus={rows.length - MAX_ROWS} error={send.error ?? check.error} />
      {outcome && <AddNotice outcome={outcome} onClose={() => setOutcome(null)} />}
      {rows.length === 0 ? (
        <EmptyState title="The list is empty">Add addresses or a CSV file above.</EmptyState>
      ) : (
        <InviteGrid rows={rows} apps={apps} onChange={change} />
      )}
    </>
  );
};

const hasFieldErrors = (error: unknown): boolean => Object.keys(fieldErrors(error)).length > 0;

const listOf = (rows: InviteRow[]) => ({ rows, idempotencyKey: newIdempotencyKey() });

const itemOf = ({ email, apps, isDemo }: InviteRow, client: number) => ({
  email: email.trim(),
  client,
  initial_apps: apps,
  is_demo_user: isDemo,
});

const peopleOf = (count: number): string => (count === 1 ? '1 person' : `${count} people`);

type FaultsProps = { faulty: number; surplus: number; error: unknown };

const Faults = ({ faulty, surplus, error }: FaultsProps) => {
  if (surplus > 0)
    return (
      <Alert color="red" variant="light" role="alert" mb="md">
        At most {MAX_ROWS} people can be invited at once. Remove {surplus}.
      </Alert>
    );
  if (faulty > 0) return <FaultyRows count={faulty} />;
  // Errors of fields are shown in the rows, and go with them.
  return <ProblemAlert error={hasFieldErrors(error) ? null : error} />;
};

/** The rows are below the form, so the page scrolls to them when they get errors. */
const FaultyRows = ({ count }: { count: number }) => {
  const alert = useRef<HTMLDivElement>(null);
  useEffect(() => {
    alert.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <Alert ref={alert} className="scroll-target" color="red" variant="light" role="alert" mb="md">
      {count === 1 ? '1 row has' : `${count} rows have`} errors; see the top of the list. No one is invited
      until they are fixed.
    </Alert>
  );
};
