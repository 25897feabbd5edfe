import { List, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAccessRefresh } from '../access/use-access-refresh.ts';
import { type Outputs, steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { offerUndo } from '../people/undo-offer.ts';
import { serverNow } from '../server-clock.ts';

/** How long the service accepts an undo. */
const UNDO_MS = 600_000;

type Preview = Outputs['users']['previewOffboarding'];
type Props = { email: string; name: string; isOpen: boolean; onClose: () => void };

/** Ends everything that a person has, after showing it. */
export const OffboardDialog = ({ email, name, isOpen, onClose }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Offboard ${name}?`}>
    {isOpen && <Offboarding email={email} name={name} onClose={onClose} />}
  </Dialog>
);

const Offboarding = ({ email, name, onClose }: Omit<Props, 'isOpen'>) => {
  const preview = useQuery(
    trpc.users.previewOffboarding.queryOptions({ email }, { gcTime: 0, staleTime: Infinity }),
  );
  const offboard = useOffboarding({ email, name, onDone: onClose });
  return (
    <Stack>
      {preview.isPending && <Skeleton height={160} />}
      {preview.data && <Ended preview={preview.data} />}
      <ProblemAlert error={preview.error ?? offboard.error} />
      <DialogButtons
        action="Offboard"
        isDanger
        isPending={offboard.isPending}
        isDisabled={!preview.data}
        onAction={() => offboard.mutate()}
        onClose={onClose}
      />
    </Stack>
  );
};

/** A bulk change of one person, because that can be undone. A repeat after a lost response is the same operation. */
const useOffboarding = ({
  email,
  name,
  onDone,
}: Omit<Props, 'isOpen' | 'onClose'> & { onDone: () => void }) => {
  const refresh = useAccessRefresh();
  const [idempotencyKey] = useState(newIdempotencyKey);
  return useMutation({
    mutationFn: async () => {
      const input = { emails: [email], action: 'offboard' as const };
      const result = await steward.api.users.bulkUpdate.mutate(input, { context: { idempotencyKey } });
      const problem = result.results[0]?.problem;
      if (problem) throw new Error(problem.detail);
      return result;
    },
    onSuccess: ({ operation, results }) => {
      onDone();
      if (results[0]?.status !== 'ok') return;
      // By the clock of the browser, which may differ from the service's.
      offerUndo({ title: `${name} was offboarded`, operation, until: new Date(serverNow() + UNDO_MS) });
    },
    onSettled: refresh,
  });
};

const LIST = new Intl.ListFormat('en-GB');

const counted = (count: number, one: string): string =>
  `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`;
const named = (names: readonly string[], one: string): string =>
  `${counted(names.length, one)}: ${LIST.format(names)}`;

/** One line per kind of access that the person has. */
const linesOf = (preview: Preview): string[] => {
  const { apps, groups, roles } = preview;
  const counts: [count: number, text: string][] = [
    [preview.sessions, counted(preview.sessions, 'session')],
    [preview.tokens, counted(preview.tokens, 'API token')],
    [
      apps.length,
      named(
        apps.map(({ label }) => label),
        'granted app',
      ),
    ],
    [groups.length, named(groups, 'group')],
    [roles.length, named(roles, 'role')],
    [preview.access_views, counted(preview.access_views, 'share link')],
    [preview.invitations, counted(preview.invitations, 'pending invitation')],
    [preview.mails, counted(preview.mails, 'unsent mail')],
    [preview.requests, counted(preview.requests, 'pending request')],
  ];
  return counts.flatMap(([count, text]) => (count > 0 ? text : []));
};

const Ended = ({ preview }: { preview: Preview }) => {
  const lines = linesOf(preview);
  const clients = LIST.format(preview.clients.map(({ name }) => name));
  return (
    <>
      <Text>
        {preview.deactivates_account
          ? `${preview.is_active ? 'The account is deactivated' : 'The account stays inactive'}, and they are logged out everywhere.`
          : `They are suspended in ${clients}. The account, its logins and other clients stay as they are.`}
      </Text>
      {lines.length === 0 ? (
        <Text>They have nothing else.</Text>
      ) : (
        <div>
          <Text>This ends at once:</Text>
          <List size="sm">
            {lines.map((line) => (
              <List.Item key={line}>{line}</List.Item>
            ))}
          </List>
        </div>
      )}
      <Text size="sm" c="dimmed">
        You can undo this for ten minutes. Logins, tokens, invitations and requests do not come back.
      </Text>
    </>
  );
};
