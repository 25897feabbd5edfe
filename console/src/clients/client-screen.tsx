import { Group, Menu, Tabs } from '@mantine/core';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';
import { administers } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { ClientAdmins } from './client-admins.tsx';
import { ClientClosing } from './client-closing.tsx';
import { ClientGate } from './client-gate.tsx';
import { ClientRemoval } from './client-removal.tsx';
import { clientSearch } from './client-search.ts';
import { ClientTexts } from './client-texts.tsx';
import { PasswordPolicy } from './password-policy.tsx';

const route = getRouteApi('/clients/$id');

export const ClientScreen = () => {
  const id = Number(route.useParams().id);
  const client = useSuspenseQuery(trpc.clients.get.queryOptions({ id })).data;
  const gate = useQuery(trpc.clients.gate.queryOptions({ id }));
  const navigate = route.useNavigate();
  const { roles } = useSession();
  const { tab: asked = 'texts' } = route.useSearch();
  const tab = asked === 'close' && !roles.is_superuser ? 'texts' : asked;
  const props = { client, isReadOnly: !administers(roles, id) };
  return (
    <>
      <ScreenHeader
        title={client.name}
        lead={
          <Group component="span" gap="sm">
            {client.site.domain}
            {gate.data?.is_open === false && <StatusText label="Closed" color="gray" />}
          </Group>
        }
        procedures={['clients.get']}
        actions={
          <>
            <HeaderLink to="/people" search={{ client: id }}>
              People
            </HeaderLink>
            <HeaderLink to="/apps" search={{ client: id }}>
              Apps
            </HeaderLink>
          </>
        }
        menu={
          <>
            <Menu.Item renderRoot={(item) => <Link {...item} to="/usage" search={{ client: id }} />}>
              Usage
            </Menu.Item>
            {!props.isReadOnly && (
              <Menu.Item renderRoot={(item) => <Link {...item} to="/audit" search={{ client: id }} />}>
                History
              </Menu.Item>
            )}
          </>
        }
      />
      <Tabs
        key={id}
        value={tab}
        onChange={(value) =>
          void navigate({ search: clientSearch({ tab: value }), replace: true, resetScroll: false })
        }
        keepMounted={false}
        keepMountedMode="display-none"
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="texts">General</Tabs.Tab>
          <Tabs.Tab value="passwords">Passwords</Tabs.Tab>
          <Tabs.Tab value="admins">Admins</Tabs.Tab>
          <Tabs.Tab value="gate">Opening apps</Tabs.Tab>
          {roles.is_superuser && <Tabs.Tab value="close">Close or remove</Tabs.Tab>}
        </Tabs.List>
        {/* Their forms keep what was typed while another tab is shown. */}
        <Tabs.Panel value="texts" keepMounted>
          <ClientTexts {...props} />
        </Tabs.Panel>
        <Tabs.Panel value="passwords" keepMounted>
          <PasswordPolicy {...props} />
        </Tabs.Panel>
        <Tabs.Panel value="admins">
          <ClientAdmins client={client} />
        </Tabs.Panel>
        <Tabs.Panel value="gate" keepMounted>
          <ClientGate id={id} isReadOnly={props.isReadOnly} />
        </Tabs.Panel>
        {roles.is_superuser && (
          <Tabs.Panel value="close">
            <ClientClosing id={id} name={client.name} />
            <ClientRemoval id={id} name={client.name} />
          </Tabs.Panel>
        )}
      </Tabs>
    </>
  );
};
