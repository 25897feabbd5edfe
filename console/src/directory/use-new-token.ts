import { useMutation, useQueryClient } from '@tanstack/react-query';
import { steward, trpc } from '../api.ts';
import { dateOf } from '../components/date-text.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';

const NAME = 'Directory';

export type NewToken = ReturnType<typeof useNewToken>;

/**
 * Makes a token for a directory.
 * @param account the service account of the directory; undefined: it is made first
 */
export const useNewToken = (client: number, account: number | undefined) => {
  const queryClient = useQueryClient();
  // A repeat after a lost response shows what was made.
  const keys = useIdempotencyKeys();
  const { onError, prompt } = usePasswordConfirmation();
  const send = <Input, Output>(
    mutate: (input: Input, options: { context: { idempotencyKey: string } }) => Promise<Output>,
    input: Input,
  ) => mutate(input, { context: { idempotencyKey: keys.keyOf(input) } });
  const create = useMutation({
    mutationFn: async () => {
      const { serviceAccounts } = steward.api;
      const made = { client, name: NAME, roles: [], scopes: ['scim' as const] };
      const id = account ?? (await send(serviceAccounts.create.mutate, made)).id;
      return send(serviceAccounts.createToken.mutate, { id, name: `${NAME}, ${dateOf(new Date())}` });
    },
    onSuccess: () => keys.forget(),
    onError: (error) => onError(error, () => create.mutate()),
    // The account may have been made without the token.
    onSettled: async () => {
      void queryClient.invalidateQueries(trpc.audit.pathFilter());
      await queryClient.invalidateQueries(trpc.serviceAccounts.pathFilter());
    },
  });
  return {
    create: () => create.mutate(),
    isPending: create.isPending,
    /** Only right after it was made. */
    made: create.data?.token,
    forget: create.reset,
    error: withoutConfirmation(create.error),
    prompt,
  };
};
