import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { shortDateOf } from '../components/date-text.tsx';
import { useSession } from '../layout/use-session.ts';
import { LogOutDialog } from './log-out-dialog.tsx';
import { PasswordLinkDialog } from './password-link-dialog.tsx';
import { PersonCredentials } from './person-credentials.tsx';
import { PersonFactors } from './person-factors.tsx';
import { PersonIdentities } from './person-identities.tsx';
import { PersonRoles } from './person-roles.tsx';
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
