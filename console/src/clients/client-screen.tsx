import { Group, Menu, Stack } from '@mantine/core';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { type ScreenTab, ScreenTabs } from '../components/screen-tabs.tsx';
import { StatusText } from '../components/status-text.tsx';
import { DirectoryTab } from '../directory/directory-tab.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { SignInTab } from '../sso/sign-in-tab.tsx';
import { WebhooksTab } from '../webhooks/webhooks-tab.tsx';
import { ClientAttributes } from './client-attributes.tsx';
import { ClientClosing } from './client-closing.tsx';
import { ClientGate } from './client-gate.tsx';
import { ClientRemoval } from './client-removal.tsx';
import { ClientRoles } from './client-roles.tsx';
import { clientSearch, type Tab } from './client-search.ts';
import { ClientTexts } from './client-texts.tsx';
import { PasswordPolicy } from './password-policy.tsx';
import { Reminders } from './reminders.tsx';
import { ViewAsSettings } from './view-as-settings.tsx';

const route = getRouteApi('/clients/$id');

export const ClientScreen = () => {
  const id = Number(route.useParams().id);
  const client = useSuspenseQuery(trpc.clients.get.queryOptions({ id })).data;
  const gate = useQuery(trpc.clients.gate.queryOptions({ id }));
  const navigate = route.useNavigate();
  const { roles } = useSession();
  const { tab: asked = 'texts' } = route.useSearch();
  // Its state is not read before it is opened.
  const [hasOpenedDirectory, setHasOpenedDirectory] = useState(asked === 'directory');
  if (asked === 'directory' && !hasOpenedDirectory) setHasOpenedDirectory(true);
  const props = { client, isReadOnly: !mayDo(roles, 'configure', id) };
  const tabs: ScreenTab<Tab>[] = [
    { value: 'texts', label: 'General', panel: <ClientTexts {...props} />, isKept: true },
    { value: 'passwords', label: 'Passwords', panel: <PasswordPolicy {...props} />, isKept: true },
    {
      value: 'sign-in',
      label: 'Sign-in',
      isKept: true,
      panel: <SignInTab client={id} isReadOnly={props.isReadOnly} />,
    },
    {
      value: 'reminders',
      label: 'Reminders',
      isKept: true,
      panel: <Reminders {...props} isShown={asked === 'reminders'} />,
    },
    { value: 'roles', label: 'Roles', panel: <ClientRoles client={client} /> },
    {
      value: 'data',
      label: 'Data permissions',
      panel: <ClientAttributes id={id} isReadOnly={props.isReadOnly} />,
      isKept: true,
    },
    {
      value: 'gate',
      label: 'Opening apps',
      isKept: true,
      panel: (
        <Stack>
          <ClientGate id={id} isReadOnly={props.isReadOnly} />
          <ViewAsSettings {...props} />
        </Stack>
      ),
    },
  ];
  if (!props.isReadOnly)
    tabs.push(
      {
        value: 'directory',
        label: 'Directory',
        isKept: hasOpenedDirectory,
        panel: <DirectoryTab client={id} isShown={asked === 'directory'} />,
      },
      { value: 'webhooks', label: 'Webhooks', panel: <WebhooksTab client={id} /> },
    );
  const close: ScreenTab<Tab> = {
    value: 'close',
    label: 'Close or remove',
    panel: (
      <>
        <ClientClosing id={id} name={client.name} />
        <ClientRemoval id={id} name={client.name} />
      </>
    ),
  };
  if (roles.is_superuser) tabs.push(close);
  const tab = tabs.find(({ value }) => value === asked)?.value ?? 'texts';
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
            {mayDo(roles, 'read-audit', id) && (
              <Menu.Item renderRoot={(item) => <Link {...item} to="/audit" search={{ client: id }} />}>
                History
              </Menu.Item>
            )}
          </>
        }
      />
      <ScreenTabs
        key={id}
        label="About this client"
        value={tab}
        tabs={tabs}
        onShow={(value) =>
          void navigate({ search: clientSearch({ tab: value }), replace: true, resetScroll: false })
        }
      />
    </>
  );
};
