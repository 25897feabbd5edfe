import { Button, Group, List, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { trpc } from '../api.ts';
import { dateOf } from '../components/date-text.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { DomainList } from './domains.tsx';
import { type Connection, PROVIDERS, type Provider, providerOf, unfinishedOf } from './providers.ts';
import classes from './set-up.module.css';
import { useSetUp, useSsoChanges } from './use-set-up.ts';

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

/** A provider that was chosen before, without values since, is taken up again. */
export const ChooseProvider = ({ client, connection, onDone }: ChooseProps) => {
  const { open } = useSetUp();
  const { create, update, error, prompt } = useSsoChanges(({ id }) => {
    if (connection) onDone();
    else open(id, true);
  });
  const connections = useQuery(trpc.sso.list.queryOptions({ id: client })).data ?? [];
  const choose = ({ name, presets }: Provider): void => {
    const begun = connections.find((one) => providerOf(one).name === name && unfinishedOf(one) === 'values');
    if (!connection && begun) open(begun.id, true);
    else if (!connection) create.mutate({ id: client, ...BLANK, ...presets, name });
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

export type StepProps = { client: number; connection: Connection; onBack: () => void };

export const Test = ({ client, connection, onBack }: StepProps) => {
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
      <SetUpButtons onBack={onBack}>
        <Button
          loading={test.isPending || test.isSuccess}
          onClick={() => test.mutate({ id: client, connection_id: connection.id })}
        >
          Log in to test
        </Button>
      </SetUpButtons>
    </>
  );
};

export const TurnOn = ({ client, connection, onBack }: StepProps) => {
  const { name } = connection;
  const { close } = useSetUp();
  const [provisions, setProvisions] = useState(connection.provisions);
  const { update, error, prompt } = useSsoChanges(() => {
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
      <SetUpButtons onBack={onBack}>
        <Button loading={update.isPending} onClick={submit}>
          Turn on
        </Button>
      </SetUpButtons>
      {prompt}
    </>
  );
};

export const SetUpButtons = ({ onBack, children }: { onBack: () => void; children: ReactNode }) => (
  <Group mt="md">
    <Button variant="default" onClick={onBack}>
      Back
    </Button>
    {children}
  </Group>
);
