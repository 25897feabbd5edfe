import { Button, Group, Progress, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { createLink, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';

type Step = { key: keyof Outputs['attention']['setup']; title: string; text: string; action: ReactNode };

const StepLink = createLink((props: { children: ReactNode; href?: string }) => (
  <Button component="a" variant="default" size="xs" {...props} />
));

/** What a new installation or client still needs until someone opens an app. Ticks itself, and goes when an app was opened. */
export const SetupSteps = ({ client }: { client: number | undefined }) => {
  const { roles } = useSession();
  const [isHidden, setHidden] = useLocalStorage({
    key: `setup-hidden-${client ?? 'all'}`,
    defaultValue: false,
  });
  const enabled = mayDo(roles, 'manage-people', client) && !isHidden;
  const setup = useQuery(trpc.attention.setup.queryOptions({ client }, { enabled })).data;
  const steps = useSteps(client);
  if (!enabled || !setup || setup.visit) return null;
  const done = steps.filter(({ key }) => setup[key]).length;
  return (
    <Stack className="card" component="section" aria-labelledby="first-steps" mb="lg" gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h3" id="first-steps">
          First steps
        </Title>
        <Button variant="subtle" size="compact-sm" onClick={() => setHidden(true)}>
          Hide
        </Button>
      </Group>
      <Group gap="sm" wrap="nowrap">
        <Progress value={(100 * done) / steps.length} flex={1} aria-label="Finished steps" />
        <Text size="sm" c="dimmed" className="nowrap">
          {done} of {steps.length}
        </Text>
      </Group>
      <Stack component="ol" className="plain-list divided" gap="xs">
        {steps.map(({ key, ...step }) => (
          <StepRow key={key} {...step} isDone={setup[key]} />
        ))}
      </Stack>
    </Stack>
  );
};

const StepRow = ({ title, text, action, isDone }: Omit<Step, 'key'> & { isDone: boolean }) => (
  <Group component="li" wrap="nowrap" align="flex-start" gap="sm">
    <ThemeIcon
      size={22}
      radius="xl"
      variant={isDone ? 'filled' : 'default'}
      role="img"
      aria-label={isDone ? 'Done' : 'Not done yet'}
    >
      {isDone && <IconCheck size={14} stroke={3} aria-hidden />}
    </ThemeIcon>
    <Group flex={1} justify="space-between" gap="xs">
      <div>
        <Text fw={isDone ? 400 : 600} {...(isDone && { c: 'dimmed' })}>
          {title}
        </Text>
        {!isDone && (
          <Text size="sm" c="dimmed">
            {text}
          </Text>
        )}
      </div>
      {!isDone && action}
    </Group>
  </Group>
);

const useSteps = (client: number | undefined): Step[] => {
  const { roles } = useSession();
  const clients = useQuery(trpc.clients.list.queryOptions({})).data ?? [];
  const apps = useQuery(trpc.apps.list.queryOptions({ client, limit: 1 })).data ?? [];
  const one = client ?? (clients.length === 1 ? clients[0]?.id : undefined);
  const [app] = apps;
  const ofClient = (tab: 'people' | 'sign-in', label: string): ReactNode =>
    one === undefined ? (
      <StepLink to="/clients" search={{ search: undefined, sort: undefined }}>
        Choose a client
      </StepLink>
    ) : (
      <StepLink to="/clients/$id" params={{ id: String(one) }} search={{ tab }}>
        {label}
      </StepLink>
    );
  return [
    {
      key: 'app',
      title: 'Add an app',
      text: mayDo(roles, 'operate')
        ? 'An address is enough. A package of the app can follow.'
        : 'Ask the operator of this service to add the first one.',
      action: mayDo(roles, 'operate') && (
        <StepLink to="/apps" search={{ client }}>
          Add an app
        </StepLink>
      ),
    },
    {
      key: 'mail',
      title: 'Name a mail server',
      text: roles.is_superuser
        ? 'Set SMTP_URL and restart. Until then, you copy the links of invitations and send them yourself.'
        : 'Ask the operator. Until then, you copy the links of invitations and send them yourself.',
      action: null,
    },
    {
      key: 'admin',
      title: 'Give the client an admin',
      text: 'An admin invites people and decides who opens which app.',
      action: ofClient('people', 'Add an admin'),
    },
    {
      key: 'sign_in',
      title: 'Choose how people sign in',
      text: 'With a password, a second factor, passkeys, or your identity provider.',
      action: ofClient('sign-in', 'Set up sign-in'),
    },
    {
      key: 'invitation',
      title: 'Invite someone',
      text: 'Choose the apps that they may open in the same step.',
      action: (
        <StepLink to="/invite" search={{ client: one }}>
          Invite
        </StepLink>
      ),
    },
    {
      key: 'access',
      title: 'Let them open the app',
      text: 'Directly or by a group. It counts as soon as an invited person has joined.',
      action: app && (
        <StepLink to="/apps/$id" params={{ id: app.id }} search={{ tab: 'people' }}>
          People with access
        </StepLink>
      ),
    },
    {
      key: 'visit',
      title: 'First visit',
      text: 'Someone whom you invited opens the app. Then this list goes.',
      action: app && (
        <Link className="action-link" to="/apps/$id" params={{ id: app.id }}>
          {app.label}
        </Link>
      ),
    },
  ];
};
