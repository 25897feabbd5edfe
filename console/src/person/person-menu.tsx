import { Button, Group, List, Menu, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ActionDialog, useAction } from '../components/action-dialog.tsx';
import { useClientName } from '../components/client-select.tsx';
import { Dialog } from '../components/dialog.tsx';
import { MoreMenu } from '../components/more-menu.tsx';
import { nameOf } from '../components/name-of.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useAskedDialog } from '../components/use-asked-dialog.ts';
import { useForget } from '../components/use-forget.ts';
import { mailMessage } from '../mails/mail-message.ts';
import { canView, mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { ChangeAddressDialog } from './change-address-dialog.tsx';
import { LogOutDialog } from './log-out-dialog.tsx';
import { PasswordLinkDialog } from './password-link-dialog.tsx';
import { usePersonMails } from './use-person.ts';
import type { Person } from './use-person-form.ts';
import { ViewAsDialog } from './view-as-dialog.tsx';

type Opened = 'view-as' | 'password-link' | 'resend' | 'log-out' | 'address' | 'erase' | null;

type Props = {
  person: Person;
  may: Outputs['users']['permissions'];
  isSelf: boolean;
  mayChangeAddress: boolean;
  isActive: boolean;
};

/** The less common actions for a person. */
export const PersonMenu = ({ person, may, isSelf, mayChangeAddress, isActive }: Props) => {
  const { email } = person;
  const { roles } = useSession();
  const [opened, setOpened] = useState<Opened>(null);
  const navigate = useNavigate();
  const invitation = useResendable(email);
  const { data: apps = [] } = useQuery(
    trpc.users.viewableApps.queryOptions({ email }, { enabled: canView(roles) && !isSelf }),
  );
  const close = (): void => setOpened(null);
  const isOpen = (one: Opened) => ({ email, isOpen: opened === one, onClose: close });
  const mayErase = roles.is_superuser && !isSelf;
  const mayMailLink = may.can_revoke && isActive;
  useAskedDialog({
    'password-link': mayMailLink && (() => setOpened('password-link')),
    'log-out': may.can_revoke && (() => setOpened('log-out')),
    erase: mayErase && (() => setOpened('erase')),
  });
  return (
    <>
      <MoreMenu>
        {apps.length > 0 && (
          <Menu.Item onClick={() => setOpened('view-as')}>View an app as {nameOf(person)}…</Menu.Item>
        )}
        {mayMailLink && (
          <Menu.Item onClick={() => setOpened('password-link')}>Mail a password link…</Menu.Item>
        )}
        {invitation && <Menu.Item onClick={() => setOpened('resend')}>Resend the invitation…</Menu.Item>}
        {may.can_revoke && <Menu.Item onClick={() => setOpened('log-out')}>Log out everywhere…</Menu.Item>}
        {mayChangeAddress && <Menu.Item onClick={() => setOpened('address')}>Change the address…</Menu.Item>}
        <Menu.Item
          onClick={() =>
            void navigate({
              to: '/people/$email',
              params: { email },
              search: { tab: 'profile' },
              replace: true,
            })
          }
        >
          {may.can_update ? 'Edit the profile' : 'Show the profile'}
        </Menu.Item>
        {mayErase && (
          <>
            <Menu.Divider />
            <Menu.Item component="a" href={`/api/v1/jb/users/${encodeURIComponent(email)}/export/`} download>
              Download all data
            </Menu.Item>
            <Menu.Item color="red" onClick={() => setOpened('erase')}>
              Erase this person…
            </Menu.Item>
          </>
        )}
      </MoreMenu>
      <ViewAsDialog {...isOpen('view-as')} name={nameOf(person)} apps={apps} />
      <PasswordLinkDialog {...isOpen('password-link')} />
      {invitation && <ResendDialog {...isOpen('resend')} invitation={invitation} />}
      <LogOutDialog {...isOpen('log-out')} />
      <ChangeAddressDialog {...isOpen('address')} />
      <EraseDialog {...isOpen('erase')} />
    </>
  );
};

type Invitation = NonNullable<Outputs['mail']['timeline'][number]['invitation']>;

/** The newest invitation of the person that may be sent again. */
const useResendable = (email: string): Invitation | undefined => {
  const { roles } = useSession();
  const entries = usePersonMails(email).data?.pages.flat() ?? [];
  return entries
    .flatMap(({ invitation }) => invitation ?? [])
    .find(
      ({ status, client }) =>
        (status === 'pending' || status === 'expired') && mayDo(roles, 'manage-credentials', client),
    );
};

type UseResendableProps = { email: string; invitation: Invitation; isOpen: boolean; onClose: () => void };

/** Sends a pending or expired invitation again. */
const ResendDialog = ({ email, invitation, isOpen, onClose }: UseResendableProps) => {
  const queryClient = useQueryClient();
  const client = useClientName()(invitation.client);
  const resend = useAction(trpc.invitations.resend.mutationOptions(), {
    message: mailMessage(
      `The invitation to ${client} is on its way to ${email}.`,
      useSession(),
      invitation.client,
    ),
    onDone: () => {
      onClose();
      for (const router of [trpc.mail, trpc.invitations, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
    },
  });
  return (
    <ActionDialog
      isOpen={isOpen}
      title={`Send the invitation to ${client} again?`}
      action="Resend"
      run={() => resend.mutate({ id: invitation.id })}
      state={resend}
      onClose={onClose}
    >
      {email} gets another mail with the link. It is valid for as long as a new one.
    </ActionDialog>
  );
};

type EraseDialogProps = { email: string; isOpen: boolean; onClose: () => void };

/** Erases a person. First shows the rows that would be replaced, and asks the user to type the address. */
const EraseDialog = ({ email, isOpen, onClose }: EraseDialogProps) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Erase ${email}?`}>
    {isOpen && <ErasureForm email={email} onClose={onClose} />}
  </Dialog>
);

const ErasureForm = ({ email, onClose }: { email: string; onClose: () => void }) => {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const forget = useForget();
  const preview = useQuery(trpc.users.previewErasure.queryOptions({ email }, { staleTime: 0 }));
  const { onError, prompt } = usePasswordConfirmation();
  const { error: previewError, refetch } = preview;
  useEffect(() => onError(previewError, () => void refetch()), [previewError, onError, refetch]);
  const erase = useMutation(
    trpc.users.erase.mutationOptions({
      onSuccess: async ({ pseudonym }) => {
        notify(`Erased. The pseudonym is ${pseudonym}.`);
        await forget();
        await navigate({ to: '/people', search: {} });
      },
      onError: (error, input) => onError(error, () => erase.mutate(input)),
    }),
  );
  return (
    <Stack>
      <ProblemAlert error={withoutConfirmation(previewError ?? erase.error)} />
      {preview.isPending && <Skeleton height={160} />}
      {preview.data && <Replaced preview={preview.data} />}
      <TextInput
        label="Type the email address to confirm"
        data-autofocus
        value={typed}
        onChange={({ currentTarget: { value } }) => setTyped(value)}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          color="red"
          loading={erase.isPending}
          disabled={!preview.data || typed.trim().toLowerCase() !== email}
          onClick={() =>
            preview.data &&
            erase.mutate({ email, confirmation: preview.data.confirmation, confirm_email: typed.trim() })
          }
        >
          Erase
        </Button>
      </Group>
      {prompt}
    </Stack>
  );
};

const Replaced = ({ preview }: { preview: Outputs['users']['previewErasure'] }) => {
  const { confirmation: _code, expires_at: _until, ...counts } = preview;
  return (
    <>
      <Text>
        This replaces the person with a pseudonym. You cannot undo it. Texts that others wrote about them
        stay.
      </Text>
      <List size="sm">
        {Object.entries(counts)
          .filter(([, count]) => count > 0)
          .map(([name, count]) => (
            <List.Item key={name}>
              {name.replaceAll('_', ' ')}: {count.toLocaleString()}
            </List.Item>
          ))}
      </List>
    </>
  );
};
