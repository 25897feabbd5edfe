import { Button, List, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { steward, trpc } from '../api.ts';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { PendingAddress } from '../components/pending-address.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useSession } from '../layout/use-session.ts';

/** Requests another email address for the user, and explains the next step. */
export const AddressForm = () => {
  const { user, sends_mail: sendsMail } = useSession();
  const form = useForm({ initialValues: { email: '' } });
  const queryClient = useQueryClient();
  const heading = useRef<HTMLHeadingElement>(null);
  const own = useQuery(trpc.profile.pendingEmail.queryOptions());
  const pending = own.data?.pending;
  const { onError, prompt } = usePasswordConfirmation();
  const request = useMutation(
    trpc.profile.requestEmail.mutationOptions({
      onSuccess: () => {
        form.reset();
        // The form is replaced by the pending change.
        heading.current?.focus();
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
      <Title order={2} size="h3" id="address" ref={heading} tabIndex={-1} className="screen-title">
        Email address
      </Title>
      <Text className="break-words">
        You log in as <strong>{user.email}</strong>
        {pending ? ' until you confirm the change.' : '. To change this:'}
      </Text>
      {pending && (
        <PendingAddress
          email={user.email}
          pending={pending}
          cancel={() => steward.api.profile.cancelEmail.mutate()}
        >
          {!sendsMail && ' This service sends no mail now: ask a superuser for the link.'}
        </PendingAddress>
      )}
      {!own.isPending && !pending && (
        <form onSubmit={form.onSubmit((values) => request.mutate(values))}>
          <Stack maw="30rem" align="flex-start">
            <List type="ordered" size="sm">
              <List.Item>Enter the new address. A mail with a link goes there.</List.Item>
              <List.Item>
                Open the link within 24 hours, log in if asked, and confirm. Until then, nothing changes.
              </List.Item>
              <List.Item>
                {user.email} gets a mail with a link that undoes the change for seven days.
              </List.Item>
            </List>
            {!isFieldError && <ProblemAlert error={withoutConfirmation(request.error)} />}
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
      )}
      {prompt}
    </Stack>
  );
};
