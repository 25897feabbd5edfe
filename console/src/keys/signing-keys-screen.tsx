import { Button, Group, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';

const DAY_MS = 86_400_000;
const COLORS = {
  pending: 'yellow',
  signing: 'green',
  retiring: 'gray',
  retired: 'gray',
  unreadable: 'red',
} as const;

const ageOf = (created: Date): string => {
  const days = Math.floor((Date.now() - created.getTime()) / DAY_MS);
  return days === 1 ? '1 day' : `${days} days`;
};

/** The keys that sign tickets, for superusers. */
export const SigningKeysScreen = () => {
  const queryClient = useQueryClient();
  const { keys } = useSuspenseQuery(trpc.signingKeys.list.queryOptions({})).data;
  const [isAsking, asking] = useDisclosure();
  const rotate = useMutation(
    trpc.signingKeys.rotate.mutationOptions({
      onSuccess: () => {
        notify('A new key signs as soon as every app can know it.');
        void queryClient.invalidateQueries(trpc.signingKeys.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
      },
    }),
  );
  return (
    <>
      <ScreenHeader
        title="Signing keys"
        lead="They sign the tickets with which apps know who opens them. Steward replaces them by age."
        procedures={['signingKeys.list']}
        actions={
          <Button loading={rotate.isPending} onClick={asking.open}>
            Rotate
          </Button>
        }
      />
      <ProblemAlert error={rotate.error} />
      <div className="card">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Key</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th>Age</Table.Th>
              <Table.Th>Signs from</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {keys.map(({ kid, state, created_at, signs_from }) => (
              <Table.Tr key={kid}>
                <Table.Td style={{ wordBreak: 'break-all' }}>{kid}</Table.Td>
                <Table.Td>
                  <StatusText label={state} color={COLORS[state]} />
                </Table.Td>
                <Table.Td>{ageOf(created_at)}</Table.Td>
                <Table.Td>
                  <DateText date={signs_from} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      <ConfirmModal
        isOpen={isAsking}
        title="Rotate the signing key?"
        action="Rotate"
        onConfirm={() => rotate.mutate({})}
        onClose={asking.close}
      >
        <Group>
          <Text>
            A new key is published now and signs a few minutes later. Tickets of the old key stay valid.
          </Text>
        </Group>
      </ConfirmModal>
    </>
  );
};
