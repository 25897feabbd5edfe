import { Button, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AttributeMapping } from './attribute-mapping.tsx';
import { Changes } from './changes.tsx';
import { Connection } from './connection.tsx';
import { HeldPeople } from './held-people.tsx';
import { RequestLog } from './request-log.tsx';
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
            A directory, such as Microsoft Entra ID or Okta, knows who works for you: once connected, it adds
            people to this client, keeps their names and groups up to date, and ends their access when they
            leave.
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
