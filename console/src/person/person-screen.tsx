import { Button, Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue, useState } from 'react';
import type { Outputs } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { nameOf } from '../components/name-of.ts';
import { Notice } from '../components/notice.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenTabs } from '../components/screen-tabs.tsx';
import { InvitationStatus } from '../invitations/invitation-status.tsx';
import { MailLink } from '../mails/mail-link.tsx';
import { PendingRequests } from '../requests/pending-requests.tsx';
import { canReadAudit, canView, canViewAll, mayDo, type Roles } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { ActivityTab } from './activity-tab.tsx';
import { NeedsAttention } from './needs-attention.tsx';
import classes from './person.module.css';
import { PersonApps } from './person-apps.tsx';
import { PersonClients } from './person-clients.tsx';
import { PersonGroups } from './person-groups.tsx';
import { PersonHead } from './person-head.tsx';
import { PersonHistory } from './person-history.tsx';
import { personSearch, type Tab } from './person-search.ts';
import { clientNames, type PersonState, stateOf } from './person-state.ts';
import { ProfileForm } from './profile-form.tsx';
import { SecurityTab } from './security-tab.tsx';
import { UsageCard } from './usage-comparison.tsx';
import { type PersonData, usePerson, usePersonMails } from './use-person.ts';

const route = getRouteApi('/people/$email');

const READ_ONLY_NOTICE =
  'You cannot change this profile or these apps. Only superusers can change superusers and staff. No one can change people who have more rights than they do. To change a client admin, remove the role first.';

type Changes = 'account' | 'memberships' | 'nothing';

/** For a person whose account other clients also use: which changes the service refuses, and which it allows. */
const sharedNotice = (changes: Changes, mayChangeApps: boolean, clients: string): string =>
  [
    'This account belongs, or has belonged, to several clients.',
    changes === 'memberships' && `Your changes here apply in ${clients} only.`,
    changes === 'nothing' &&
      mayChangeApps &&
      'You can change their apps, and their membership under Clients.',
    !mayChangeApps && 'Ask a superuser to change the profile or the apps.',
    'Only the person and superusers see and end their logins.',
  ]
    .filter(Boolean)
    .join(' ');

/** Staff who administer a client see the account, and change memberships one by one. */
const changesOf = (
  { can_update, can_update_apps, is_shared }: Outputs['users']['permissions'],
  seesAccount: boolean,
): Changes => {
  if (can_update) return 'account';
  return is_shared && can_update_apps && !seesAccount ? 'memberships' : 'nothing';
};

export const PersonScreen = () => {
  const { email } = route.useParams();
  const data = usePerson(email);
  return <PersonTabs key={email} data={data} />;
};

const PersonTabs = ({ data }: { data: PersonData }) => {
  const { person, may, memberships } = data;
  const { email } = person;
  const { roles, user } = useSession();
  const isRefused = mayDo(roles, 'manage-people')
    ? !may.can_update
    : mayDo(roles, 'manage-grants') && !may.can_update_apps;
  const seesAccount = canViewAll(roles) || email === user.email;
  const state = stateOf(person, memberships, seesAccount);
  const changes = changesOf(may, seesAccount);
  const clients = clientNames(memberships.filter(({ client }) => mayDo(roles, 'manage-people', client)));
  const navigate = route.useNavigate();
  const { tab: asked } = route.useSearch();
  // The name and the facts are painted before the apps are rendered.
  const isHeadShown = useDeferredValue(true, false);
  const [hasOpenedProfile, setHasOpenedProfile] = useState(asked === 'profile');
  if (asked === 'profile' && !hasOpenedProfile) setHasOpenedProfile(true);
  const panels: Record<Tab, ReactNode> = {
    access: isHeadShown && <AccessTab data={data} state={state} />,
    profile: (
      <ProfileForm
        person={person}
        changes={changes}
        client={
          memberships.length === 1
            ? memberships.find(({ client }) => mayDo(roles, 'view', client))?.client
            : undefined
        }
      />
    ),
    activity: <ActivityTab email={email} />,
    mails: <PersonMails email={email} />,
    security: <SecurityTab data={data} isActive={state !== 'inactive'} />,
    history: <PersonHistory email={email} />,
  };
  const tabs = tabsFor(may, roles);
  const tab = tabs.find((one) => one === asked) ?? 'access';
  return (
    <>
      <PersonHead data={data} state={state} />
      <ScreenTabs
        label="About this person"
        value={tab}
        tabs={tabs.map((value) => ({
          value,
          label: LABELS[value],
          panel: panels[value],
          isKept: value === 'profile' && hasOpenedProfile,
        }))}
        onShow={(value) =>
          void navigate({
            search: personSearch({ tab: value === 'access' ? undefined : value }),
            replace: true,
            resetScroll: false,
          })
        }
      >
        {isRefused && (tab === 'access' || tab === 'profile') && (
          <Notice>
            {may.is_shared ? sharedNotice(changes, may.can_update_apps, clients) : READ_ONLY_NOTICE}
          </Notice>
        )}
      </ScreenTabs>
    </>
  );
};

const LABELS: Record<Tab, string> = {
  access: 'Access',
  profile: 'Profile',
  activity: 'Activity',
  mails: 'Mails & invitations',
  security: 'Security',
  history: 'History',
};

const tabsFor = (may: Outputs['users']['permissions'], roles: Roles): readonly Tab[] => [
  ...(['access', 'profile', 'activity', 'mails'] as const),
  ...(may.can_revoke || roles.is_superuser ? (['security'] as const) : []),
  ...(canReadAudit(roles) ? (['history'] as const) : []),
];

/** The apps that the person may open, and how they got them. */
const AccessTab = ({ data, state }: { data: PersonData; state: PersonState }) => {
  const { person, may, memberships, access } = data;
  const { roles } = useSession();
  return (
    <div className={classes.columns}>
      <NeedsAttention data={data} state={state} />
      <Stack className={classes.main ?? ''}>
        {canView(roles) && <PendingRequests subject={{ email: person.email }} />}
        <PersonApps
          person={person}
          access={access}
          suspendedIn={memberships
            .filter(({ is_active }) => !is_active)
            .map(({ client: id, client_name }) => ({ id, name: client_name }))}
          isReadOnly={!may.can_update_apps}
        />
        <PersonGroups person={person} access={access} />
        <PersonClients
          email={person.email}
          name={nameOf(person)}
          memberships={memberships}
          state={state}
          may={may}
        />
      </Stack>
      {canView(roles) && <UsageCard email={person.email} />}
    </div>
  );
};

type Entry = Outputs['mail']['timeline'][number];

/** The mails and invitations of a person, newest first. */
const PersonMails = ({ email }: { email: string }) => {
  const entries = usePersonMails(email);
  const rows = entries.data?.pages.flat() ?? [];
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Mails and invitations
      </Title>
      <ProblemAlert error={entries.error} />
      {entries.isPending && <Skeleton height={80} />}
      {entries.isSuccess && rows.length === 0 && <Text c="dimmed">No mail to this address is stored.</Text>}
      <Timeline bulletSize={14}>
        {rows.map((entry) => (
          <Timeline.Item key={entry.id} title={<EntryTitle entry={entry} />}>
            <EntryFacts entry={entry} />
          </Timeline.Item>
        ))}
      </Timeline>
      {entries.hasNextPage && (
        <Group>
          <Button
            variant="default"
            loading={entries.isFetchingNextPage}
            onClick={() => void entries.fetchNextPage()}
          >
            Show older
          </Button>
        </Group>
      )}
    </Stack>
  );
};

const EntryTitle = ({ entry: { mail, invitation } }: { entry: Entry }) => {
  const nameOfClient = useClientName();
  if (mail)
    return (
      <Link className="text-link" to="/mails/$id" params={{ id: String(mail.id) }}>
        {mail.subject}
      </Link>
    );
  return `Invitation to ${nameOfClient(invitation?.client ?? null)}`;
};

const EntryFacts = ({ entry: { mail, invitation, timestamp } }: { entry: Entry }) => (
  <Group gap="xs">
    {mail && <MailLink mail={mail} />}
    {invitation && <InvitationStatus status={invitation.status} />}
    <Text size="sm" c="dimmed">
      {invitation && `by ${invitation.inviter}, `}
      <DateText date={timestamp} />
    </Text>
    {invitation?.mail && (
      <Link className="text-link" to="/mails/$id" params={{ id: String(invitation.mail.id) }}>
        Newest mail
      </Link>
    )}
    {mail?.last_error && mail.status !== 'sent' && (
      <Text size="sm" className="break-words">
        {mail.last_error}
      </Text>
    )}
  </Group>
);
