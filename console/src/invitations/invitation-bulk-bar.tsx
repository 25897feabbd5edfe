import { Alert, Button, Group, List, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { InvitationSelection } from './use-invitation-selection.ts';

type Action = Inputs['invitations']['bulkUpdate']['action'];
type Variables = { action: Action; selected: ReadonlyMap<number, string> };

const MAX_SHOWN = 20;
const LABELS = { resend: 'Resend', revoke: 'Revoke' };
const DONE = { resend: 'Resent', revoke: 'Revoked' };
const CONSEQUENCES = {
  resend: 'Each of them gets another mail, and their time to accept starts again.',
  revoke: 'The links that were mailed stop working. You can invite these addresses again.',
};

const useBulkUpdate = () => {
  const queryClient = useQueryClient();
  // Until a change has succeeded, a repeat has its key: after a lost response it sends no second mails.
  const keys = useRef(new Map<string, string>()).current;
  return useMutation({
    mutationFn: async ({ action, selected }: Variables) => {
      const request = { ids: [...selected.keys()], action };
      const text = JSON.stringify(request);
      const idempotencyKey = keys.get(text) ?? newIdempotencyKey();
      keys.set(text, idempotencyKey);
      return steward.api.invitations.bulkUpdate.mutate(request, { context: { idempotencyKey } });
    },
    onSuccess: () => keys.clear(),
    onSettled: () => {
      for (const router of [trpc.invitations, trpc.mail, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
    },
  });
};

/** What can be done with the selected invitations, and what came of it. */
export const InvitationBulkBar = ({ selection }: { selection: InvitationSelection }) => {
  const [action, setAction] = useState<Action | null>(null);
  const update = useBulkUpdate();
  const { selected, clear } = selection;
  const count = selected.size === 1 ? '1 invitation' : `${selected.size.toLocaleString()} invitations`;
  return (
    <>
      <ProblemAlert error={update.error} />
      {selected.size > 0 && (
        <Group className="card" py="xs" mb="sm" role="region" aria-label="Selected invitations">
          <Text fw={600}>{count} selected</Text>
          <Button loading={update.isPending} onClick={() => setAction('resend')}>
            Resend…
          </Button>
          <Button variant="default" disabled={update.isPending} onClick={() => setAction('revoke')}>
            Revoke…
          </Button>
          <Button variant="default" onClick={clear}>
            Clear
          </Button>
        </Group>
      )}
      <ConfirmModal
        isOpen={action !== null}
        title={`${action ? LABELS[action] : ''} ${count}?`}
        action={action ? LABELS[action] : ''}
        onConfirm={() => action && update.mutate({ action, selected }, { onSuccess: clear })}
        onClose={() => setAction(null)}
      >
        {action && CONSEQUENCES[action]}
      </ConfirmModal>
      {update.data && (
        <BulkResults {...update.variables} results={update.data.results} onClose={update.reset} />
      )}
    </>
  );
};

type Row = { id: number; problem: { detail: string } | null };
type ResultsProps = Variables & { results: readonly Row[]; onClose: () => void };

const BulkResults = ({ action, selected, results, onClose }: ResultsProps) => {
  const failed = results.filter(({ problem }) => problem !== null);
  const refused = failed.length > 0 ? `, ${failed.length.toLocaleString()} refused` : '';
  return (
    <Alert
      mb="sm"
      role="status"
      color={failed.length > 0 ? 'orange' : 'green'}
      title={`${DONE[action]}: ${(results.length - failed.length).toLocaleString()}${refused}`}
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
    >
      <List>
        {failed.slice(0, MAX_SHOWN).map(({ id, problem }) => (
          <List.Item key={id}>
            {selected.get(id)}: {problem?.detail}
          </List.Item>
        ))}
      </List>
      {failed.length > MAX_SHOWN && <Text>and {failed.length - MAX_SHOWN} others.</Text>}
    </Alert>
  );
};
