import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import type { Column } from '../components/column.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { VirtualTable } from '../components/virtual-table.tsx';

type Key = Outputs['signingKeys']['list']['keys'][number];

const DAY_MS = 86_400_000;

const STATES = {
  pending: { label: 'Signs soon', color: 'yellow' },
  signing: { label: 'Signs', color: 'green' },
  retiring: { label: 'Only checks', color: 'gray' },
  retired: { label: 'Retired', color: 'gray' },
  unreadable: { label: 'Unreadable', color: 'red' },
} as const;

const PURPOSES = {
  ticket: 'Tickets',
  'openid-es256': 'OpenID, ES256',
  'openid-rs256': 'OpenID, RS256',
} as const satisfies Record<Key['purpose'], string>;

const ageOf = (created: Date): string => {
  const days = Math.floor((Date.now() - created.getTime()) / DAY_MS);
  return days === 1 ? '1 day' : `${days} days`;
};

const COLUMNS: Column<Key>[] = [
  { heading: 'Key', width: 'minmax(12rem, 3fr)', cell: ({ kid }) => <span title={kid}>{kid}</span> },
  { heading: 'For', width: '9rem', onPhone: 'half', cell: ({ purpose }) => PURPOSES[purpose] },
  {
    heading: 'State',
    width: '8rem',
    onPhone: 'corner',
    cell: ({ state }) => <StatusText {...STATES[state]} />,
  },
  { heading: 'Age', width: '6rem', onPhone: 'half', cell: ({ created_at }) => ageOf(created_at) },
  { heading: 'Signs from', width: '10rem', cell: ({ signs_from }) => <DateText date={signs_from} /> },
];

/** The keys that sign tickets and tokens of OpenID Connect, for superusers. */
export const SigningKeysScreen = () => {
  const queryClient = useQueryClient();
  const { keys } = useSuspenseQuery(trpc.signingKeys.list.queryOptions({})).data;
  const [isAsking, asking] = useDisclosure();
  const rotate = useMutation(
    trpc.signingKeys.rotate.mutationOptions({
      onSuccess: () => {
        notify('The new keys sign as soon as all apps can know them.');
        void queryClient.invalidateQueries(trpc.signingKeys.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
      },
    }),
  );
  return (
    <>
      <ScreenHeader
        title="Signing keys"
        lead="Apps use these keys to check who opens them. Steward replaces old keys automatically."
        actions={
          <Button loading={rotate.isPending} onClick={asking.open}>
            Rotate
          </Button>
        }
      />
      <ProblemAlert error={rotate.error} />
      {keys.length === 0 ? (
        <EmptyState title="No signing keys yet">
          The first one is created when someone opens an app. Rotate creates it now.
        </EmptyState>
      ) : (
        <VirtualTable
          label="Signing keys"
          columns={COLUMNS}
          rows={keys}
          keyOf={({ kid }) => kid}
          hasMore={false}
          onMore={() => {}}
        />
      )}
      <ConfirmModal
        isOpen={isAsking}
        title="Rotate the signing keys?"
        action="Rotate"
        onConfirm={() => rotate.mutate({})}
        onClose={asking.close}
      >
        New keys are published now and sign a few minutes later. What the old keys have signed stays valid.
      </ConfirmModal>
    </>
  );
};
