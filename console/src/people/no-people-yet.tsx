import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** Shown instead of the people of a client, or of all clients, that has none. */
export const NoPeopleYet = ({ client }: { client: number | undefined }) => {
  const { roles } = useSession();
  if (!mayDo(roles, 'manage-people', client))
    return <EmptyState title="No people yet">Client admins and people managers invite them.</EmptyState>;
  return (
    <EmptyState
      title="No people yet"
      action={
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/invite" search={{ client }} />}
        >
          Invite the first people
        </Button>
      }
    >
      People appear here when they have accepted their invitation.
    </EmptyState>
  );
};
