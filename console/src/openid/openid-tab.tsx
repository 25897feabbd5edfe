import { Alert, Button, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import type { Column } from '../components/column.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { DateText, timeText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { StatusText } from '../components/status-text.tsx';
import { OpenidForm } from './openid-form.tsx';
import { type OpenidApp, openidQuery, useNewSecret, useOpenidRemoval } from './use-openid.ts';

/** How an app logs people in with OpenID Connect, for those who may change the app. */
export const OpenidTab = ({ app }: { app: App }) => {
  const openid = useQuery(openidQuery(app.id));
  return (
    <>
      <ProblemAlert error={openid.error} />
      {openid.isPending && <Skeleton height={320} />}
      {openid.data === null && <NotSetUp app={app} />}
      {openid.data && <SetUp app={app} openid={openid.data} />}
    </>
  );
};

const NotSetUp = ({ app }: { app: App }) => {
  const [isOpen, { open, close }] = useDisclosure();
  if (isOpen) return <OpenidForm app={app} onCancel={close} />;
  return (
    <EmptyState title="Log in with OpenID Connect" action={<Button onClick={open}>Set up</Button>}>
      Apps that support OpenID Connect, such as Superset, Grafana and Metabase, log people in with Steward.
    </EmptyState>
  );
};

const SetUp = ({ app, openid }: { app: App; openid: OpenidApp }) => (
  <Stack>
    <WhatAppNeeds openid={openid} />
    <OpenidForm app={app} openid={openid} />
    <Logouts openid={openid} />
    <OpenidRemoval app={app} />
  </Stack>
);

/** Removes the OpenID settings of an app, after a question. */
const OpenidRemoval = ({ app }: { app: App }) => {
  const [isAsking, { open, close }] = useDisclosure();
  const { remove, isPending, error, prompt } = useOpenidRemoval(app.id);
  return (
    <Stack className="card" align="flex-start" component="section" aria-labelledby="openid-removal">
      <Title order={2} size="h3" id="openid-removal">
        Remove OpenID Connect
      </Title>
      <ProblemAlert error={error} />
      <Button color="red" variant="light" loading={isPending} onClick={open}>
        Remove…
      </Button>
      {prompt}
      <ConfirmModal
        isOpen={isAsking}
        title="Remove OpenID Connect?"
        action="Remove"
        isDanger
        onConfirm={remove}
        onClose={close}
      >
        <Text>
          All logins to {app.label} end. Each is sent to its back-channel logout address, if it has one. Its
          secret is deleted. People cannot log in to it with Steward until it is set up again.
        </Text>
      </ConfirmModal>
    </Stack>
  );
};

/** The values to enter in the app. Its secret is shown right after it was made. */
const WhatAppNeeds = ({ openid }: { openid: OpenidApp }) => {
  const { issuer, client_id: clientId, is_public: isPublic } = openid;
  return (
    <section className="card" aria-labelledby="openid-needs">
      <Stack maw="40rem">
        <Title order={2} size="h3" id="openid-needs">
          What the app needs
        </Title>
        <Text c="dimmed">Enter these values in the app, and turn PKCE on in it, with the method S256.</Text>
        <SecretField label="Issuer" value={issuer} isSecondary />
        <SecretField
          label="Discovery address"
          value={`${issuer}/.well-known/openid-configuration`}
          isSecondary
        />
        <SecretField label="Client ID" value={clientId} isSecondary />
        {isPublic ? (
          <Text size="sm" c="dimmed">
            A public app has no secret.
          </Text>
        ) : (
          <ClientSecret openid={openid} />
        )}
      </Stack>
    </section>
  );
};

const ClientSecret = ({ openid }: { openid: OpenidApp }) => {
  const { client_id: clientId, has_secret: hasSecret, previous_until: until } = openid;
  const [isAsking, { open, close }] = useDisclosure();
  const { create, isPending, made, error, prompt } = useNewSecret(clientId);
  return (
    <>
      {made && (
        <>
          <Alert color="orange" variant="light">
            Copy the secret now. It is not shown again.
          </Alert>
          <SecretField key={made.secret} label="Client secret" value={made.secret} />
        </>
      )}
      {!made && (
        <Text size="sm" c="dimmed">
          {hasSecret
            ? 'The client secret was shown once, when it was made. If you have lost it, make a new one.'
            : 'The app has no client secret yet, and needs one to log people in.'}
        </Text>
      )}
      {until && <Text size="sm">The previous secret works until {timeText(until)}.</Text>}
      <ProblemAlert error={error} />
      <div>
        <Button
          {...(hasSecret && { variant: 'default' })}
          loading={isPending}
          onClick={hasSecret ? open : create}
        >
          New secret
        </Button>
      </div>
      {prompt}
      <ConfirmModal
        isOpen={isAsking}
        title="Make a new secret?"
        action="Make it"
        onConfirm={create}
        onClose={close}
      >
        <Text>
          Enter it in the app within 24 hours. Until then, the current one works, too.
          {until && ' The one before it stops working at once.'}
        </Text>
      </ConfirmModal>
    </>
  );
};

const PAGE_SIZE = 50;
const REFRESH_MS = 5_000;

type Logout = Outputs['openid']['logouts'][number];

/** The logouts that are sent to the app, and their results. */
const Logouts = ({ openid: { client_id: id, backchannel_logout_uri: uri } }: { openid: OpenidApp }) => {
  const logouts = useInfiniteQuery(
    trpc.openid.logouts.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        refetchInterval: ({ state }) => (state.data?.pages.some(hasWaiting) ? REFRESH_MS : false),
      },
    ),
  );
  return (
    <section aria-labelledby="openid-logouts">
      <Title order={2} size="h3" mb="sm" id="openid-logouts">
        Logouts sent to the app
      </Title>
      <PagedTable
        label="Logouts sent to the app"
        columns={COLUMNS}
        pages={logouts}
        keyOf={({ id }) => id}
        empty={
          uri === '' ? (
            <EmptyState title="No logouts are sent to the app">
              Enter its back-channel logout address above. Each login that ends is then sent there.
            </EmptyState>
          ) : (
            <EmptyState title="No logouts yet">
              When a login to the app ends, the result appears here, and is kept for seven days.
            </EmptyState>
          )
        }
      />
    </section>
  );
};

const hasWaiting = (page: readonly Logout[]): boolean => page.some((logout) => stateOf(logout) === 'waiting');

const stateOf = ({ delivered_at: delivered, failed_at: failed }: Logout) => {
  if (delivered) return 'delivered';
  return failed ? 'failed' : 'waiting';
};

const STATES = {
  waiting: { label: 'Waiting', color: 'yellow' },
  delivered: { label: 'Delivered', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
} as const;

/** What the app answered, or why it did not. */
const answerOf = ({ attempts, response_status: status, error }: Logout): string =>
  attempts === 0 ? 'Not sent yet' : (error ?? String(status ?? 'No response'));

const COLUMNS: Column<Logout>[] = [
  {
    heading: 'Person',
    width: 'minmax(10rem, 2fr)',
    cell: ({ email, subject }) =>
      email === null ? (
        <span title={subject}>{subject}</span>
      ) : (
        <Link className="text-link" to="/people/$email" params={{ email }} title={email}>
          {email}
        </Link>
      ),
  },
  {
    heading: 'Result',
    width: '7rem',
    onPhone: 'corner',
    cell: (logout) => <StatusText {...STATES[stateOf(logout)]} />,
  },
  {
    heading: 'Answer',
    width: '2fr',
    cell: (logout) => <span title={answerOf(logout)}>{answerOf(logout)}</span>,
  },
  { heading: 'Attempts', width: '5rem', cell: ({ attempts }) => attempts },
  { heading: 'Logged out', width: '9.5rem', cell: ({ ended_at: date }) => <DateText date={date} /> },
  {
    heading: 'Next attempt',
    width: '9.5rem',
    cell: ({ next_attempt_at: date }) => <DateText date={date} none="–" />,
  },
];
