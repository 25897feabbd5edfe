import { Button, Group, Progress, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { createLink } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { useClients } from '../components/client-select.tsx';
import { lazyPart } from '../lazy-part.ts';
import { CLIENT_ADMIN, isSuperuser, mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

const NewApp = lazyPart(() => import('../apps/new-app.tsx'), 'NewApp');
const GiveRolesDialog = lazyPart(() => import('../roles/give-roles-dialog.tsx'), 'GiveRolesDialog');

type Setup = Outputs['attention']['setup'];
type Step = {
  key: keyof Setup;
  title: string;
  text: string;
  /** @param variant that of its button: the next step has the primary one */
  action: (variant: 'filled' | 'default') => ReactNode;
};

const StepLink = createLink(
  (props: { children: ReactNode; variant: 'filled' | 'default'; href?: string }) => (
    <Button component="a" size="xs" {...props} />
  ),
);

type Props = { client: number | undefined; setup: Setup; onHide: () => void };

/** What is done, what comes next, and what can wait. */
export const Steps = ({ client, setup, onHide }: Props) => {
  const { steps, others, dialogs } = useSteps(client);
  const done = steps.filter(({ key }) => setup[key]).length;
  const next = steps.find(({ key }) => !setup[key]);
  return (
    <Stack className="card" component="section" aria-labelledby="first-steps" mb="lg" gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h3" id="first-steps">
          First steps
        </Title>
        <Button variant="subtle" size="compact-sm" onClick={onHide}>
          Hide
        </Button>
      </Group>
      {next ? (
        <Group gap="sm" wrap="nowrap">
          <Progress value={(100 * done) / steps.length} flex={1} aria-label="Finished steps" />
          <Text size="sm" c="dimmed" className="nowrap">
            {done} of {steps.length}
          </Text>
        </Group>
      ) : (
        <Text>All done: the first person has opened an app.</Text>
      )}
      <Stack component="ol" className="plain-list divided" gap="xs">
        {steps.map((step) => (
          <StepRow key={step.key} step={step} isDone={setup[step.key]} isNext={step === next} />
        ))}
      </Stack>
      {others.length > 0 && (
        <>
          <Title order={3} size="h5" mt="xs">
            Now or later
          </Title>
          <Stack component="ul" className="plain-list divided" gap="xs">
            {others.map((step) => (
              <StepRow key={step.key} step={step} isDone={setup[step.key]} isNext={false} />
            ))}
          </Stack>
        </>
      )}
      {dialogs}
    </Stack>
  );
};

const StepRow = ({ step, isDone, isNext }: { step: Step; isDone: boolean; isNext: boolean }) => (
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
          {step.title}
        </Text>
        {!isDone && (
          <Text size="sm" c="dimmed">
            {step.text}
          </Text>
        )}
      </div>
      {!isDone && step.action(isNext ? 'filled' : 'default')}
    </Group>
  </Group>
);

/** The steps until someone opens an app, and what can wait. */
const useSteps = (id: number | undefined) => {
  const { roles, sends_mail } = useSession();
  const clients = useClients();
  const [app] = useQuery(trpc.apps.list.queryOptions({ client: id, limit: 1 })).data ?? [];
  const [isAddingApp, addingApp] = useDisclosure();
  const [isAddingAdmin, addingAdmin] = useDisclosure();
  const client =
    id === undefined && clients.length > 1 ? undefined : clients.find((one) => one.id === (id ?? one.id));
  const chooseClient = (variant: 'filled' | 'default') => (
    <StepLink to="/clients" search={{ search: undefined, sort: undefined }} variant={variant}>
      Choose a client
    </StepLink>
  );
  const steps: Step[] = [
    {
      key: 'app',
      title: 'Add an app',
      text: mayDo(roles, 'operate')
        ? 'Its address is enough.'
        : 'The operator of this service adds the first one.',
      action: (variant) =>
        mayDo(roles, 'operate') && (
          <Button size="xs" variant={variant} onClick={addingApp.open}>
            Add an app
          </Button>
        ),
    },
    {
      key: 'invitation',
      title: 'Invite someone to the app',
      text: sends_mail
        ? 'They get a mail with a link to set a password.'
        : 'They set a password with a link, which you copy and send: no mail server is set up.',
      action: (variant) => (
        <StepLink to="/invite" search={{ client: client?.id, app: app?.id }} variant={variant}>
          Invite
        </StepLink>
      ),
    },
    {
      key: 'visit',
      title: 'See them open it',
      text: 'The list of invitations shows who has accepted.',
      action: (variant) => (
        <StepLink to="/invitations" search={{ client: client?.id, status: 'all' }} variant={variant}>
          Invitations
        </StepLink>
      ),
    },
  ];
  const may = { admin: isSuperuser(roles), sign_in: mayDo(roles, 'configure', id) };
  const others: (Step & { key: keyof typeof may })[] = [
    {
      key: 'admin',
      title: 'Add an admin',
      text: 'An admin invites people and decides who opens which app.',
      action: (variant) =>
        client ? (
          <Button size="xs" variant={variant} onClick={addingAdmin.open}>
            Add an admin
          </Button>
        ) : (
          chooseClient(variant)
        ),
    },
    {
      key: 'sign_in',
      title: 'Ask for more than a password',
      text: 'Recommend or require a second factor, or connect your identity provider.',
      action: (variant) =>
        client ? (
          <StepLink
            to="/clients/$id"
            params={{ id: String(client.id) }}
            search={{ tab: 'sign-in' }}
            variant={variant}
          >
            Set up sign-in
          </StepLink>
        ) : (
          chooseClient(variant)
        ),
    },
  ];
  const dialogs = (
    <Suspense>
      {isAddingApp && <NewApp isOpen client={client?.id} onAdded={() => {}} onClose={addingApp.close} />}
      {isAddingAdmin && client && (
        <GiveRolesDialog client={client} roles={[CLIENT_ADMIN]} onClose={addingAdmin.close} />
      )}
    </Suspense>
  );
  return { steps, others: others.filter(({ key }) => may[key]), dialogs };
};
