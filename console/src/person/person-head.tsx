import { Avatar, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure, useDocumentTitle } from '@mantine/hooks';
import { IconEye } from '@tabler/icons-react';
import { useAccessRefresh } from '../access/use-access-refresh.ts';
import { steward, trpc } from '../api.ts';
import { ActionDialog, useAction } from '../components/action-dialog.tsx';
import { useFocusedHeading } from '../components/focused-heading.ts';
import { PendingAddress } from '../components/pending-address.tsx';
import { StatusText } from '../components/status-text.tsx';
import { canView } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { avatarOf } from '../people/avatar-of.ts';
import { nameOf } from '../people/name-of.ts';
import { HomePreview } from './home-preview.tsx';
import { OffboardDialog } from './offboard-dialog.tsx';
import { PersonFacts } from './person-facts.tsx';
import { PersonMenu } from './person-menu.tsx';
import type { PersonState } from './person-state.ts';
import { RunningLooks } from './running-looks.tsx';
import type { PersonData } from './use-person.ts';

const STATES = {
  active: { label: 'Active', color: 'green' },
  suspended: { label: 'Suspended', color: 'yellow' },
  inactive: { label: 'Inactive', color: 'gray' },
} as const;

/** The name of the person, their state, and the actions for them. */
export const PersonHead = ({ data, state }: { data: PersonData; state: PersonState }) => {
  const { person, screen, may } = data;
  const { roles, user } = useSession();
  const name = nameOf(person);
  const isSelf = user.email === person.email;
  const mayChangeAddress = !isSelf && (roles.is_superuser ? may.can_revoke : may.can_update);
  const [isOffboarding, offboarding] = useDisclosure();
  const heading = useFocusedHeading();
  useDocumentTitle(`${name} – Steward`);
  const { label, color } = STATES[state];
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
              <StatusText label={label} color={color} />
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
          {state === 'inactive' && may.can_update && <Reactivation email={person.email} name={name} />}
          {may.can_deactivate && (
            <>
              {state !== 'inactive' && (
                <Button variant="default" onClick={offboarding.open}>
                  Offboard…
                </Button>
              )}
              <OffboardDialog
                email={person.email}
                name={name}
                isOpen={isOffboarding}
                onClose={offboarding.close}
              />
            </>
          )}
          <PersonMenu
            person={person}
            may={may}
            isSelf={isSelf}
            mayChangeAddress={mayChangeAddress}
            isActive={state !== 'inactive'}
            onOffboard={offboarding.open}
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

/** Reactivates an inactive person. */
const Reactivation = ({ email, name }: { email: string; name: string }) => {
  const [isOpen, { open, close }] = useDisclosure();
  const refresh = useAccessRefresh();
  const reactivate = useAction(trpc.users.update.mutationOptions(), {
    message: `${name} is active again.`,
    onDone: () => {
      close();
      void refresh();
    },
  });
  return (
    <>
      <Button variant="default" onClick={open}>
        Reactivate…
      </Button>
      <ActionDialog
        isOpen={isOpen}
        title={`Reactivate ${name}?`}
        action="Reactivate"
        run={() => reactivate.mutate({ email, is_active: true })}
        state={reactivate}
        onClose={close}
      >
        They may log in again. Apps, groups and roles that have ended do not come back: give them again.
      </ActionDialog>
    </>
  );
};
