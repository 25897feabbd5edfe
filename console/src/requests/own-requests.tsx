import { Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';
import { lazyPart } from '../lazy-part.ts';
import { type AccessRequest, daysText, useOwnRequests } from './use-requests.ts';

type RequestableApp = Outputs['requests']['requestable'][number];

/** Loaded on demand: no other part of Home needs its fields. */
const AskDialog = lazyPart(() => import('./ask-dialog.tsx'), 'AskDialog');

const MAX_READ = 50;
const DECISION_SHOWN_MS = 30 * 86_400_000;

/** For members: their requests, and the apps that they may ask for. */
export const OwnRequests = () => {
  const requests = useQuery(trpc.requests.list.queryOptions({ limit: MAX_READ }));
  const apps = useQuery(trpc.requests.requestable.queryOptions());
  const [asking, setAsking] = useState<RequestableApp | null>(null);
  return (
    <>
      <ProblemAlert error={requests.error ?? apps.error} />
      <RequestList requests={latest(requests.data ?? [])} />
      <RequestableApps apps={(apps.data ?? []).filter((app) => !app.is_pending)} onAsk={setAsking} />
      <Suspense>{asking && <AskDialog app={asking} onClose={() => setAsking(null)} />}</Suspense>
    </>
  );
};

/** The last request for each app, if it is pending or was decided recently. */
const latest = (requests: readonly AccessRequest[]): AccessRequest[] => {
  const since = Date.now() - DECISION_SHOWN_MS;
  return requests
    .filter(({ app }, index) => requests.findIndex((other) => other.app === app) === index)
    .filter(
      ({ status, decided_at: at }) =>
        status === 'pending' ||
        ((status === 'approved' || status === 'denied') && at !== null && at.getTime() > since),
    );
};

const RequestList = ({ requests }: { requests: AccessRequest[] }) => {
  const { withdraw } = useOwnRequests();
  if (requests.length === 0) return null;
  return (
    <Stack className="card" component="section" aria-labelledby="own-requests" mt="lg">
      <Title order={2} size="h3" id="own-requests">
        Your requests
      </Title>
      <ProblemAlert error={withdraw.error} />
      <Stack component="ul" m={0} p={0} className="divided" gap="sm">
        {requests.map((request) => (
          <Group key={request.id} component="li" justify="space-between" gap="xs">
            <Stack gap={0} flex="1 1 12rem" miw={0}>
              <Group gap="xs">
                <Text span fw={600}>
                  {request.app_label}
                </Text>
                <RequestStatus request={request} />
              </Group>
              <Text size="sm" c="dimmed" component="div" className="break-words">
                <Facts request={request} />
              </Text>
            </Stack>
            {request.status === 'pending' && (
              <Button
                variant="default"
                size="compact-sm"
                aria-label={`Withdraw the request for ${request.app_label}`}
                loading={withdraw.isPending}
                onClick={() => withdraw.mutate({ id: request.id })}
              >
                Withdraw
              </Button>
            )}
          </Group>
        ))}
      </Stack>
    </Stack>
  );
};

const RequestStatus = ({ request: { status } }: { request: AccessRequest }) => {
  if (status === 'approved') return <StatusText label="Approved" color="green" />;
  if (status === 'denied') return <StatusText label="Denied" color="red" />;
  return <StatusText label="Pending" color="yellow" />;
};

/** The content of the request; after the decision, also who made it, and their words. */
const Facts = ({ request }: { request: AccessRequest }) => {
  const { status, created_at, days, reason, decided_at, decided_by, decision_reason, expires_at } = request;
  const words = status === 'pending' ? reason : decision_reason;
  return (
    <>
      <div>
        {status === 'pending' ? (
          <>
            Asked <DateText date={created_at} />, {daysText(days)}
          </>
        ) : (
          <>
            {decided_by !== null && `By ${decided_by}, `}
            <DateText date={decided_at} />
            {expires_at && (
              <>
                , until <DateText date={expires_at} />
              </>
            )}
          </>
        )}
      </div>
      {words !== '' && <div>“{words}”</div>}
    </>
  );
};

type AppsProps = { apps: RequestableApp[]; onAsk: (app: RequestableApp) => void };

const RequestableApps = ({ apps, onAsk }: AppsProps) => {
  if (apps.length === 0) return null;
  const isOfOneClient = apps.every(({ client }) => client === apps[0]?.client);
  return (
    <section aria-labelledby="requestable">
      <Title order={2} mt="lg" mb="sm" id="requestable">
        Apps you can ask for
      </Title>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3, xl: 4 }}>
        {apps.map((app) => (
          <Card key={app.id} withBorder>
            <Stack gap="xs" justify="space-between" h="100%">
              <div>
                <Title order={3} size="h4">
                  {app.label}
                </Title>
                {!isOfOneClient && <Text size="sm">{app.client_name}</Text>}
                <Text c="dimmed" size="sm">
                  {app.description}
                </Text>
              </div>
              <Button
                variant="default"
                mr="auto"
                aria-label={`Ask for access to ${app.label}`}
                onClick={() => onAsk(app)}
              >
                Ask for access
              </Button>
            </Stack>
          </Card>
        ))}
      </SimpleGrid>
    </section>
  );
};
