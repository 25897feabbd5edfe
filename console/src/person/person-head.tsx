import { Avatar, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure, useDocumentTitle } from '@mantine/hooks';
import { IconEye } from '@tabler/icons-react';
import { steward } from '../api.ts';
import { useFocusedHeading } from '../components/focused-heading.ts';
import { PendingAddress } from '../components/pending-address.tsx';
import { StatusText } from '../components/status-text.tsx';
import { canView, mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { avatarOf } from '../people/avatar-of.ts';
import { nameOf } from '../people/name-of.ts';
import { HomePreview } from './home-preview.tsx';
import { OffboardDialog, ReactivateButton, SuspendDialog } from './lock-out.tsx';
import { PersonFacts } from './person-facts.tsx';
import { PersonMenu } from './person-menu.tsx';
import { clientNames, type PersonState } from './person-state.ts';
import { RunningLooks } from './running-looks.tsx';
import type { PersonData } from './use-person.ts';

/** The name of the person, their state, and the actions for them. */
export const PersonHead = ({ data, state }: { data: PersonData; state: PersonState }) => {
  const { person, screen, may } = data;
  const { roles, user } = useSession();
  const name = nameOf(person);
  const isSelf = user.email === person.email;
  const mayChangeAddress = !isSelf && (roles.is_superuser ? may.can_revoke : may.can_update);
  const heading = useFocusedHeading();
  useDocumentTitle(`${name} – Steward`);
  const isActive = state === 'active';
  const pending = screen.account?.pending_email;
  return (
    <Stack gap="md" mb="xs">
      <Group justify="space-between" align="flex-start" gap="md">
        <Group gap="md" wrap="nowrap" align="flex-start" flex="1 1 18rem" miw={0}>
          <Avatar src={avatarOf(person)} alt="" size={52} />
          <Stack gap={2} miw={0}>
            <Group gap="xs">
              <Title order={1} ref={heading} tabIndex={-1} className="screen-title break-words">
                {name}
              </Title>
              <StatusText label={isActive ? 'Active' : 'Suspended'} color={isActive ? 'green' : 'yellow'} />
            </Group>
            <Text c="dimmed" className="break-words">
              {person.email}
            </Text>
          </Stack>
        </Group>
        <Group gap="sm">
          {may.can_deactivate && (
            <HomePreview
              email={person.email}
              name={name}
              label={`See as ${person.first_name || 'them'}`}
              icon={<IconEye size={16} stroke={1.6} aria-hidden />}
            />
          )}
          {may.can_deactivate && <LockOut data={data} state={state} name={name} />}
          <PersonMenu
            person={person}
            may={may}
            isSelf={isSelf}
            mayChangeAddress={mayChangeAddress}
            isActive={state !== 'inactive'}
          />
        </Group>
      </Group>
      {pending && (
        <PendingAddress
          email={person.email}
          pending={pending}
          cancel={
            mayChangeAddress
              ? () => steward.api.users.cancelEmailChange.mutate({ email: person.email })
              : null
          }
        />
      )}
      {canView(roles) && <RunningLooks email={person.email} />}
      <PersonFacts data={data} />
    </Stack>
  );
};

type LockOutProps = { data: PersonData; state: PersonState; name: string };

/** Suspends or reactivates the person, or ends all that they have. */
const LockOut = ({ data: { person, may, memberships }, state, name }: LockOutProps) => {
  const { roles } = useSession();
  const [isSuspending, suspending] = useDisclosure();
  const [isOffboarding, offboarding] = useDisclosure();
  const subject = { email: person.email, name };
  const managed = memberships.filter(({ client }) => mayDo(roles, 'manage-people', client));
  const [only] = managed.length === 1 ? managed : [];
  // The account is active, but not the membership. Several are reactivated one by one.
  const client = state === 'suspended' && only ? { id: only.client, name: only.client_name } : undefined;
  const mayReactivate = state === 'suspended' ? client !== undefined || may.is_shared : !may.is_shared;
  return (
    <>
      {state === 'active' ? (
        <Button variant="default" onClick={suspending.open}>
          Suspend…
        </Button>
      ) : (
        mayReactivate && <ReactivateButton {...subject} client={client} />
      )}
      <Button variant="light" color="red" onClick={offboarding.open}>
        Offboard…
      </Button>
      <SuspendDialog
        {...subject}
        clients={may.is_shared ? clientNames(managed) : null}
        isOpen={isSuspending}
        onClose={suspending.close}
      />
      <OffboardDialog {...subject} isOpen={isOffboarding} onClose={offboarding.close} />
    </>
  );
};
