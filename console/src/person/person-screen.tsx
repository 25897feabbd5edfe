import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue, useState } from 'react';
import type { Outputs } from '../api.ts';
import { Notice } from '../components/notice.tsx';
import { ScreenTabs } from '../components/screen-tabs.tsx';
import { canReadAudit, canViewAll, mayDo, type Roles } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { AccessTab } from './access-tab.tsx';
import { ActivityTab } from './activity-tab.tsx';
import { PersonHead } from './person-head.tsx';
import { PersonHistory } from './person-history.tsx';
import { PersonMails } from './person-mails.tsx';
import { personSearch, type Tab } from './person-search.ts';
import { clientNames, stateOf } from './person-state.ts';
import { ProfileForm } from './profile-form.tsx';
import { SecurityTab } from './security-tab.tsx';
import { type PersonData, usePerson } from './use-person.ts';

const route = getRouteApi('/people/$email');

const READ_ONLY_NOTICE =
  'You cannot change this profile and these apps: only superusers change superusers and staff, no one changes people who may do more than they themselves, and client admins can be changed when they no longer have that role.';

type Changes = 'account' | 'memberships' | 'nothing';

/** For a person whose account other clients also use: which changes the service refuses, and which it allows. */
const sharedNotice = (changes: Changes, mayChangeApps: boolean, clients: string): string =>
  [
    'This account belongs, or has belonged, to several clients.',
    changes === 'memberships' && `What you change here counts in ${clients} only.`,
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
