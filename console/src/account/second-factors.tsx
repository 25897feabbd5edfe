import { Button, Group, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { trpc } from '../api.ts';
import { ActionDialog, useAction } from '../components/action-dialog.tsx';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { Dialog } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { type SecondFactor, SecondFactorList } from '../components/second-factor-list.tsx';
import { notify } from '../components/toasts.ts';
import { factorNoticeOf } from '../layout/factor-banner.tsx';
import { lazyPart } from '../lazy-part.ts';
import { useSession } from '../session/use-session.ts';
import { RecoveryCodes } from './recovery-codes.tsx';

/** Loaded when it opens, together with the code that draws the QR code. */
const Enrolment = lazyPart(() => import('./enrolment.tsx'), 'Enrolment');

const PasskeyEnrolment = lazyPart(() => import('./passkey-enrolment.tsx'), 'PasskeyEnrolment');

/** The user's passkeys, authenticator apps and recovery codes. */
export const SecondFactors = () => {
  const own = useQuery(trpc.mfa.list.queryOptions());
  const { start, remove, renew, error, prompt } = useFactorChanges();
  const [toRemove, setToRemove] = useState<SecondFactor | null>(null);
  const [toRename, setToRename] = useState<SecondFactor | null>(null);
  const [isRenewing, setRenewing] = useState(false);
  const [isAddingPasskey, setAddingPasskey] = useState(false);
  const status = useSession().second_factor;
  const notice = factorNoticeOf(status);
  const factors = own.data?.factors ?? [];
  const hasApp = factors.some(({ kind }) => kind === 'totp');
  return (
    <Stack className="card" component="section" aria-labelledby="second-factor" align="flex-start">
      <Title order={2} size="h3" id="second-factor">
        Second factor
      </Title>
      <Text maw="40rem">
        A passkey logs you in without the password. With a passkey or an authenticator app, a login with the
        password asks for it, too. Scripts with an API token do not need one.
      </Text>
      {notice !== null && <Text fw={600}>{notice}</Text>}
      {status.needs_passkey && (
        <Text maw="40rem">
          A code from an authenticator app is not enough. Add a passkey on this device, your phone or a
          security key, or in your password manager. Otherwise, your next login after that day asks you to add
          one.
        </Text>
      )}
      <ProblemAlert error={own.error ?? error} />
      {own.isPending && <Skeleton height={40} />}
      {own.data && factors.length > 0 && (
        <SecondFactorList
          factors={factors}
          codesLeft={own.data.recovery_codes}
          actionOf={(factor) => (
            <Group gap="xs" flex="none">
              <Button
                variant="default"
                size="compact-sm"
                onClick={() => setToRename(factor)}
                aria-label={`Rename ${factor.name}`}
              >
                Rename
              </Button>
              <Button
                variant="default"
                size="compact-sm"
                onClick={() => setToRemove(factor)}
                aria-label={`Remove ${factor.name}`}
              >
                Remove
              </Button>
            </Group>
          )}
        />
      )}
      <Group gap="sm">
        <Button {...(factors.length > 0 && { variant: 'default' })} onClick={() => setAddingPasskey(true)}>
          Add a passkey
        </Button>
        <Button variant="default" onClick={() => start.mutate({})} loading={start.isPending}>
          {hasApp ? 'Add another app' : 'Set up an authenticator app'}
        </Button>
        {factors.length > 0 && (
          <Button variant="default" onClick={() => setRenewing(true)} loading={renew.isPending}>
            New recovery codes
          </Button>
        )}
      </Group>
      {prompt}
      <Dialog
        isOpen={start.data !== undefined}
        onClose={start.reset}
        title="Set up an authenticator app"
        size="lg"
        isSticky
      >
        <Suspense fallback={<Skeleton height={320} />}>
          {start.data && <Enrolment started={start.data} onClose={start.reset} />}
        </Suspense>
      </Dialog>
      <Dialog
        isOpen={isAddingPasskey}
        onClose={() => setAddingPasskey(false)}
        title="Add a passkey"
        size="lg"
        isSticky
      >
        <Suspense fallback={<Skeleton height={200} />}>
          {isAddingPasskey && <PasskeyEnrolment onClose={() => setAddingPasskey(false)} />}
        </Suspense>
      </Dialog>
      <Dialog
        isOpen={renew.data !== undefined}
        onClose={renew.reset}
        title="Your recovery codes"
        size="lg"
        isSticky
      >
        {renew.data && <RecoveryCodes codes={renew.data.recovery_codes} onClose={renew.reset} />}
      </Dialog>
      <ConfirmModal
        isOpen={isRenewing}
        title="Create new recovery codes?"
        action="Create"
        onConfirm={() => renew.mutate()}
        onClose={() => setRenewing(false)}
      >
        The current ones stop working. The new ones are shown once.
      </ConfirmModal>
      {toRename && <RenameFactor key={toRename.id} factor={toRename} onClose={() => setToRename(null)} />}
      <ConfirmModal
        isOpen={toRemove !== null}
        title={`Remove ${toRemove?.name ?? ''}?`}
        action="Remove"
        onConfirm={() => toRemove && remove.mutate({ id: toRemove.id })}
        onClose={() => setToRemove(null)}
      >
        {factors.length > 1
          ? REMOVED[toRemove?.kind ?? 'totp']
          : 'A login asks for your password alone, and your recovery codes end.'}
      </ConfirmModal>
    </Stack>
  );
};

const REMOVED: Record<SecondFactor['kind'], string> = {
  totp: 'Its codes stop working.',
  passkey: 'You can no longer log in with it. You can also delete it on the device.',
};

/** Each of these changes asks for a confirmation if the login is some minutes old. */
const useFactorChanges = () => {
  const queryClient = useQueryClient();
  const { onError, prompt } = usePasswordConfirmation();
  const refresh = (): void => {
    for (const router of [trpc.mfa, trpc.audit, trpc.sessions.current])
      void queryClient.invalidateQueries(router.pathFilter());
  };
  const start = useMutation(
    trpc.mfa.startTotp.mutationOptions({
      onError: (error, input) => onError(error, () => start.mutate(input)),
    }),
  );
  const remove = useMutation(
    trpc.mfa.remove.mutationOptions({
      onSuccess: () => {
        refresh();
        notify('Second factor removed.');
      },
      onError: (error, input) => onError(error, () => remove.mutate(input)),
    }),
  );
  const renew = useMutation(
    trpc.mfa.renewRecoveryCodes.mutationOptions({
      onSuccess: refresh,
      onError: (error) => onError(error, () => renew.mutate()),
    }),
  );
  const error = withoutConfirmation(start.error ?? remove.error ?? renew.error);
  return { start, remove, renew, error, prompt };
};

type Props = { factor: SecondFactor; onClose: () => void };

/** Asks for another name of a passkey or an app. */
const RenameFactor = ({ factor, onClose }: Props) => {
  const queryClient = useQueryClient();
  const [name, setName] = useState(factor.name);
  const rename = useAction(trpc.mfa.rename.mutationOptions(), {
    message: 'Renamed.',
    onDone: () => {
      onClose();
      for (const router of [trpc.mfa, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
    },
  });
  const wrong = joined(fieldErrors(rename.error)).name;
  return (
    <ActionDialog
      isOpen
      title={`Rename ${factor.name}`}
      action="Rename"
      run={() => rename.mutate({ id: factor.id, name: name.trim() })}
      state={{ isPending: rename.isPending, error: wrong === undefined ? rename.error : null }}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="A name by which you recognize this passkey or app."
        maxLength={100}
        data-autofocus
        value={name}
        error={wrong}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
    </ActionDialog>
  );
};
