import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import { trpc } from '../api.ts';
import { Notice } from '../components/notice.tsx';
import { lazyPart } from '../lazy-part.ts';
import { CLIENT_ADMIN, isSuperuser } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import type { Client } from './use-client-form.ts';

const GiveRolesDialog = lazyPart(() => import('../roles/give-roles-dialog.tsx'), 'GiveRolesDialog');

/** Says that the client has no admin, with the way to the first. Nothing while it has one. */
export const NoAdminNotice = ({ client: { id, name } }: { client: Client }) => {
  const { roles } = useSession();
  const [isAdding, setAdding] = useState(false);
  const [overview] = useQuery(trpc.clients.overview.queryOptions({ client: id })).data ?? [];
  const invited = useQuery(
    trpc.invitations.search.queryOptions({ client: id }, { enabled: overview?.admins === 0 }),
  );
  const waiting = [invited.data ?? []].flat().find((one) => one.roles.includes(CLIENT_ADMIN));
  return (
    <>
      {overview?.admins === 0 && (
        <Notice>
          <Group justify="space-between" gap="xs">
            <span>
              <strong>{name} has no admin yet.</strong>{' '}
              {waiting ? (
                <>
                  {waiting.email} is invited as an admin, and has not accepted yet.{' '}
                  <Link
                    className="action-link"
                    style={{ textDecoration: 'underline' }}
                    to="/invitations"
                    search={{ search: waiting.email }}
                  >
                    Show the invitation
                  </Link>
                </>
              ) : (
                'An admin invites people and gives them apps.'
              )}
            </span>
            {isSuperuser(roles) && (
              <Button size="xs" {...(waiting && { variant: 'default' })} onClick={() => setAdding(true)}>
                {waiting ? 'Add another admin' : 'Add an admin'}
              </Button>
            )}
          </Group>
        </Notice>
      )}
      {isAdding && (
        <Suspense>
          <GiveRolesDialog client={{ id, name }} roles={[CLIENT_ADMIN]} onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </>
  );
};
