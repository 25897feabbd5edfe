import { Button, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { agoOf, shortDateOf } from '../components/date-text.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { SessionTable } from '../components/session-table.tsx';
import { notify } from '../components/toasts.ts';
import { labelOf, type Token, TokenTable } from '../components/token-table.tsx';
import { roleSentence } from '../roles/role-words.ts';
import { GLOBAL_ROLES, roleLabel } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { LogOutDialog } from './log-out-dialog.tsx';
import { PasswordLinkDialog } from './password-link-dialog.tsx';
import { PersonFactors } from './person-factors.tsx';
import type { PersonData } from './use-person.ts';

/** How the person logs in, where they are logged in, and their roles. */
export const SecurityTab = ({ data, isActive }: { data: PersonData; isActive: boolean }) => {
  const { person, may, screen } = data;
  const { roles } = useSession();
  const login = screen.account && (
    <>
      <Password email={person.email} account={screen.account} mayMail={may.can_revoke && isActive} />
      <PersonFactors email={person.email} account={screen.account} />
    </>
  );
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, md: 2 }} style={{ alignItems: 'start' }}>
        {roles.is_superuser ? <Stack>{login}</Stack> : login}
        {roles.is_superuser && <PersonRoles email={person.email} />}
      </SimpleGrid>
      {screen.account && <PersonIdentities email={person.email} mayUnlink={may.can_revoke} />}
      {may.can_revoke && <PersonCredentials email={person.email} />}
    </Stack>
  );
};

type Account = NonNullable<PersonData['screen']['account']>;
type Props = { email: string; account: Account; mayMail: boolean };

const Password = ({ email, account, mayMail }: Props) => {
  const [isMailing, mailing] = useDisclosure();
  const [isLoggingOut, loggingOut] = useDisclosure();
  return (
    <Stack className="card" component="section" aria-labelledby="password" align="flex-start">
      <Title order={2} size="h3" id="password">
        Password
      </Title>
      <Text>{stateOf(account)}</Text>
      <Group gap="sm">
        {mayMail && (
          <Button variant="default" onClick={mailing.open}>
            Mail a password link
          </Button>
        )}
        <Button variant="default" onClick={loggingOut.open}>
          Log out everywhere
        </Button>
      </Group>
      <PasswordLinkDialog email={email} isOpen={isMailing} onClose={mailing.close} />
      <LogOutDialog email={email} isOpen={isLoggingOut} onClose={loggingOut.close} />
    </Stack>
  );
};

const stateOf = ({ has_password, last_password_set: set, password_expires_at: end }: Account): string => {
  if (!has_password) return 'No password was set yet.';
  const age = `Set on ${shortDateOf(set)}.`;
  if (!end) return `${age} It does not expire.`;
  return `${age} It ${end < new Date() ? 'expired' : 'expires'} on ${shortDateOf(end)}.`;
};

/** The roles that only superusers grant. */
const PersonRoles = ({ email }: { email: string }) => {
  const queryClient = useQueryClient();
  const roles = useQuery(trpc.roles.get.queryOptions({ email }));
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.roles.update.mutationOptions({
      onSuccess: () => notify('Saved.'),
      onError: (error, input) => onError(error, () => update.mutate(input)),
      onSettled: () =>
        Promise.all([
          queryClient.invalidateQueries(trpc.roles.pathFilter()),
          queryClient.invalidateQueries(trpc.audit.pathFilter()),
        ]),
    }),
  );
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Roles
      </Title>
      <ProblemAlert error={roles.error ?? withoutConfirmation(update.error)} />
      {roles.isPending && <Skeleton height={100} />}
      {roles.data &&
        GLOBAL_ROLES.toReversed().map((role) => (
          <NamedSwitch
            key={role.name}
            label={capitalized(roleLabel(role))}
            description={roleSentence(role)}
            disabled={update.isPending}
            checked={roles.data[role.column]}
            onChange={({ currentTarget: { checked } }) => update.mutate({ email, [role.column]: checked })}
          />
        ))}
      <Text size="sm" c="dimmed">
        Roles in a single client are under Access, beside the client.
      </Text>
      {prompt}
    </Stack>
  );
};

const PAGE_SIZE = 50;

const nextOf = (page: readonly { id: number }[]): number | undefined =>
  page.length < PAGE_SIZE ? undefined : page.at(-1)?.id;

type PersonCredentialsProps = { email: string };

/** The sessions and API tokens of a person, for users who may change the person. */
const PersonCredentials = ({ email }: PersonCredentialsProps) => {
  const sessions = useInfiniteQuery(
    trpc.sessions.listByUser.infiniteQueryOptions({ email, limit: PAGE_SIZE }, { getNextPageParam: nextOf }),
  );
  const [toRevoke, setToRevoke] = useState<Token | null>(null);
  const tokens = useInfiniteQuery(
    trpc.tokens.listByUser.infiniteQueryOptions({ email, limit: PAGE_SIZE }, { getNextPageParam: nextOf }),
  );
  const { revokeSession, revokeToken } = useRevocation();
  return (
    <>
      <Stack className="card">
        <Title order={2} size="h3">
          Sessions
        </Title>
        <ProblemAlert error={revokeSession.error} />
        <SessionTable pages={sessions} onRevoke={({ id }) => revokeSession.mutate({ email, id })} />
      </Stack>
      <Stack className="card">
        <Title order={2} size="h3">
          API tokens
        </Title>
        <ProblemAlert error={revokeToken.error} />
        <TokenTable
          pages={tokens}
          onRevoke={setToRevoke}
          empty={<Text c="dimmed">There are no API tokens.</Text>}
        />
      </Stack>
      <ConfirmModal
        isOpen={toRevoke !== null}
        title="Revoke the token?"
        action="Revoke"
        onConfirm={() => toRevoke && revokeToken.mutate({ email, id: toRevoke.id })}
        onClose={() => setToRevoke(null)}
      >
        Programs that use {toRevoke && labelOf(toRevoke)} lose their access.
      </ConfirmModal>
    </>
  );
};

const useRevocation = () => {
  const queryClient = useQueryClient();
  const report = (message: string) => () => {
    for (const router of [trpc.sessions.listByUser, trpc.tokens.listByUser, trpc.audit])
      void queryClient.invalidateQueries(router.pathFilter());
    notify(message);
  };
  return {
    revokeSession: useMutation(
      trpc.sessions.revokeForUser.mutationOptions({ onSuccess: report('Session revoked.') }),
    ),
    revokeToken: useMutation(
      trpc.tokens.revokeForUser.mutationOptions({ onSuccess: report('Token revoked.') }),
    ),
  };
};

type Identity = Outputs['users']['identities'][number];
type PersonIdentitiesProps = { email: string; mayUnlink: boolean };

/** The identity providers at which a person logs in. Renders nothing for people who use their password. */
const PersonIdentities = ({ email, mayUnlink }: PersonIdentitiesProps) => {
  const queryClient = useQueryClient();
  const identities = useQuery(trpc.users.identities.queryOptions({ email }));
  const [toUnlink, setToUnlink] = useState<Identity | null>(null);
  const unlink = useMutation(
    trpc.users.unlinkIdentity.mutationOptions({
      onSuccess: () => {
        for (const router of [trpc.users.identities, trpc.sessions.listByUser, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
        notify('The account was unlinked.');
      },
    }),
  );
  if (!identities.data || identities.data.length === 0) return <ProblemAlert error={identities.error} />;
  return (
    <Stack className="card" component="section" aria-labelledby="identities">
      <Title order={2} size="h3" id="identities">
        Single sign-on
      </Title>
      <ProblemAlert error={unlink.error} />
      <Stack component="ul" className="plain-list" gap="sm">
        {identities.data.map((identity) => (
          <Group component="li" key={identity.id} justify="space-between" wrap="nowrap">
            <div>
              <Text fw={600} className="break-words">
                {identity.connection_name}
              </Text>
              <Text size="sm" c="dimmed" className="break-words">
                As {identity.email},{' '}
                {identity.last_login ? `last login ${agoOf(identity.last_login)}` : 'no login yet'}
              </Text>
            </div>
            {mayUnlink && (
              <RemoveButton
                label={`Unlink ${identity.connection_name}`}
                onClick={() => setToUnlink(identity)}
              />
            )}
          </Group>
        ))}
      </Stack>
      <ConfirmModal
        isOpen={toUnlink !== null}
        title={`Unlink ${toUnlink?.connection_name ?? ''}?`}
        action="Unlink"
        onConfirm={() => toUnlink && unlink.mutate({ email, identity_id: toUnlink.id })}
        onClose={() => setToUnlink(null)}
      >
        <Text>
          Sessions and tokens from its logins end. The next login with it connects the account again.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};
