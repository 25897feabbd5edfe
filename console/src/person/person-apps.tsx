import { Button, Group, Menu, Stack, Text, Title } from '@mantine/core';
import { IconAppWindow, IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode, useState } from 'react';
import { ExplainDialog } from '../access/explain-dialog.tsx';
import { useClientName } from '../components/client-select.tsx';
import { dateOf, shortDateOf, timeText } from '../components/date-text.tsx';
import { EndBadge } from '../components/end-badge.tsx';
import { nameOf } from '../components/name-of.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RowMenu } from '../components/row-menu.tsx';
import { useAskedDialog } from '../components/use-asked-dialog.ts';
import { useDeclared } from '../data-permissions/declared.ts';
import { WhatAppGetsDialog } from '../data-permissions/what-app-gets.tsx';
import { offerUndo } from '../people/undo-offer.ts';
import { serverNow } from '../server-clock.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { GrantChangeDialog, GrantDialog } from './grant-dialogs.tsx';
import classes from './person.module.css';
import { hasApp, type PersonAccess, type PersonApp, useEndGrant } from './use-person-access.ts';
import type { Person } from './use-person-form.ts';

const listOf = new Intl.ListFormat('en');

const UNDO_SHOWN_MS = 60_000;

type Props = {
  person: Person;
  access: PersonAccess;
  /** Clients that suspend the person. */
  suspendedIn: readonly { id: number; name: string }[];
  isReadOnly: boolean;
};

type Open =
  | { kind: 'explain' | 'change' | 'gets'; app: PersonApp }
  | { kind: 'grant'; app: PersonApp | null }
  | null;

/** The apps that the person may open: how they got each, until when, and why. */
export const PersonApps = ({ person, access: { apps, groups }, suspendedIn, isReadOnly }: Props) => {
  const { email } = person;
  const name = nameOf(person);
  const { roles } = useSession();
  const clientName = useClientName();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const isOfSeveral = apps.some(({ client }) => client !== apps[0]?.client);
  const ofClient = ({ client }: PersonApp): string | undefined =>
    isOfSeveral ? clientName(client) : undefined;
  const byClient = apps.toSorted((one, other) => one.client - other.client);
  const isKept = ({ client, role }: PersonApp): boolean =>
    role === null && suspendedIn.some(({ id }) => id === client);
  const has = byClient.filter((app) => hasApp(app) && !isKept(app));
  const kept = byClient.filter((app) => hasApp(app) && isKept(app));
  const lacks = byClient.filter((app) => !hasApp(app));
  const end = useEndGrant(email, (operation, appId) => {
    const label = apps.find(({ id }) => id === appId)?.label ?? appId;
    const title = `${name} no longer has ${label}`;
    offerUndo({ title, operation, until: new Date(serverNow() + UNDO_SHOWN_MS) });
  });
  const grant = (): void => setOpen({ kind: 'grant', app: null });
  useAskedDialog({ grant: !isReadOnly && grant });
  const explain = (app: PersonApp): void => setOpen({ kind: 'explain', app });
  const namesOf = (some: readonly PersonApp[]) =>
    suspendedIn.filter(({ id }) => some.some(({ client }) => client === id)).map((client) => client.name);
  const rowOf = (app: PersonApp, why: string) => (
    <AppRow key={app.id} app={app} client={ofClient(app)} facts={<Ways app={app} groups={groups} />}>
      {!isGivenOtherwise(app) && <EndBadge date={app.grant?.expires_at} />}
      <Button variant="default" size="xs" aria-label={`${why} ${app.label}`} onClick={() => explain(app)}>
        {why}
      </Button>
      <GetsButton app={app} onClick={() => setOpen({ kind: 'gets', app })} />
      {!isReadOnly && app.grant && mayDo(roles, 'manage-grants', app.client) && (
        <AppMenu
          app={app}
          isEnding={end.isPending}
          onChange={() => setOpen({ kind: 'change', app })}
          onEnd={() => end.mutate(app.id)}
        />
      )}
    </AppRow>
  );
  return (
    <Stack className="card" component="section" aria-label="Apps" align="stretch" gap="xs">
      <Title order={2} size="h3">
        {has.length === 0
          ? 'Has no apps'
          : `${person.is_active ? 'Has' : 'Keeps while suspended:'} ${has.length} ${has.length === 1 ? 'app' : 'apps'}`}
      </Title>
      <ProblemAlert error={end.error} />
      {person.clientadmin_of.length > 0 && (
        <Text size="sm">
          Has all apps of {listOf.format(person.clientadmin_of.map(clientName))} as its admin.
        </Text>
      )}
      <AppRows>{has.map((app) => rowOf(app, 'Why?'))}</AppRows>
      {kept.length > 0 && (
        <>
          <Title order={3} size="h5">
            Kept while suspended in {listOf.format(namesOf(kept))}
          </Title>
          <AppRows>{kept.map((app) => rowOf(app, 'Why not?'))}</AppRows>
        </>
      )}
      {!isReadOnly && (
        <Group>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} stroke={1.8} aria-hidden />}
            onClick={grant}
          >
            Grant an app
          </Button>
        </Group>
      )}
      <Lacked apps={lacks} ofClient={ofClient} onExplain={explain} />
      <ExplainDialog
        question={open?.kind === 'explain' ? { email, name, app: open.app } : null}
        onClose={close}
        onGrant={isReadOnly ? undefined : () => open && setOpen({ kind: 'grant', app: open.app })}
      />
      {open?.kind === 'grant' && (
        <GrantDialog
          email={email}
          name={name}
          granted={[...has, ...kept].map(({ id }) => id)}
          app={open.app}
          client={apps[0]?.client}
          onGranted={close}
          onClose={close}
        />
      )}
      {open?.kind === 'gets' && (
        <WhatAppGetsDialog email={email} name={name} app={open.app} onClose={close} />
      )}
      {open?.kind === 'change' && (
        <GrantChangeDialog email={email} name={name} app={open.app} onChanged={close} onClose={close} />
      )}
    </Stack>
  );
};

const AppRows = ({ children }: { children: ReactNode[] }) =>
  children.length === 0 ? null : <ul className={classes.rows}>{children}</ul>;

type RowProps = {
  app: PersonApp;
  /** The name of the client, if apps of several clients are shown. */
  client: string | undefined;
  facts?: ReactNode;
  children: ReactNode;
};

const AppRow = ({ app: { id, label }, client, facts, children }: RowProps) => (
  <li className={classes.app}>
    <IconAppWindow size={20} stroke={1.4} aria-hidden />
    <Group gap="xs" className={classes.name ?? ''}>
      <Link className="text-link" to="/apps/$id" params={{ id }}>
        {label}
      </Link>
      {client !== undefined && (
        <Text span size="sm" c="dimmed">
          {client}
        </Text>
      )}
    </Group>
    <div className={classes.ways}>{facts}</div>
    <Group gap="xs" wrap="nowrap" className={classes.actions ?? ''}>
      {children}
    </Group>
  </li>
);

/** For apps with declared data permissions. */
const GetsButton = ({ app: { id, client, label }, onClick }: { app: PersonApp; onClick: () => void }) => {
  const isViewer = mayDo(useSession().roles, 'view', client);
  const { attributes } = useDeclared(isViewer ? client : undefined, id);
  return (
    attributes.length > 0 && (
      <Button variant="default" size="xs" aria-label={`Data that ${label} gets`} onClick={onClick}>
        Data
      </Button>
    )
  );
};

const ROLES: Record<string, string> = {
  superuser: 'As a superuser',
  staff: 'As staff',
  'client-admin': 'As an admin of the client',
};

/** Whether the person keeps the app when its grant ends. */
const isGivenOtherwise = ({ role, groups }: PersonApp): boolean => role !== null || groups.length > 0;

type WaysProps = { app: PersonApp; groups: PersonAccess['groups'] };

/** Each way by which the person has the app, and since when. */
const Ways = ({ app, groups }: WaysProps) => {
  const { role, grant, groups: ids } = app;
  const through = groups.filter(({ id }) => ids.includes(id));
  const ways: ReactNode[] = [];
  if (role !== null) ways.push(ROLES[role]);
  for (const { name, added_at: at, added_by: by } of through)
    ways.push(
      <>
        Through the group {name}
        {at && <Since date={at} />}
        {by && `, added by ${by}`}
      </>,
    );
  if (grant)
    ways.push(
      <>
        Granted{grant.granted_by && ` by ${grant.granted_by}`}
        {grant.granted_at && <Since date={grant.granted_at} />}
        {grant.expires_at && isGivenOtherwise(app) && ` until ${dateOf(grant.expires_at)}`}
      </>,
    );
  if (grant && grant.reason !== '') ways.push(`“${grant.reason}”`);
  return (
    <Text size="sm" c="dimmed" component="div" className="break-words">
      {ways.map((way, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: ways have no other identity
        <Fragment key={index}>
          {index > 0 && ' · '}
          {way}
        </Fragment>
      ))}
    </Text>
  );
};

const Since = ({ date }: { date: Date }) => (
  <>
    {' '}
    <time className="nowrap" dateTime={date.toISOString()} title={timeText(date)}>
      since {shortDateOf(date)}
    </time>
  </>
);

type MenuProps = { app: PersonApp; isEnding: boolean; onChange: () => void; onEnd: () => void };

/** Apps that groups give cannot be revoked from a single person. */
const AppMenu = ({ app: { label, groups }, isEnding, onChange, onEnd }: MenuProps) => (
  <RowMenu label={`Change ${label}`} isPending={isEnding}>
    <Menu.Item onClick={onChange}>Change the grant…</Menu.Item>
    {groups.length === 0 && (
      <Menu.Item color="red" onClick={onEnd}>
        End access
      </Menu.Item>
    )}
  </RowMenu>
);

type LackedProps = {
  apps: readonly PersonApp[];
  ofClient: (app: PersonApp) => string | undefined;
  onExplain: (app: PersonApp) => void;
};

/** The other apps of the clients, collapsed: superusers see hundreds of apps. */
const Lacked = ({ apps, ofClient, onExplain }: LackedProps) => {
  const [isOpen, setOpen] = useState(false);
  if (apps.length === 0) return null;
  return (
    <Stack gap="sm">
      <Group>
        <Button variant="default" size="compact-sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen
            ? 'Hide apps without access'
            : `Show ${apps.length} ${apps.length === 1 ? 'app' : 'apps'} without access`}
        </Button>
      </Group>
      {isOpen && (
        <AppRows>
          {apps.map((app) => (
            <AppRow key={app.id} app={app} client={ofClient(app)}>
              <Button
                variant="default"
                size="xs"
                aria-label={`Why not? ${app.label}`}
                onClick={() => onExplain(app)}
              >
                Why not?
              </Button>
            </AppRow>
          ))}
        </AppRows>
      )}
    </Stack>
  );
};
