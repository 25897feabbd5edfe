import { Menu, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RowMenu } from '../components/row-menu.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { notify } from '../components/toasts.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { useCopyLinks } from './copy-links.tsx';

/** The fields of an invitation that its actions need. */
export type Target = { id: number; email: string; client: number };

/** What the user may do with the invitations of a list: the menu of each row, and dialogs next to the list. */
export const useInvitationActions = () => {
  const { roles, sends_mail } = useSession();
  const queryClient = useQueryClient();
  const [toRevoke, setToRevoke] = useState<Target | null>(null);
  const reload = (): void => {
    for (const router of [trpc.invitations, trpc.mail, trpc.audit])
      void queryClient.invalidateQueries(router.pathFilter());
  };
  const keys = useIdempotencyKeys();
  const resend = useMutation({
    mutationFn: ({ id }: Target) => {
      const context = { idempotencyKey: keys.keyOf({ id }) };
      return steward.api.invitations.resend.mutate({ id }, { context });
    },
    onSuccess: ({ email }) => {
      keys.forget();
      reload();
      notify(
        `The invitation of ${email} is queued again.${sends_mail ? '' : ' Mails wait until a mail server is set up.'}`,
      );
    },
  });
  const revoke = useMutation(
    trpc.invitations.revoke.mutationOptions({
      onSuccess: ({ email }) => {
        reload();
        notify(`The invitation of ${email} was revoked.`);
      },
    }),
  );
  const { copy, panel } = useCopyLinks();
  const link = useMutation(trpc.invitations.copyLink.mutationOptions({ onSuccess: reload }));
  const [shown, setShown] = useState<Target | null>(null);

  const showLink = (target: Target): void => {
    setShown(target);
    link.mutate({ id: target.id });
  };
  const menuOf = (target: Target) => {
    const mayResend = mayDo(roles, 'manage-credentials', target.client);
    const mayManage = mayDo(roles, 'manage-people', target.client);
    return (
      (mayResend || mayManage) && (
        <RowMenu label={`Actions for ${target.email}`}>
          {mayResend && <Menu.Item onClick={() => resend.mutate(target)}>Resend</Menu.Item>}
          {/* The link proves access to the mailbox: if it is mailed, only superusers see it. */}
          {mayManage && (roles.is_superuser || !sends_mail) && (
            <Menu.Item onClick={() => showLink(target)}>Show the link</Menu.Item>
          )}
          {mayManage && copy && <Menu.Item onClick={() => copy([target.id])}>Copy the link</Menu.Item>}
          {mayManage && (
            <Menu.Item color="red" onClick={() => setToRevoke(target)}>
              Revoke…
            </Menu.Item>
          )}
        </RowMenu>
      )
    );
  };
  const panels = (
    <>
      <ProblemAlert error={resend.error ?? link.error ?? revoke.error} />
      <ConfirmModal
        isOpen={toRevoke !== null}
        title="Revoke the invitation?"
        action="Revoke"
        onConfirm={() => toRevoke && revoke.mutate({ id: toRevoke.id })}
        onClose={() => setToRevoke(null)}
      >
        The link that was mailed to {toRevoke?.email} stops working. You can invite this address again.
      </ConfirmModal>
      {panel}
      <LinkModal email={shown?.email} link={link.data} onClose={link.reset} />
    </>
  );
  return { menuOf, panels };
};

type LinkProps = {
  email: string | undefined;
  link: { url: string; expires_at: Date } | undefined;
  onClose: () => void;
};

const LinkModal = ({ email, link, onClose }: LinkProps) => (
  <Dialog
    isOpen={link !== undefined}
    onClose={onClose}
    title={`Link of the invitation of ${email}`}
    size="lg"
  >
    {link && (
      <Stack>
        <Text>
          Give it only to the invitee. Anyone who opens it can create the account. It expires{' '}
          <DateText date={link.expires_at} />.
        </Text>
        <SecretField label="Link" value={link.url} />
      </Stack>
    )}
  </Dialog>
);
