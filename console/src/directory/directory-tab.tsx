import { Button, Group, Skeleton, Stack, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';
import { AttributeMapping } from './attribute-mapping.tsx';
import { Changes } from './changes.tsx';
import { Connection } from './connection.tsx';
import { HeldPeople } from './held-people.tsx';
import { useDirectory } from './use-directory.ts';
import { useNewToken } from './use-new-token.ts';

/** The scope by which a service account speaks for a directory. */
const SCOPE = 'scim';
/** Of a client. */
const MAX_ACCOUNTS = 200;

type Props = { client: number; isShown: boolean };

/** The directory, such as Microsoft Entra ID, that states who the people of a client are. For those who may configure the client. */
export const DirectoryTab = ({ client, isShown }: Props) => {
  const accounts = useQuery(
    trpc.serviceAccounts.list.queryOptions({ client, limit: MAX_ACCOUNTS }, { enabled: isShown }),
  );
  const directory = useDirectory(client, isShown);
  const own = accounts.data?.filter(({ scopes }) => scopes?.includes(SCOPE));
  const token = useNewToken(client, own?.[0]?.id);
  if (!own || !directory.data) {
    const error = accounts.error ?? directory.error;
    return error ? <ProblemAlert error={error} /> : <Skeleton height={320} />;
  }
  return (
    <Stack>
      {own.length === 0 ? (
        <>
          <ProblemAlert error={token.error} />
          <EmptyState
            title="No directory is connected"
            action={
              <Button loading={token.isPending} onClick={token.create}>
                Connect a directory
              </Button>
            }
          >
            Connect a directory, such as Microsoft Entra ID or Okta. It adds people to this client, keeps
            their names and groups up to date, and ends their access when they leave.
          </EmptyState>
        </>
      ) : (
        <>
          <HeldPeople directory={directory.data} />
          <Connection directory={directory.data} accounts={own} token={token} />
          <Changes directory={directory.data} />
          <AttributeMapping directory={directory.data} />
          <RequestLog client={client} />
        </>
      )}
      {token.prompt}
    </Stack>
  );
};

/** Of at most 1,000 requests that are kept. */
const PAGE_SIZE = 200;

type Request = Outputs['directory']['requests'][number];

/** The last requests of a directory, and how they were answered. */
const RequestLog = ({ client }: { client: number }) => {
  const [isFailuresOnly, setFailuresOnly] = useState(false);
  const requests = useInfiniteQuery(
    trpc.directory.requests.infiniteQueryOptions(
      { id: client, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = requests;
  // A failure may be anywhere.
  useEffect(() => {
    if (isFailuresOnly && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isFailuresOnly, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const failures = isFailuresOnly &&
    requests.data && { pages: requests.data.pages.map((page) => page.filter(hasFailed)) };
  return (
    <section aria-labelledby="directory-requests">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h3" id="directory-requests">
          Requests from the directory
        </Title>
        <NamedSwitch
          label="Only failures"
          checked={isFailuresOnly}
          onChange={({ currentTarget }) => setFailuresOnly(currentTarget.checked)}
        />
      </Group>
      <PagedTable
        label="Requests from the directory"
        columns={COLUMNS}
        pages={{ ...requests, data: failures || requests.data }}
        keyOf={({ id }) => id}
        empty={
          isFailuresOnly ? (
            <EmptyState title="No failures">All requests of the last seven days have succeeded.</EmptyState>
          ) : (
            <EmptyState title="No requests yet">
              What the directory sends appears here, and is kept for seven days.
            </EmptyState>
          )
        }
      />
    </section>
  );
};

const hasFailed = ({ status }: Request): boolean => status >= 400;

/** Refused until an admin approves. */
const HELD = 429;

const colorOf = ({ status }: Request) => {
  if (status === HELD) return 'yellow';
  return status >= 400 ? 'red' : 'green';
};

const COLUMNS: Column<Request>[] = [
  {
    heading: 'Time',
    width: '9.5rem',
    onPhone: 'plain-half',
    cell: ({ received_at: date }) => <DateText date={date} />,
  },
  { heading: 'Method', width: '4.5rem', onPhone: 'plain-half', cell: ({ method }) => method },
  {
    heading: 'Path',
    width: 'minmax(12rem, 2fr)',
    onPhone: 'title',
    cell: ({ path }) => <span title={path}>{path}</span>,
  },
  {
    heading: 'Status',
    width: '4.5rem',
    onPhone: 'corner',
    cell: (request) => <StatusText label={String(request.status)} color={colorOf(request)} />,
  },
  {
    heading: 'Error',
    width: 'minmax(12rem, 3fr)',
    onPhone: 'plain',
    cell: ({ error }) => error && <span title={error}>{error}</span>,
  },
];
