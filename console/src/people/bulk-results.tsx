import { Alert, Group, List, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { dateOf } from '../components/date-text.tsx';
import { Undo } from './undo.tsx';
import { useUndoElsewhere } from './undo-offer.ts';
import { type BulkChange, type BulkOutcome, type BulkRow, useUndo } from './use-bulk-update.ts';

const MAX_SHOWN = 20;

const DONE = {
  'grant-apps': 'Granted',
  'revoke-apps': 'Revoked',
  'add-to-groups': 'Added to groups',
  deactivate: 'Deactivated',
  reactivate: 'Reactivated',
  'send-password-link': 'Sent password links',
} satisfies Record<BulkChange['action'], string>;

const countOf = (results: readonly BulkRow[], status: BulkRow['status']): number =>
  results.filter((row) => row.status === status).length;

/** Empty without such rows. */
const countText = (results: readonly BulkRow[], status: BulkRow['status'], word: string): string[] => {
  const count = countOf(results, status);
  return count === 0 ? [] : [`${count.toLocaleString()} ${word}`];
};

type Props = { outcome: BulkOutcome; onClose: () => void };

/** How many people a change has reached, who was refused and why, and the way back. */
export const BulkResults = ({ outcome: { change, operation, undoUntil, results }, onClose }: Props) => {
  const undo = useUndo();
  const apps = useQuery(trpc.apps.list.queryOptions({})).data ?? [];
  const failed = results.filter(({ status }) => status === 'failed');
  const changed = countOf(results, 'ok');
  const counts = [
    `${changed.toLocaleString()} changed`,
    ...countText(results, 'unchanged', 'unchanged'),
    ...countText(results, 'failed', 'refused'),
  ];
  const labels = apps.filter(({ id }) => change.apps?.includes(id)).map(({ label }) => label);
  const until = change.expires_at ? `until ${dateOf(change.expires_at)}` : '';
  const title = `${[DONE[change.action], labels.join(', '), until].filter(Boolean).join(' ')}: ${counts.join(', ')}`;
  const canUndo = undoUntil !== null && changed > 0;
  useUndoElsewhere(title, operation, canUndo && !undo.data ? undoUntil : null);
  return (
    <Alert
      mb="sm"
      role="status"
      color={failed.length > 0 ? 'orange' : 'green'}
      title={title}
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
    >
      <List>
        {failed.slice(0, MAX_SHOWN).map(({ email, problem }) => (
          <List.Item key={email}>
            {email}: {problem?.detail}
          </List.Item>
        ))}
      </List>
      {failed.length > MAX_SHOWN && <Text>and {failed.length - MAX_SHOWN} others.</Text>}
      {canUndo && (
        <Group mt="xs">
          <Undo operation={operation} undo={undo} />
        </Group>
      )}
    </Alert>
  );
};
