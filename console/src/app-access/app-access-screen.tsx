import { Text } from '@mantine/core';
import { useInfiniteQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ExplainDialog } from '../access/explain-dialog.tsx';
import { trpc } from '../api.ts';
import { useClientOfApp } from '../apps/use-client-of-app.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { HeaderLink } from '../components/header-link.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { nameOf } from '../people/name-of.ts';
import { GrantDialog } from '../person/grant-dialogs.tsx';
import { accessColumns } from './access-columns.tsx';
import { CheckPerson } from './check-person.tsx';

const PAGE_SIZE = 100;
const route = getRouteApi('/apps/$id/access');

type Asked = { email: string; name: string; isGranting?: boolean };

/** Who can open an app, how, and until when; and a check of a person who is not listed. */
export const AppAccessScreen = () => {
  const { id } = route.useParams();
  const app = useSuspenseQuery(trpc.apps.get.queryOptions({ app_id: id })).data;
  const client = useClientOfApp(app);
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = (): void => setAsked(null);
  const people = useInfiniteQuery(
    trpc.access.effective.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email) },
    ),
  );
  return (
    <>
      <ScreenHeader
        title={`People with access to ${app.label}`}
        lead={
          <>
            {client && `${client.name}. `}
            <Link
              className="action-link"
              style={{ textDecoration: 'underline' }}
              to="/apps/$id"
              params={{ id }}
            >
              Back to the app
            </Link>
          </>
        }
        actions={
          <>
            <HeaderLink to="/apps/$id/compare" params={{ id }} search={{}}>
              Compare two people
            </HeaderLink>
            <HeaderLink to="/people" search={{ app: app.slug }}>
              Open in People
            </HeaderLink>
          </>
        }
      />
      {client && <CheckPerson client={client.id} onCheck={(email) => setAsked({ email, name: email })} />}
      {app.in_maintenance && <Text mb="md">The app is in maintenance, which keeps all out for now.</Text>}
      <PagedTable
        label="People with access"
        columns={accessColumns((person) => setAsked({ email: person.email, name: nameOf(person) }))}
        pages={people}
        keyOf={({ email }) => email}
        empty={<EmptyState title="No one has the app">Check a person to grant it.</EmptyState>}
      />
      {client && (
        <ExplainDialog
          question={asked && !asked.isGranting ? { ...asked, app: { ...app, client: client.id } } : null}
          onClose={close}
          onGrant={() => asked && setAsked({ ...asked, isGranting: true })}
        />
      )}
      {client && asked?.isGranting && (
        <GrantDialog
          email={asked.email}
          name={asked.name}
          granted={[]}
          app={{ id, client: client.id }}
          client={client.id}
          onGranted={close}
          onClose={close}
        />
      )}
    </>
  );
};
