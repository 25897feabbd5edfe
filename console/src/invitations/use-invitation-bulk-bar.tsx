import { Alert, List, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SelectionBar } from '../components/selection-bar.tsx';
import { useCopyLinks } from './copy-links.tsx';
import type { InvitationSelection } from './use-invitation-selection.ts';

type Action = Inputs['invitations']['bulkUpdate']['action'];
type Variables = { action: Action; selected: ReadonlyMap<number, string> };

const MAX_SHOWN = 20;
const LABELS = { resend: 'Resend', revoke: 'Revoke' };
const DONE = { resend: 'Resent', revoke: 'Revoked' };
const CONSEQUENCES = {
  resend: 'Each of them gets another mail, and the time to accept starts again.',
  revoke: 'The links that were mailed stop working. You can invite these addresses again.',
};

const busyText = (action: Action | 'copy' | null, count: string): string | null =>
  action && `${action === 'copy' ? 'Copy the links' : LABELS[action]}: ${count}…`;

const useBulkUpdate = () => {
  const queryClient = useQueryClient();
  const keys = useIdempotencyKeys();
  return useMutation({
    mutationFn: async ({ action, selected }: Variables) => {
      const request = { ids: [...selected.keys()], action };
      const context = { idempotencyKey: keys.keyOf(request) };
      return steward.api.invitations.bulkUpdate.mutate(request, { context });
    },
    onSuccess: keys.forget,
    onSettled: () => {
      for (const router of [trpc.invitations, trpc.mail, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
    },
  });
};

/** The bar with the actions for the selected invitations, and the elements above the list: the outcome of the last change. */
export const useInvitationBulkBar = (selection: InvitationSelection) => {
  const [action, setAction] = useState<Action | null>(null);
  const update = useBulkUpdate();
  const { copy, isPending: isCopying, panel } = useCopyLinks();
  const { selected, clear } = selection;
  const count = selected.size === 1 ? '1 invitation' : `${selected.size.toLocaleString()} invitations`;
  const bar = (
    <SelectionBar
      label="Selected invitations"
      text={selected.size === 0 ? null : `${selected.size.toLocaleString()} selected`}
      actions={[
        { label: 'Resend…', onClick: () => setAction('resend') },
        { label: 'Revoke…', onClick: () => setAction('revoke') },
        ...(copy
          ? [
              {
                label: selected.size === 1 ? 'Copy the link' : 'Copy all links',
                onClick: () => copy([...selected.keys()]),
              },
            ]
          : []),
      ]}
      busy={busyText(update.isPending ? update.variables.action : isCopying ? 'copy' : null, count)}
      onClear={clear}
    />
  );
  const results = (
    <>
      {panel}
      <ProblemAlert error={update.error} />
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
  return { bar, results };
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
      {failed.length > 0 && (
        <>
          <List>
            {failed.slice(0, MAX_SHOWN).map(({ id, problem }) => (
              <List.Item key={id}>
                {selected.get(id)}: {problem?.detail}
              </List.Item>
            ))}
          </List>
          {failed.length > MAX_SHOWN && <Text>and {failed.length - MAX_SHOWN} others.</Text>}
        </>
      )}
    </Alert>
  );
};
