import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useSession } from '../layout/use-session.ts';

const UNDO = 'The old address gets a mail with a link that undoes the change for seven days.';

/** Gives a person another address: by superusers at once, by client admins when the new mailbox confirms it. */
export const ChangeAddress = ({ email }: { email: string }) => {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Change the address
      </Button>
      <Dialog isOpen={isOpen} onClose={close} title={`Another address for ${email}`}>
        <AddressForm email={email} onClose={close} />
      </Dialog>
    </>
  );
};

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
          {!isFieldError && <ProblemAlert error={withoutConfirmation(change.error)} />}
          <TextInput
            type="email"
            label="New email address"
            required
            data-autofocus
            {...form.getInputProps('new_email')}
          />
          <Text size="sm">
            {isAtOnce
              ? `This takes effect at once: the person logs in with the new address. ${UNDO}`
              : `A link is mailed to the new address. It takes effect when it is confirmed there, within 24 hours. ${UNDO}`}
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={change.isPending}>
              {isAtOnce ? 'Change the address' : 'Send the link'}
            </Button>
          </Group>
        </Stack>
      </form>
      {prompt}
    </>
  );
};

const useFinish = (onClose: () => void, isAtOnce: boolean) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return async (present: string, requested: string): Promise<void> => {
    onClose();
    // First, because nothing can be read by the old address any more.
    if (isAtOnce) await navigate({ to: '/people/$email', params: { email: present }, replace: true });
    for (const router of [trpc.users, trpc.access, trpc.memberships, trpc.mail, trpc.audit, trpc.groups])
      void queryClient.invalidateQueries(router.pathFilter());
    const message = isAtOnce
      ? `The address is now ${present}.`
      : `Sent a link to ${requested}. The address changes when it is confirmed there.`;
    notifications.show({ message });
  };
};
