import { Button, PasswordInput, Skeleton, Stack, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDebouncedCallback } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { trpc } from '../api.ts';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { UsernameField } from '../components/username-field.tsx';
import classes from './account.module.css';

const TYPING_MS = 250;

/** Changes the password. The rules are checked while the new one is typed. */
export const PasswordForm = () => {
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
