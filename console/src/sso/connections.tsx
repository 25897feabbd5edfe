import { Button, Group, Menu, Stack, Text, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Inputs, trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { dateOf } from '../components/date-text.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RowMenu } from '../components/row-menu.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { ConnectionDialog } from './connection-dialog.tsx';
import { type Connection, unfinishedOf } from './providers.ts';
import { useSetUp } from './use-set-up.ts';

type Props = { client: number; isReadOnly: boolean };

/** The connections of a client to its identity providers. */
export const Connections = ({ client, isReadOnly }: Props) => {
  const connections = useQuery(trpc.sso.list.queryOptions({ id: client }));
  const { open } = useSetUp();
  return (
    <Stack className="card" component="section" aria-labelledby="connections" align="flex-start">
      <Title order={2} size="h3" id="connections">
        Single sign-on
      </Title>
      <Text c="dimmed">
        Members log in with the accounts of your organization, such as Microsoft or Google.
      </Text>
      <ProblemAlert error={connections.error} />
      {connections.data?.length === 0 && <Text>No identity provider is connected.</Text>}
      <Stack component="ul" className="plain-list" gap="lg" w="100%">
        {connections.data?.map((connection) => (
          <ConnectionRow
            key={connection.id}
            client={client}
            connection={connection}
            isReadOnly={isReadOnly}
          />
        ))}
      </Stack>
      {!isReadOnly && (
        <Button variant="default" onClick={() => open()}>
          Connect a provider
        </Button>
      )}
    </Stack>
  );
};

type Changes = Omit<Inputs['sso']['update'], 'id' | 'connection_id'>;

const useConnectionChanges = (id: number, { id: connection_id, name }: Connection) => {
  const queryClient = useQueryClient();
  const refresh = (message: string): void => {
    for (const router of [trpc.sso, trpc.audit]) void queryClient.invalidateQueries(router.pathFilter());
    notify(message);
  };
  const { onError, prompt } = usePasswordConfirmation();
  const ids = { id, connection_id };
  const update = useMutation(
    trpc.sso.update.mutationOptions({
      onSuccess: () => refresh(`${name} was changed.`),
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  const remove = useMutation(
    trpc.sso.remove.mutationOptions({
      onSuccess: () => refresh(`${name} was removed.`),
      onError: (error) => onError(error, () => remove.mutate(ids)),
    }),
  );
  const test = useMutation(trpc.sso.test.mutationOptions({ onSuccess: ({ url }) => location.assign(url) }));
  return {
    change: (changes: Changes) => update.mutate({ ...ids, ...changes }),
    remove: () => remove.mutate(ids),
    test: () => test.mutate(ids),
    isTesting: test.isPending || test.isSuccess,
    error: update.error ?? remove.error ?? test.error,
    prompt,
  };
};

const ConnectionRow = ({ client, connection, isReadOnly }: Props & { connection: Connection }) => {
  const [opened, setOpened] = useState<'edit' | 'remove' | 'require' | 'turn-off' | null>(null);
  const { change, remove, test, isTesting, error, prompt } = useConnectionChanges(client, connection);
  const { name, is_active: isActive, is_required: isRequired, tested_at: testedAt } = connection;
  const { open } = useSetUp();
  const close = (): void => setOpened(null);
  const left = unfinishedOf(connection);
  const invalid = Object.values(fieldErrors(error)).flat().join(' ');
  return (
    <Stack component="li" gap="xs" maw="40rem">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Group gap="xs">
            <Text fw={600} className="break-words">
              {name}
            </Text>
            <StatusText label={stateOf(connection)} color={isActive ? 'green' : 'gray'} />
          </Group>
          <Text size="sm" c="dimmed" className="break-words">
            {connection.issuer}
          </Text>
          <Text size="sm" c="dimmed">
            {left && LEFT[left]}
            {testedAt && `Tested on ${dateOf(testedAt)}. ${peopleText(connection.people)}`}
          </Text>
        </div>
        {!isReadOnly && (
          <Group gap="xs" wrap="nowrap">
            {left && <Button onClick={() => open(connection.id)}>Continue</Button>}
            {!left && !isActive && <Button onClick={() => change({ is_active: true })}>Turn on</Button>}
            <RowMenu label={`Actions for ${name}`}>
              <Menu.Item onClick={() => setOpened('edit')}>Edit</Menu.Item>
              {!left && (
                <Menu.Item onClick={test} disabled={isTesting}>
                  Test again
                </Menu.Item>
              )}
              {isActive && !isRequired && (
                <Menu.Item onClick={() => setOpened('require')}>Require it</Menu.Item>
              )}
              {isRequired && (
                <Menu.Item onClick={() => change({ is_required: false })}>Allow passwords</Menu.Item>
              )}
              {isActive && <Menu.Item onClick={() => setOpened('turn-off')}>Turn off</Menu.Item>}
              <Menu.Item onClick={() => setOpened('remove')}>Remove</Menu.Item>
            </RowMenu>
          </Group>
        )}
      </Group>
      {invalid !== '' && (
        <Text size="sm" role="alert">
          {invalid}
        </Text>
      )}
      {invalid === '' && <ProblemAlert error={withoutConfirmation(error)} />}
      {prompt}
      <ConnectionDialog client={client} connection={connection} isOpen={opened === 'edit'} onClose={close} />
      <ConfirmModal
        isOpen={opened === 'require'}
        title="Require single sign-on?"
        action="Require"
        onConfirm={() => change({ is_required: true })}
        onClose={close}
      >
        <Text>
          People reach this client only after a login with {name}. With a password, they reach only their
          other clients. Superusers are exempt.
        </Text>
      </ConfirmModal>
      <ConfirmModal
        isOpen={opened === 'turn-off'}
        title={`Turn ${name} off?`}
        action="Turn off"
        onConfirm={() => change({ is_active: false })}
        onClose={close}
      >
        <Text>Sessions that began with it end. People log in with their passwords until it is on again.</Text>
      </ConfirmModal>
      <ConfirmModal
        isOpen={opened === 'remove'}
        title={`Remove ${name}?`}
        action="Remove"
        isDanger
        onConfirm={remove}
        onClose={close}
      >
        <Text>
          Sessions that began with it end. People who log in with it need their passwords again, or reset
          them.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};

const LEFT = {
  values: 'Set-up not finished: enter the values of the provider.',
  test: 'Set-up not finished: test it.',
};

const stateOf = ({ is_active: isActive, is_required: isRequired }: Connection): string => {
  if (!isActive) return 'Off';
  return isRequired ? 'Required' : 'On';
};

const peopleText = (people: number): string => {
  if (people === 0) return 'No one has logged in with it.';
  return people === 1 ? '1 person logs in with it.' : `${people.toLocaleString()} people log in with it.`;
};
