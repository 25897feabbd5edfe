import { Alert, Button, Group, List, Text } from '@mantine/core';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { type BulkOutcome, useUndo } from './use-bulk-update.ts';

const MAX_SHOWN = 20;

type Props = { outcome: BulkOutcome; onClose: () => void };

/** How many people a change has reached, who was refused and why, and the way back. */
export const BulkResults = ({ outcome: { operation, canUndo, results }, onClose }: Props) => {
  const undo = useUndo();
  const failed = results.filter(({ status }) => status === 'failed');
  const count = (status: string): string =>
    results.filter((row) => row.status === status).length.toLocaleString();
  return (
    <Alert
      mb="sm"
      role="status"
      color={failed.length > 0 ? 'orange' : 'green'}
      title={`${count('ok')} changed, ${count('unchanged')} unchanged, ${count('failed')} refused`}
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
      <ProblemAlert error={undo.error} />
      {undo.data && (
        <Text>
          Undone: {undo.data.reverted} changes.
          {undo.data.skipped > 0 &&
            ` ${undo.data.skipped} were left, because someone has changed them since.`}
        </Text>
      )}
      {canUndo && !undo.data && count('ok') !== '0' && (
        <Group mt="xs">
          <Button variant="default" loading={undo.isPending} onClick={() => undo.mutate(operation)}>
            Undo
          </Button>
        </Group>
      )}
    </Alert>
  );
};
