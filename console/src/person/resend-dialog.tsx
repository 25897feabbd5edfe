import { useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { ActionDialog, useAction } from '../components/action-dialog.tsx';
import { useClientName } from '../components/client-select.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { mailMessage } from '../mails/mail-message.ts';
import { usePersonMails } from './use-person.ts';

type Invitation = NonNullable<Outputs['mail']['timeline'][number]['invitation']>;

/** The newest invitation of the person that may be sent again. */
export const useResendable = (email: string): Invitation | undefined => {
  const { roles } = useSession();
  const entries = usePersonMails(email).data?.pages.flat() ?? [];
  return entries
    .flatMap(({ invitation }) => invitation ?? [])
    .find(
      ({ status, client }) =>
        (status === 'pending' || status === 'expired') && mayDo(roles, 'manage-credentials', client),
    );
};

type Props = { email: string; invitation: Invitation; isOpen: boolean; onClose: () => void };

/** Sends a pending or expired invitation again. */
export const ResendDialog = ({ email, invitation, isOpen, onClose }: Props) => {
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
      {email} gets another mail with the link, which is valid as long as the link of a new invitation.
    </ActionDialog>
  );
};
