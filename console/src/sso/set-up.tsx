import {
  Button,
  Group,
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
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type Inputs, trpc } from '../api.ts';
import { dateOf } from '../components/date-text.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { messageOf } from '../components/screen-error.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { notify } from '../components/toasts.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { DomainList } from './domains.tsx';
import { type Connection, PROVIDERS, type Provider, providerOf, unfinishedOf } from './providers.ts';
import classes from './set-up.module.css';

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

type Props = { client: number; id: number | null };

/** Connects a client to its identity provider, step by step. It can be left and continued at each. */
export const SetUp = ({ client, id }: Props) => {
  const { close } = useSetUp();
  const connections = useQuery(trpc.sso.list.queryOptions({ id: client }));
  const connection = connections.data?.find((one) => one.id === id);
  const isSettable = id === null || connection?.is_active === false;
  const isGone = connections.isSuccess && !connections.isFetching && id !== null && !connection;
  return (
    <Stack className="card" component="section" aria-labelledby="set-up">
      <Group justify="space-between">
        <Title order={2} size="h3" id="set-up">
          Set up single sign-on{connection && ` with ${connection.name}`}
        </Title>
        <Button variant="default" onClick={close}>
          {isSettable ? (connection ? 'Continue later' : 'Cancel') : 'Close'}
        </Button>
      </Group>
      <ProblemAlert error={connections.error} />
      {isGone && <Text>This connection was removed.</Text>}
      {connection?.is_active && <Text>{connection.name} is on. Its settings are in the list.</Text>}
      {id !== null && !connection && connections.isPending && <Skeleton height={240} />}
      {isSettable && <Steps key={id} client={client} connection={connection} />}
    </Stack>
  );
};

const STEPS = ['Provider', 'Addresses', 'Values', 'Test', 'Turn on'] as const;
type Step = (typeof STEPS)[number];

const stepOf = (connection: Connection | undefined): Step => {
  if (!connection) return 'Provider';
  const left = unfinishedOf(connection);
  if (left === 'values') return 'Addresses';
  return left === 'test' ? 'Test' : 'Turn on';
};

const Steps = ({ client, connection }: { client: number; connection: Connection | undefined }) => {
  const [step, setStep] = useState(stepOf(connection));
  const top = useRef<HTMLOListElement>(null);
  const isFirst = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each step
  useEffect(() => {
    if (!isFirst.current) top.current?.focus();
    isFirst.current = false;
  }, [step]);
  const at = (to: Step) => () => setStep(to);
  return (
    <>
      <ol
        className={classes.steps}
        ref={top}
        tabIndex={-1}
        aria-label={`Step ${STEPS.indexOf(step) + 1} of ${STEPS.length}: ${step}`}
      >
        {STEPS.map((name) => (
          <li key={name} {...(name === step && { 'aria-current': 'step' })}>
            {name}
          </li>
        ))}
      </ol>
      {step === 'Provider' && (
        <ChooseProvider client={client} connection={connection} onDone={at('Addresses')} />
      )}
      {connection && step === 'Addresses' && (
        <Addresses connection={connection} onBack={at('Provider')} onDone={at('Values')} />
      )}
      {connection && step === 'Values' && (
        <Values client={client} connection={connection} onBack={at('Addresses')} onDone={at('Test')} />
      )}
      {connection && step === 'Test' && (
        <Test client={client} connection={connection} onBack={at('Values')} />
      )}
      {connection && step === 'Turn on' && (
        <TurnOn client={client} connection={connection} onBack={at('Test')} />
      )}
    </>
  );
};

/** Changes a connection, after a confirmation if the service asks for one. */
const useChanges = (onDone: (saved: { id: number; name: string }) => void) => {
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

type StepProps = { client: number; connection: Connection; onBack: () => void };

/** Values of a provider without presets. */
const BLANK = {
  issuer: '',
  scopes: 'openid email profile',
  email_claim: 'email',
  groups_claim: '',
  required_claim: '',
  required_value: '',
};

type ChooseProps = { client: number; connection: Connection | undefined; onDone: () => void };

const ChooseProvider = ({ client, connection, onDone }: ChooseProps) => {
  const { open } = useSetUp();
  const { create, update, error, prompt } = useChanges(({ id }) => {
    if (connection) onDone();
    else open(id, true);
  });
  const choose = ({ name, presets }: Provider): void => {
    if (!connection) create.mutate({ id: client, ...BLANK, ...presets, name });
    else if (providerOf(connection).name === name) onDone();
    else update.mutate({ id: client, connection_id: connection.id, ...BLANK, ...presets, name });
  };
  return (
    <>
      <Text>Where do your people have their accounts?</Text>
      <SimpleGrid component="ul" className="plain-list" cols={{ base: 1, xs: 2, lg: 3 }} spacing="sm">
        {PROVIDERS.map((provider) => (
          <li key={provider.name} className={classes.choice}>
            <button
              type="button"
              disabled={create.isPending || update.isPending}
              onClick={() => choose(provider)}
            >
              <strong>{provider.name}</strong>
              <span>{provider.lead}</span>
            </button>
          </li>
        ))}
      </SimpleGrid>
      <ProblemAlert error={error} />
      {prompt}
    </>
  );
};

const Addresses = ({ connection, onBack, onDone }: Omit<StepProps, 'client'> & { onDone: () => void }) => {
  const { name, addresses, steps } = providerOf(connection);
  return (
    <>
      <Stack maw="44rem" gap="sm">
        <Title order={3} size="h4">
          Copy these addresses
        </Title>
        {addresses.map(([field, label]) => (
          <SecretField key={field} label={label} value={connection[field]} isSecondary />
        ))}
        <Title order={3} size="h4" mt="sm">
          What the admin of {name === 'Other provider' ? 'the provider' : name} does
        </Title>
        <List type="ordered" spacing="xs">
          {steps.map((text) => (
            <List.Item key={text}>{text}</List.Item>
          ))}
        </List>
      </Stack>
      <Buttons onBack={onBack}>
        <Button onClick={onDone}>Next</Button>
      </Buttons>
    </>
  );
};

const Values = ({ client, connection, onBack, onDone }: StepProps & { onDone: () => void }) => {
  const { place, labels } = providerOf(connection);
  const form = useForm({
    initialValues: {
      place: place.textOf(connection),
      client_id: connection.client_id,
      client_secret: '',
      name: connection.name,
    },
  });
  useUnsavedWork(form.isDirty());
  const check = useMutation(trpc.sso.test.mutationOptions({ onSuccess: onDone }));
  const { update, error, prompt } = useChanges(({ id }) => check.mutate({ id: client, connection_id: id }));
  const errors = joined(fieldErrors(error));
  const unread =
    check.error && `The service cannot read this provider. Check this value. ${messageOf(check.error)}`;
  const submit = ({ place: text, client_secret: secret, ...values }: typeof form.values): void => {
    check.reset();
    const changes: Omit<Inputs['sso']['update'], 'id' | 'connection_id'> = {
      ...values,
      ...place.fieldsOf(text),
      ...(secret !== '' && { client_secret: secret }),
    };
    update.mutate({ id: client, connection_id: connection.id, ...changes });
  };
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Stack maw="32rem">
        <TextInput
          label={place.label}
          description={place.description}
          placeholder={place.placeholder}
          required
          maxLength={2048}
          {...form.getInputProps('place')}
          error={errors.issuer ?? errors.required_value ?? unread}
        />
        <TextInput
          label={labels.id}
          required
          maxLength={255}
          {...form.getInputProps('client_id')}
          error={errors.client_id}
        />
        <PasswordInput
          label={labels.secret}
          description={connection.has_secret ? 'Leave empty to keep the current one.' : undefined}
          autoComplete="off"
          maxLength={1024}
          {...form.getInputProps('client_secret')}
          error={errors.client_secret}
        />
        <TextInput
          label="Name on the login page"
          required
          maxLength={100}
          {...form.getInputProps('name')}
          error={errors.name}
        />
        {Object.keys(errors).length === 0 && <ProblemAlert error={error} />}
        <Buttons onBack={onBack}>
          <Button type="submit" loading={update.isPending || check.isPending}>
            Save and check
          </Button>
        </Buttons>
      </Stack>
      {prompt}
    </form>
  );
};

const Test = ({ client, connection, onBack }: StepProps) => {
  const test = useMutation(trpc.sso.test.mutationOptions({ onSuccess: ({ url }) => location.assign(url) }));
  return (
    <>
      <Stack maw="40rem" gap="xs">
        <Text>The service can read {connection.issuer}. Now log in there once with your own account.</Text>
        <Text>
          A page shows what a login would do, and all claims that arrived. Nothing is changed, and you stay
          logged in here. The page leads back to this step.
        </Text>
        {connection.tested_at && <Text c="dimmed">Tested on {dateOf(connection.tested_at)}.</Text>}
      </Stack>
      <ProblemAlert error={test.error} />
      <Buttons onBack={onBack}>
        <Button
          loading={test.isPending || test.isSuccess}
          onClick={() => test.mutate({ id: client, connection_id: connection.id })}
        >
          Log in to test
        </Button>
      </Buttons>
    </>
  );
};

const TurnOn = ({ client, connection, onBack }: StepProps) => {
  const { name } = connection;
  const { close } = useSetUp();
  const [provisions, setProvisions] = useState(connection.provisions);
  const { update, error, prompt } = useChanges(() => {
    notify(`${name} is on.`);
    close();
  });
  const invalid = joined(fieldErrors(error)).is_active;
  const submit = (): void =>
    update.mutate({ id: client, connection_id: connection.id, is_active: true, provisions });
  return (
    <>
      <Stack maw="40rem" gap="sm">
        <Text>
          {connection.tested_at && `Tested on ${dateOf(connection.tested_at)}.`} Once {name} is on:
        </Text>
        <List spacing="xs">
          <List.Item>The login page sends people with an address in a verified domain to {name}.</List.Item>
          <List.Item>
            Passwords still work. To end that, log in with {name} yourself, then choose “Require it” in its
            menu.
          </List.Item>
          <List.Item>
            Members and people with an invitation can log in. Others cannot, unless you allow it here:
          </List.Item>
        </List>
        <NamedSwitch
          label="Create people who are not invited"
          description="At their first login, if their address is in a verified domain."
          checked={provisions}
          onChange={({ currentTarget }) => setProvisions(currentTarget.checked)}
        />
        <Title order={3} size="h4" mt="sm">
          Verified domains
        </Title>
        <DomainList client={client} isReadOnly={false} />
      </Stack>
      {invalid && <Text role="alert">{invalid}</Text>}
      {!invalid && <ProblemAlert error={error} />}
      <Buttons onBack={onBack}>
        <Button loading={update.isPending} onClick={submit}>
          Turn on
        </Button>
      </Buttons>
      {prompt}
    </>
  );
};

const Buttons = ({ onBack, children }: { onBack: () => void; children: ReactNode }) => (
  <Group mt="xs">
    <Button variant="default" onClick={onBack}>
      Back
    </Button>
    {children}
  </Group>
);
