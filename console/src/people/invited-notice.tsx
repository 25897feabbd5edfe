import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';

/** Links to the pending invitations of a person who was searched among the people. */
export const InvitedNotice = ({ search }: { search: string }) => {
  const found = useQuery(trpc.invitations.search.queryOptions({ search, limit: 1 }));
  if (!found.data?.length) return null;
  return (
    <Link className="text-link" to="/invitations" search={{ search }}>
      Pending invitations match “{search}”
    </Link>
  );
};
