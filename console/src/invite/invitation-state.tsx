import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { InvitationStatus } from '../invitations/invitation-status.tsx';

const REFRESH_MS = 5_000;

/** The status of an invitation in view, reloaded until it is accepted or revoked. The calls of all rows share a request. */
export const InvitationState = ({ id }: { id: number }) => {
  const { data } = useQuery(
    trpc.invitations.get.queryOptions(
      { id },
      { refetchInterval: ({ state }) => (state.data?.status === 'pending' ? REFRESH_MS : false) },
    ),
  );
  return data ? <InvitationStatus status={data.status} /> : null;
};
