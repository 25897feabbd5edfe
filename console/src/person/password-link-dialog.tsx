import { useMutation, useQueryClient } from '@tanstack/react-query';
import { steward, trpc } from '../api.ts';
import { ActionDialog } from '../components/action-dialog.tsx';
import { notify } from '../components/toasts.ts';
import { mailMessage } from '../mails/mail-message.ts';
import { useSession } from '../session/use-session.ts';

type Props = { email: string; isOpen: boolean; onClose: () => void };

/** Mails a link to set the first or a new password. */
export const PasswordLinkDialog = ({ email, isOpen, onClose }: Props) => {
  const queryClient = useQueryClient();
  const session = useSession();
  const send = useMutation({
    mutationFn: async () => {
      const input = { emails: [email], action: 'send-password-link' as const };
      const { results } = await steward.api.users.bulkUpdate.mutate(input);
      const problem = results[0]?.problem;
      if (problem) throw new Error(problem.detail);
    },
    onSuccess: () => {
      onClose();
      for (const router of [trpc.mail, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
      notify(mailMessage(`A link to set a password is on its way to ${email}.`, session));
    },
  });
  return (
    <ActionDialog
      isOpen={isOpen}
      title={`Mail a password link to ${email}?`}
      action="Mail the link"
      run={() => send.mutate()}
      state={send}
      onClose={onClose}
    >
      The current password works until the link is used.
    </ActionDialog>
  );
};
