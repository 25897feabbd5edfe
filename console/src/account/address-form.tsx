import { Alert, Button, List, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { steward, trpc } from '../api.ts';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { PendingAddress } from '../components/pending-address.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useSession } from '../layout/use-session.ts';

/** Requests another email address for the user, and says what happens next. */
export const AddressForm = () => {
  const { user, sends_mail: sendsMail } = useSession();
  const form = useForm({ initialValues: { email: '' } });
  const queryClient = useQueryClient();
  const pending = useQuery(trpc.profile.pendingEmail.queryOptions()).data?.pending;
  const { onError, prompt } = usePasswordConfirmation();
  const request = useMutation(
    trpc.profile.requestEmail.mutationOptions({
      onSuccess: () => {
        form.reset();
        void queryClient.invalidateQueries(trpc.profile.pathFilter());
      },
      onError: (error, input) => {
        form.setErrors(joined(fieldErrors(error)));
        onError(error, () => request.mutate(input));
      },
    }),
  );
  const isFieldError = Object.keys(fieldErrors(request.error)).length > 0;
  return (
    <Stack className="card" component="section" aria-labelledby="address">
      <Title order={2} size="h3" id="address">
        Email address
      </Title>
      {pending && (
        <PendingAddress
          email={user.email}
          pending={pending}
          cancel={() => steward.api.profile.cancelEmail.mutate()}
        />
      )}
      <form onSubmit={form.onSubmit((values) => request.mutate(values))}>
        <Stack maw="32rem" align="flex-start">
          <Text className="break-words">
            You log in as <strong>{user.email}</strong>. To change this:
          </Text>
          <List type="ordered" size="sm">
            <List.Item>Enter the new address. A mail with a link goes there.</List.Item>
            <List.Item>
              Open the link within 24 hours, log in if asked, and confirm. Until then, nothing changes.
            </List.Item>
            <List.Item>{user.email} gets a mail with a link that undoes the change for seven days.</List.Item>
          </List>
          {!isFieldError && <ProblemAlert error={withoutConfirmation(request.error)} />}
          {request.isSuccess && pending && (
            <Alert color="green" role="status" title={`Confirm the change in ${request.variables.email}`}>
              {sendsMail
                ? 'A link was sent there.'
                : 'This service sends no mail now: a superuser finds the link under Mails.'}{' '}
              It is valid for 24 hours. Until you confirm it, log in as before.
            </Alert>
          )}
          <TextInput
            type="email"
            label="New email address"
            autoComplete="email"
            required
            w="100%"
            {...form.getInputProps('email')}
          />
          <Button type="submit" loading={request.isPending}>
            Send the link
          </Button>
        </Stack>
      </form>
      {prompt}
    </Stack>
  );
};
