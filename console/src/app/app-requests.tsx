import { Stack, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { FlagField } from '../components/flag-field.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { PendingRequests } from '../requests/pending-requests.tsx';

type Props = { id: string; isReadOnly: boolean };

/** Whether people may ask for the app (saved at once), and the pending requests. */
export const AppRequests = ({ id, isReadOnly }: Props) => {
  const queryClient = useQueryClient();
  const query = trpc.apps.status.queryOptions({ app_id: id });
  const status = useQuery(query);
  const update = useMutation(
    trpc.apps.update.mutationOptions({
      onSettled: () =>
        Promise.all(
          [trpc.apps.status, trpc.access.matrix, trpc.audit].map((filter) =>
            queryClient.invalidateQueries(filter.pathFilter()),
          ),
        ),
    }),
  );
  return (
    <>
      <Stack className="card" component="section" aria-labelledby="asking">
        <Title order={2} size="h3" id="asking">
          Access requests
        </Title>
        <ProblemAlert error={status.error ?? update.error} />
        <FlagField
          label="People may ask for this app"
          description="Members of the client who do not have it see it on Home, and ask its admins."
          checked={
            update.isPending ? update.variables.is_requestable : (status.data?.is_requestable ?? false)
          }
          isReadOnly={isReadOnly}
          disabled={!status.data}
          onChange={({ currentTarget }) =>
            update.mutate({ app_id: id, is_requestable: currentTarget.checked })
          }
        />
      </Stack>
      <PendingRequests subject={{ app: id }} />
    </>
  );
};
