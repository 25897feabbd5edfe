import { Button, Group, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { endOf } from '../components/end-choice.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { AddNotice } from './add-notice.tsx';
import { AddPeople } from './add-people.tsx';
import type { SentInvitations } from './delivery.tsx';
import { InviteGrid } from './invite-grid.tsx';
import { changed, hasErrors, type InviteRow } from './invite-rows.ts';
import { ListStatus } from './list-status.tsx';
import { SharedAccessForm } from './shared-access-form.tsx';
import { MAX_ROWS, peopleOf, useInviteList } from './use-invite-list.ts';

type Props = { client: number; onSent: (sent: SentInvitations) => void };

/** The list of people to invite. All of them are invited, or none. */
export const InviteForm = ({ client, onSent }: Props) => {
  const apps = useSuspenseQuery(trpc.clients.apps.queryOptions({ id: client })).data;
  const [defaults, setDefaults] = useState<Pick<InviteRow, 'apps' | 'isDemo'>>({ apps: [], isDemo: false });
  const list = useInviteList(client, onSent);
  const { rows, change, outcome } = list;
  useUnsavedWork(rows.length > 0);
  const [fileProblem, setFileProblem] = useState<string | null>(null);
  const [isClearing, clearing] = useDisclosure();
  const top = useRef<HTMLDivElement>(null);
  /** The rows are below the form. */
  const check = (unchecked: readonly InviteRow[]): void => {
    list.checkAll(unchecked);
    top.current?.scrollIntoView({ block: 'start' });
  };
  const isFaulty = list.hasUnchecked || rows.some(hasErrors);
  const isBlocked = rows.length === 0 || rows.length > MAX_ROWS || endOf(list.access.end) === undefined;
  return (
    <>
      <AddPeople
        apps={apps}
        defaults={defaults}
        onDefaults={setDefaults}
        onAdd={(added) => list.add(added, [])}
        onFile={(file) => {
          setFileProblem(null);
          check(list.add(file.rows, file.ignored));
        }}
        problem={fileProblem}
        onProblem={setFileProblem}
        listed={rows.length}
        onApply={() => change((current) => current.map((row) => changed(row, defaults)))}
      />
      <SharedAccessForm client={client} access={list.access} onChange={list.changeAccess} />
      <Group ref={top} className="scroll-target" justify="space-between" mb="sm">
        <Title order={2} size="h3">
          {peopleOf(rows.length)}
        </Title>
        <Group>
          {rows.length > 0 && (
            <Button variant="subtle" onClick={clearing.open}>
              Remove all
            </Button>
          )}
          <Button
            variant="default"
            disabled={isBlocked}
            loading={list.isChecking}
            onClick={() => check(rows)}
          >
            Check only
          </Button>
          <Button disabled={isBlocked || isFaulty} loading={list.isSending} onClick={list.submit}>
            Send {rows.length === 1 ? '1 invitation' : `${rows.length} invitations`}
          </Button>
        </Group>
      </Group>
      <ConfirmModal
        isOpen={isClearing}
        title={`Remove ${peopleOf(rows.length)} from the list?`}
        action="Remove all"
        onConfirm={() => {
          setFileProblem(null);
          list.clear();
        }}
        onClose={clearing.close}
      >
        What you have corrected in the list is lost.
      </ConfirmModal>
      <ListStatus rows={rows} hasUnchecked={list.hasUnchecked} error={list.error} />
      {outcome && <AddNotice outcome={outcome} onClose={list.closeOutcome} />}
      {rows.length === 0 ? (
        <EmptyState title="The list is empty">Add addresses or a CSV file above.</EmptyState>
      ) : (
        <InviteGrid rows={rows} apps={apps} onChange={change} />
      )}
    </>
  );
};
