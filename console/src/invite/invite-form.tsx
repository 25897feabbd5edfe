import { Alert, Button, Group, Title } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { AddNotice } from './add-notice.tsx';
import { AddPeople } from './add-people.tsx';
import type { SentInvitations } from './delivery.tsx';
import { InviteGrid } from './invite-grid.tsx';
import { hasErrors, type InviteRow } from './invite-rows.ts';
import { hasFieldErrors, MAX_ROWS, peopleOf, useInviteList } from './use-invite-list.ts';

type Props = { client: number; onSent: (sent: SentInvitations) => void };

/** The list of people to invite. All of them are invited, or none. */
export const InviteForm = ({ client, onSent }: Props) => {
  const apps = useSuspenseQuery(trpc.clients.apps.queryOptions({ id: client })).data;
  const [defaults, setDefaults] = useState<Pick<InviteRow, 'apps' | 'isDemo'>>({ apps: [], isDemo: false });
  const list = useInviteList(client, onSent);
  const { rows, change, outcome } = list;
  useUnsavedWork(rows.length > 0);
  const faulty = rows.filter(hasErrors).length;
  const isBlocked = rows.length === 0 || rows.length > MAX_ROWS;
  return (
    <>
      <AddPeople
        apps={apps}
        defaults={defaults}
        onDefaults={setDefaults}
        onAdd={(added) => list.add(added, [])}
        onFile={(file) => list.checkAll(list.add(file.rows, file.ignored))}
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
            <Button variant="subtle" onClick={list.clear}>
              Remove all
            </Button>
          )}
          <Button
            variant="default"
            disabled={isBlocked}
            loading={list.isChecking}
            onClick={() => list.checkAll(rows)}
          >
            Check only
          </Button>
          <Button disabled={isBlocked || faulty > 0} loading={list.isSending} onClick={list.submit}>
            Send {rows.length === 1 ? '1 invitation' : `${rows.length} invitations`}
          </Button>
        </Group>
      </Group>
      <Faults faulty={faulty} surplus={rows.length - MAX_ROWS} error={list.error} />
      {outcome && <AddNotice outcome={outcome} onClose={list.closeOutcome} />}
      {rows.length === 0 ? (
        <EmptyState title="The list is empty">Add addresses or a CSV file above.</EmptyState>
      ) : (
        <InviteGrid rows={rows} apps={apps} onChange={change} />
      )}
    </>
  );
};

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
