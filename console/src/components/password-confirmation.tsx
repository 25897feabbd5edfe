import { Button, Group, PasswordInput, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { type CurrentSession, fieldErrors, isProblem } from '@steward/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useCallback, useState } from 'react';
import { type Outputs, steward, trpc } from '../api.ts';
import { useSession } from '../session/use-session.ts';
import { Dialog } from './dialog.tsx';
import { CODE_INPUT, joined } from './form-fields.ts';
import { hasPasskeys, signWithPasskey } from './passkey-browser.ts';
import { ProblemAlert } from './problem-alert.tsx';
import { UsernameField } from './username-field.tsx';

/** Whether the API requires the password or a second factor again, as for sensitive actions some minutes after a login. */
const isConfirmationNeeded = (error: unknown): boolean => isProblem(error, 'reauthentication-required');

/** The error of an action, unless it is the one that shows the prompt. */
export const withoutConfirmation = (error: unknown): unknown => (isConfirmationNeeded(error) ? null : error);

/**
 * Asks for the password or the second factor when the API requires it, and then repeats the action. Pass `onError` to a mutation, and
 * render `prompt` next to it.
 */
export const usePasswordConfirmation = () => {
  const [repeat, setRepeat] = useState<(() => void) | null>(null);
  const onError = useCallback((error: unknown, action: () => void): void => {
    if (isConfirmationNeeded(error)) setRepeat(() => action);
  }, []);
  const prompt = repeat && (
    <Prompt
      onClose={() => setRepeat(null)}
      onConfirmed={() => {
        setRepeat(null);
        repeat();
      }}
    />
  );
  return { onError, prompt };
};

type Props = { onConfirmed: () => void; onClose: () => void };

/** The kind of proof to ask for. Users with an authenticator app can enter a code, or use a passkey. */
type Kind = 'password' | Outputs['mfa']['list']['factors'][number]['kind'];

const TITLES: Record<Kind, string> = {
  password: 'Confirm your password',
  totp: 'Confirm with a code',
  passkey: 'Confirm with your passkey',
};

const LEADS: Record<Kind, string> = {
  password: 'Enter your password to continue.',
  totp: 'Enter a code from your authenticator app, or a recovery code, to continue.',
  passkey: 'Use your passkey, or enter a recovery code, to continue.',
};

const Prompt = ({ onConfirmed, onClose }: Props) => {
  // Another tab may have changed the factors.
  const own = useQuery(trpc.mfa.list.queryOptions(undefined, { staleTime: 0 }));
  const kinds = own.data?.factors.map((factor) => factor.kind) ?? [];
  const kind = kinds.includes('totp') ? 'totp' : (kinds[0] ?? 'password');
  const isKnown = own.isFetchedAfterMount;
  const { sso } = useSession();
  if (isKnown && sso && kinds.length === 0) return <ProviderPrompt sso={sso} onClose={onClose} />;
  return (
    <Dialog isOpen onClose={onClose} title={TITLES[isKnown ? kind : 'password']}>
      {isKnown ? (
        <ProofForm
          kind={kind}
          hasPasskey={kinds.includes('passkey') && hasPasskeys()}
          onConfirmed={onConfirmed}
          onClose={onClose}
        />
      ) : (
        <Skeleton height={120} />
      )}
    </Dialog>
  );
};

type ProviderProps = { sso: NonNullable<CurrentSession['sso']>; onClose: () => void };

/** People who log in with an identity provider may have no password here. */
const ProviderPrompt = ({ sso, onClose }: ProviderProps) => {
  const next = location.pathname + location.search;
  return (
    <Dialog isOpen onClose={onClose} title="Confirm your login">
      <Stack>
        <Text>You logged in a while ago. Log in with {sso.name} again, then repeat this action.</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button component="a" href={`${sso.confirm_url}&${new URLSearchParams({ next })}`} data-autofocus>
            Log in with {sso.name}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};

type FormProps = Props & { kind: Kind; hasPasskey: boolean };

const ProofForm = ({ kind, hasPasskey, onConfirmed, onClose }: FormProps) => {
  const [proof, setProof] = useState('');
  const confirm = useMutation(trpc.sessions.confirm.mutationOptions({ onSuccess: onConfirmed }));
  const byPasskey = useMutation({
    mutationFn: async () => {
      const options = await steward.api.sessions.startPasskey.mutate({ purpose: 'confirmation' });
      await steward.api.sessions.confirm.mutate({ passkey: await signWithPasskey(options) });
    },
    onSuccess: onConfirmed,
  });
  const isPasskeyFirst = kind === 'passkey' && hasPasskey;
  const field = kind === 'password' ? 'password' : 'code';
  const wrong = joined(fieldErrors(confirm.error))[field];
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    byPasskey.reset();
    confirm.mutate({ [field]: proof });
  };
  const input = {
    ...(!isPasskeyFirst && { 'data-autofocus': true }),
    value: proof,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => setProof(currentTarget.value),
    error: wrong,
  };
  return (
    <form onSubmit={submit}>
      <UsernameField />
      <Stack>
        <Text>You logged in a while ago. {LEADS[kind]}</Text>
        {wrong === undefined && <ProblemAlert error={byPasskey.error ?? confirm.error} />}
        {hasPasskey && (
          <Button
            {...(isPasskeyFirst ? { 'data-autofocus': true } : { variant: 'default' })}
            onClick={() => byPasskey.mutate()}
            loading={byPasskey.isPending}
          >
            Use your passkey
          </Button>
        )}
        {kind === 'password' ? (
          <PasswordInput label="Password" autoComplete="current-password" {...input} />
        ) : (
          <TextInput label={kind === 'totp' ? 'Code' : 'Recovery code'} {...CODE_INPUT} {...input} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            {...(isPasskeyFirst && { variant: 'default' })}
            loading={confirm.isPending}
            disabled={proof.trim() === ''}
          >
            Confirm
          </Button>
        </Group>
      </Stack>
    </form>
  );
};
