import { Group, Menu, Skeleton, Text, Title } from '@mantine/core';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { trpc } from '../api.ts';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { type ScreenTab, ScreenTabs } from '../components/screen-tabs.tsx';
import { StatusText } from '../components/status-text.tsx';
import { lazyPart } from '../lazy-part.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { ClientGeneral } from './client-general.tsx';
import { clientSearch, type Tab } from './client-search.ts';
import { NoAdminNotice } from './no-admin-notice.tsx';

// Each section but the first is loaded when it is shown.
const ClientApps = lazyPart(() => import('./client-apps.tsx'), 'ClientApps');
const ClientAttributes = lazyPart(() => import('./client-attributes.tsx'), 'ClientAttributes');
const ClientEnd = lazyPart(() => import('./client-end.tsx'), 'ClientEnd');
const ClientPeople = lazyPart(() => import('./client-people.tsx'), 'ClientPeople');
const ClientTexts = lazyPart(() => import('./client-texts.tsx'), 'ClientTexts');
const DirectoryTab = lazyPart(() => import('../directory/directory-tab.tsx'), 'DirectoryTab');
const PasswordPolicy = lazyPart(() => import('./password-policy.tsx'), 'PasswordPolicy');
const Reminders = lazyPart(() => import('./reminders.tsx'), 'Reminders');
const ServiceAccounts = lazyPart(
  () => import('../service-accounts/service-accounts-screen.tsx'),
  'ServiceAccounts',
);
const SignInTab = lazyPart(() => import('../sso/sign-in-tab.tsx'), 'SignInTab');
const WebhooksTab = lazyPart(() => import('../webhooks/webhooks-tab.tsx'), 'WebhooksTab');

const route = getRouteApi('/clients/$id');

/** A section of the settings: its name, what it is for, and who it is for if not for all who see the client. */
type Section = Omit<ScreenTab<Tab>, 'panel'> & { lead: string; isFor?: boolean; content: ReactNode };

/** The settings of a client, in sections. */
export const ClientScreen = () => {
  const id = Number(route.useParams().id);
  const client = useSuspenseQuery(trpc.clients.get.queryOptions({ id })).data;
  const navigate = route.useNavigate();
  const { roles } = useSession();
  const { tab: asked = 'general' } = route.useSearch();
  const isReadOnly = !mayDo(roles, 'configure', id);
  const props = { client, isReadOnly };
  const sections: Section[] = [
    {
      value: 'general',
      label: 'General',
      lead: 'What the client is called, and where its people find it.',
      content: <ClientGeneral {...props} />,
      isKept: true,
    },
    {
      value: 'people',
      label: 'People & roles',
      lead: 'A role lets a member see and change a part of the client. Members without a role only open their apps.',
      content: <ClientPeople client={client} />,
    },
    {
      value: 'directory',
      label: 'Directory',
      lead: 'Adds, updates and ends people as your directory says.',
      isFor: !isReadOnly,
      content: <DirectoryTab client={id} isShown={asked === 'directory'} />,
      isKept: true,
    },
    {
      value: 'data',
      label: 'Data permissions',
      lead: 'What apps learn about people, and what happens if it is wrong.',
      content: <ClientAttributes id={id} isReadOnly={isReadOnly} />,
      isKept: true,
    },
    {
      value: 'sign-in',
      label: 'Sign-in',
      lead: 'How people prove who they are.',
      content: <SignInTab client={id} isReadOnly={isReadOnly} />,
      isKept: true,
    },
    {
      value: 'passwords',
      label: 'Passwords',
      lead: 'What passwords need, and how long they last.',
      content: <PasswordPolicy {...props} />,
      isKept: true,
    },
    {
      value: 'apps',
      label: 'Apps',
      lead: 'Where apps open, and who may look at them as someone else.',
      content: <ClientApps {...props} />,
      isKept: true,
    },
    {
      value: 'texts',
      label: 'Mail & texts',
      lead: 'The texts that people read in mails and on pages.',
      content: <ClientTexts {...props} />,
      isKept: true,
    },
    {
      value: 'webhooks',
      label: 'Webhooks',
      lead: 'Events of this client, sent to your programs as they happen.',
      isFor: !isReadOnly,
      content: <WebhooksTab client={id} />,
    },
    {
      value: 'service-accounts',
      label: 'Service accounts',
      lead: 'Accounts for programs. They have roles, and use tokens.',
      isFor: !isReadOnly,
      content: <ServiceAccounts client={id} />,
    },
    {
      value: 'reminders',
      label: 'Reminders',
      lead: 'Mails about access that ends, open invitations and people who stay away.',
      content: <Reminders {...props} isShown={asked === 'reminders'} />,
      isKept: true,
    },
    {
      value: 'close',
      label: 'Close or remove',
      lead: 'Keeps everyone out for a while, or for good.',
      isFor: roles.is_superuser,
      content: <ClientEnd id={id} name={client.name} />,
    },
  ];
  const tabs = sections
    .filter(({ isFor = true }) => isFor)
    .map(({ lead, content, ...tab }) => ({
      ...tab,
      panel: (
        <>
          <Title order={2} size="h3">
            {tab.label}
          </Title>
          <Text c="dimmed" mb="md">
            {lead}
          </Text>
          <Suspense fallback={<Skeleton height={240} />}>{content}</Suspense>
        </>
      ),
    }));
  const tab = tabs.find(({ value }) => value === asked)?.value ?? 'general';
  return (
    <>
      <ClientHeader id={id} name={client.name} domain={client.site.domain} />
      <NoAdminNotice client={client} />
      <ScreenTabs
        key={id}
        label="About this client"
        value={tab}
        tabs={tabs}
        isList
        onShow={(value) =>
          void navigate({ search: clientSearch({ tab: value }), replace: true, resetScroll: false })
        }
      />
    </>
  );
};

const ClientHeader = ({ id, name, domain }: { id: number; name: string; domain: string }) => {
  const { roles } = useSession();
  const gate = useQuery(trpc.clients.gate.queryOptions({ id }));
  return (
    <ScreenHeader
      title={name}
      lead={
        <Group component="span" gap="sm">
          {domain}
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
  );
};
