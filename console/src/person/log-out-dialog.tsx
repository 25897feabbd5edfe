import { useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ActionDialog, useAction } from '../components/action-dialog.tsx';

type Props = { email: string; isOpen: boolean; onClose: () => void };

/** Ends all sessions of a person and revokes all tokens. */
export const LogOutDialog = ({ email, isOpen, onClose }: Props) => {
  const queryClient = useQueryClient();
  const revoke = useAction(trpc.sessions.revokeAll.mutationOptions(), {
    message: `${email} is logged out everywhere.`,
    onDone: () => {
      onClose();
      for (const router of [trpc.sessions.listByUser, trpc.tokens.listByUser, trpc.users, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
    },
  });
  return (
    <ActionDialog
      isOpen={isOpen}
      title={`Log out ${email} everywhere?`}
      action="Log out"
      run={() => revoke.mutate({ email })}
      state={revoke}
      onClose={onClose}
    >
      This ends all sessions and revokes all tokens, so scripts with a token of this person stop working. The
      person can log in again.
    </ActionDialog>
  );
};
