import { Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { mailMessage } from '../mails/mail-message.ts';
import { useSession } from '../session/use-session.ts';

const HANDED_OVER =
  'The person’s password, sessions and tokens end. They get a mail to set a new password, and the old address gets a notice.';

type DialogProps = { email: string; isOpen: boolean; onClose: () => void };

/** Changes a person's address: for superusers at once, for client admins after the new mailbox has confirmed it. */
export const ChangeAddressDialog = ({ email, isOpen, onClose }: DialogProps) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Change the address of ${email}`}>
    <AddressForm email={email} onClose={onClose} />
  </Dialog>
);

type Props = { email: string; onClose: () => void };

const AddressForm = ({ email, onClose }: Props) => {
  const isAtOnce = useSession().roles.is_superuser;
  const form = useForm({ initialValues: { new_email: '' } });
  const { onError, prompt } = usePasswordConfirmation();
  const finish = useFinish(onClose, isAtOnce);
  const change = useMutation(
    trpc.users.changeEmail.mutationOptions({
      onSuccess: ({ email: present }, { new_email }) => finish(present, new_email),
      onError: (error, input) => {
        form.setErrors(joined(fieldErrors(error)));
        onError(error, () => change.mutate(input));
      },
    }),
  );
  const isFieldError = Object.keys(fieldErrors(change.error)).length > 0;
  return (
    <>
      <form onSubmit={form.onSubmit((values) => change.mutate({ email, ...values }))}>
        <Stack>
          <TextInput
            type="email"
            label="New email address"
            required
            data-autofocus
            {...form.getInputProps('new_email')}
          />
          <Text component="div" size="sm" className="notice">
            {isAtOnce
              ? `This takes effect at once. ${HANDED_OVER}`
              : `A link is mailed to the new address. The change takes effect when it is confirmed there, within 24 hours. ${HANDED_OVER}`}
          </Text>
          {!isFieldError && <ProblemAlert error={withoutConfirmation(change.error)} />}
          <DialogButtons
            action={isAtOnce ? 'Change the address' : 'Send the link'}
            isPending={change.isPending}
            onClose={onClose}
          />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

const useFinish = (onClose: () => void, isAtOnce: boolean) => {
  const queryClient = useQueryClient();
  const session = useSession();
  const navigate = useNavigate();
  return async (present: string, requested: string): Promise<void> => {
    onClose();
    // First, because nothing can be read by the old address any more.
    if (isAtOnce) await navigate({ to: '/people/$email', params: { email: present }, replace: true });
    for (const router of [trpc.users, trpc.access, trpc.memberships, trpc.mail, trpc.audit, trpc.groups])
      void queryClient.invalidateQueries(router.pathFilter());
    const message = isAtOnce
      ? `The address is now ${present}.`
      : mailMessage(`Sent a link to ${requested}. The address changes when it is confirmed there.`, session);
    notify(message);
  };
};
