import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';

/** The connection that is being set up is in the address, to which the test at the provider returns: `#set-up` for a new one, `#set-up-3`. */
export const useSetUp = () => {
  const hash = useLocation({ select: (location) => location.hash });
  const navigate = useNavigate();
  const [isOpen, id] = [/^set-up(-\d+)?$/.test(hash), Number(hash.slice('set-up-'.length))];
  const go = (to: string, replace = false): void =>
    void navigate({ to: '.', search: true, hash: to, replace, resetScroll: false });
  return {
    isOpen,
    /** Null: a new one. */
    id: id || null,
    open: (connection?: number, replace?: boolean): void =>
      go(connection === undefined ? 'set-up' : `set-up-${connection}`, replace),
    close: (): void => go('', true),
  };
};

/** Changes a connection, after a confirmation if the service asks for one. */
export const useSsoChanges = (onDone: (saved: { id: number; name: string }) => void) => {
  const queryClient = useQueryClient();
  const { onError, prompt } = usePasswordConfirmation();
  const onSuccess = async (saved: { id: number; name: string }): Promise<void> => {
    void queryClient.invalidateQueries(trpc.audit.pathFilter());
    await queryClient.invalidateQueries(trpc.sso.pathFilter());
    onDone(saved);
  };
  const create = useMutation(
    trpc.sso.create.mutationOptions({
      onSuccess,
      onError: (error, input) => onError(error, () => create.mutate(input)),
    }),
  );
  const update = useMutation(
    trpc.sso.update.mutationOptions({
      onSuccess,
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  return { create, update, error: withoutConfirmation(create.error ?? update.error), prompt };
};
