import { Button, List, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type Outputs, steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { offerUndo } from '../people/undo-offer.ts';
import { serverNow } from '../server-clock.ts';

/** How long the service accepts an undo. */
const UNDO_MS = 600_000;

/** Whom, and where: without a client, the account, or of a shared account, all clients of the user. */
type Subject = { email: string; name: string; client?: { id: number; name: string } | undefined };

type Action = 'deactivate' | 'reactivate' | 'offboard';

const DONE: Record<Action, string> = {
  deactivate: 'was suspended',
  reactivate: 'was reactivated',
  offboard: 'was offboarded',
};

/** A bulk change of one person, because that can be undone. A repeat after a lost response is the same operation. */
const useLockOut = ({ email, name, client }: Subject, action: Action, onDone?: () => void) => {
  const refresh = useAccessRefresh();
  const { keyOf, forget } = useIdempotencyKeys();
  return useMutation({
    mutationFn: async () => {
      const input = { emails: [email], action, client: client?.id };
      const result = await steward.api.users.bulkUpdate.mutate(input, {
        context: { idempotencyKey: keyOf(input) },
      });
      const problem = result.results[0]?.problem;
      forget();
      if (problem) throw new Error(problem.detail);
      return result;
    },
    onSuccess: async ({ operation, results }) => {
      // First, so that the message agrees with what the screen shows.
      await refresh();
      onDone?.();
      const where = client ? ` ${action === 'offboard' ? 'from' : 'in'} ${client.name}` : '';
      const title = `${name} ${DONE[action]}${where}`;
      if (results[0]?.status === 'ok')
        // By the clock of the browser, which may differ from the service's.
        offerUndo({ title, operation, until: new Date(serverNow() + UNDO_MS) });
      else notify('There was nothing left to change.');
    },
    onError: refresh,
  });
};

type ReactivateProps = Subject & { size?: 'xs' | 'sm' };

/** Gives back in one click what a suspension has kept. */
export const ReactivateButton = ({ size = 'sm', ...subject }: ReactivateProps) => {
  const { mutate, isPending, error } = useLockOut(subject, 'reactivate');
  return (
    <>
      <Button
        variant="default"
        size={size}
        loading={isPending}
        {...(subject.client && { 'aria-label': `Reactivate in ${subject.client.name}` })}
        onClick={() => mutate()}
      >
        Reactivate
      </Button>
      <ProblemAlert error={error} />
    </>
  );
};

type DialogProps = Subject & { isOpen: boolean; onClose: () => void };

type SuspendProps = DialogProps & {
  /** The names of the clients in which the person is suspended; null: the account is. */
  clients: string | null;
};

/** Suspends a person, who keeps all that they have, after a question that shows what it means. */
export const SuspendDialog = ({ isOpen, clients, onClose, ...subject }: SuspendProps) => {
  const suspend = useLockOut(subject, 'deactivate', onClose);
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Suspend ${subject.name}${clients === null ? '' : ` in ${clients}`}?`}
    >
      <Stack>
        <Text>
          {clients === null
            ? 'They are logged out at once, and cannot log in.'
            : `They cannot open the apps of ${clients}, and open apps close at once. They can still log in, and other clients are not affected.`}
        </Text>
        <Text>
          They keep their apps, groups, roles and data. “Reactivate” restores everything.
          {clients === null && ' Logins and API tokens end for good.'}
        </Text>
        <ProblemAlert error={suspend.error} />
        <DialogButtons
          action="Suspend"
          isPending={suspend.isPending}
          onAction={() => suspend.mutate()}
          onClose={onClose}
        />
      </Stack>
    </Dialog>
  );
};

/** Ends everything that a person has, everywhere or in a client, after showing it. */
export const OffboardDialog = ({ isOpen, onClose, ...subject }: DialogProps) => (
  <Dialog
    isOpen={isOpen}
    onClose={onClose}
    title={`Offboard ${subject.name}${subject.client ? ` from ${subject.client.name}` : ''}?`}
  >
    {isOpen && <Offboarding {...subject} onClose={onClose} />}
  </Dialog>
);

const Offboarding = ({ onClose, ...subject }: Omit<DialogProps, 'isOpen'>) => {
  const { email, client } = subject;
  const preview = useQuery(
    trpc.users.previewOffboarding.queryOptions(
      { email, client: client?.id },
      { gcTime: 0, staleTime: Infinity },
    ),
  );
  const offboard = useLockOut(subject, 'offboard', onClose);
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

type Preview = Outputs['users']['previewOffboarding'];

const LIST = new Intl.ListFormat('en-GB');

const counted = (count: number, one: string): string =>
  `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`;
const named = (names: readonly string[], one: string): string =>
  `${counted(names.length, one)}: ${LIST.format(names)}`;

/** One line per kind of access that the person has. */
const linesOf = (preview: Preview): string[] => {
  const { groups, roles } = preview;
  const apps = preview.apps.map(({ label }) => label);
  const counts: [count: number, text: string][] = [
    [preview.sessions, counted(preview.sessions, 'session')],
    [preview.tokens, counted(preview.tokens, 'API token')],
    [apps.length, named(apps, 'granted app')],
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
  const stays = preview.is_active ? 'is' : 'stays';
  return (
    <>
      <Text>
        {preview.deactivates_account
          ? `The account ${stays} suspended, and they are logged out everywhere.`
          : `They ${preview.is_active ? 'are' : 'stay'} suspended in ${clients}. The account, its logins and other clients stay as they are.`}
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
