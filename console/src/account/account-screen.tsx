import {
  Alert,
  Button,
  List,
  PasswordInput,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDebouncedCallback } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { steward, trpc } from '../api.ts';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { PendingAddress } from '../components/pending-address.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { SessionTable } from '../components/session-table.tsx';
import { notify } from '../components/toasts.ts';
import { UsernameField } from '../components/username-field.tsx';
import { useSession } from '../session/use-session.ts';
import classes from './account.module.css';
import { ProfileForm } from './profile-form.tsx';
import { SecondFactors } from './second-factors.tsx';
import { Tokens } from './tokens.tsx';
import { ViewedAs } from './viewed-as.tsx';

/** The user's own profile, address, password, second factors, sessions and API tokens, and who looked at apps as the user. */
export const AccountScreen = () => {
  const { user, confined_to: confinedTo, sso } = useSession();
  return (
    <>
      <ScreenHeader title="Account" lead={user.email} />
      <Stack>
        {confinedTo === null ? (
          <SimpleGrid cols={{ base: 1, lg: 2 }}>
            <ProfileForm />
            <AddressForm />
            <PasswordForm />
            <SecondFactors />
          </SimpleGrid>
        ) : (
          <Alert variant="light" title={`You have logged in with ${sso?.name ?? 'an identity provider'}`}>
            This session is limited to one client. To change your name, address, password or second factors,
            log out, then log in with your password.
          </Alert>
        )}
        <Sessions />
        <Tokens />
        {confinedTo === null && <ViewedAs />}
      </Stack>
    </>
  );
};

const PAGE_SIZE = 50;

/** The browsers in which the user is logged in. */
const Sessions = () => {
  const queryClient = useQueryClient();
  const sessions = useInfiniteQuery(
    trpc.sessions.list.infiniteQueryOptions(
      { limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const revoke = useMutation(
    trpc.sessions.revoke.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries(trpc.sessions.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        notify('Session revoked.');
      },
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Sessions
      </Title>
      <Text c="dimmed">Browsers where you are logged in.</Text>
      <ProblemAlert error={revoke.error} />
      <SessionTable pages={sessions} onRevoke={({ id }) => revoke.mutate({ id })} />
    </Stack>
  );
};

/** Requests another email address for the user, and explains the next step. */
const AddressForm = () => {
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
          {!sendsMail && ' This service cannot send mail now. Ask a superuser for the link.'}
        </PendingAddress>
      )}
      {!own.isPending && !pending && (
        <form onSubmit={form.onSubmit((values) => request.mutate(values))}>
          <Stack maw="30rem" align="flex-start">
            <List type="ordered" size="sm">
              <List.Item>Enter the new address. It gets a mail with a link.</List.Item>
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

const TYPING_MS = 250;

/** Changes the password. The rules are checked while the new one is typed. */
const PasswordForm = () => {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: { password: '', new_password: '' } });
  const {
    mutate: check,
    data: checked,
    isPending: isChecking,
  } = useMutation(trpc.passwords.check.mutationOptions());
  const checkSoon = useDebouncedCallback((password: string) => check({ password }), TYPING_MS);
  useEffect(() => check({ password: '' }), [check]);
  const change = useMutation(
    trpc.passwords.change.mutationOptions({
      onSuccess: () => {
        form.reset();
        void queryClient.invalidateQueries(trpc.sessions.list.pathFilter());
        void queryClient.invalidateQueries(trpc.tokens.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        notify('Password changed. Your other sessions and tokens are revoked.');
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  form.watch('new_password', ({ value }) => {
    // Not after the change has emptied the field: that call would be the first with the CSRF token of the old session.
    if (!change.isPending) checkSoon(value);
  });
  const { password, new_password } = form.getValues();
  return (
    <form
      className="card"
      aria-labelledby="password"
      onSubmit={form.onSubmit((values) => change.mutate(values))}
    >
      <UsernameField />
      <Stack maw="30rem">
        <Title order={2} size="h3" id="password">
          Password
        </Title>
        <ProblemAlert error={change.error} />
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          {...form.getInputProps('password')}
        />
        <PasswordInput
          label="New password"
          autoComplete="new-password"
          aria-describedby="password-rules"
          {...form.getInputProps('new_password')}
        />
        {checked ? <Rules rules={checked.rules} isEmpty={new_password === ''} /> : <Skeleton height={80} />}
        <Button
          type="submit"
          loading={change.isPending}
          disabled={password === '' || new_password === '' || isChecking || checked?.passed === false}
          style={{ alignSelf: 'flex-start' }}
        >
          Change password
        </Button>
      </Stack>
    </form>
  );
};

type Rule = { rule: string; message: string; passed: boolean };

/** Rules that are shown only when broken, which is rare. */
const SELF_EVIDENT = new Set(['max_length', 'characters']);

const Rules = ({ rules, isEmpty }: { rules: Rule[]; isEmpty: boolean }) => (
  <ul id="password-rules" aria-live="polite" className={classes.rules}>
    {rules
      .filter(({ rule, passed }) => !SELF_EVIDENT.has(rule) || (!passed && !isEmpty))
      .map(({ rule, message, passed }) => (
        <li key={rule} data-state={isEmpty ? 'open' : passed ? 'passed' : 'failed'}>
          {isEmpty ? '•' : passed ? '✓' : '✗'} {message}
        </li>
      ))}
  </ul>
);
