import {
  type Action,
  canReadAudit,
  canView,
  isSuperuser,
  KINDS,
  type Roles,
  soleClientOf,
  whoMay,
} from './roles.ts';

export type Screen = {
  /** The path in the router. */
  to: string;
  label: string;
  isFor: (roles: Roles) => boolean;
  /** For a screen with a client in its address: whether it shows one client at a time, or can also show all together. */
  clients?: 'one' | 'some';
  /** On a screen for one client: what the user may do in each client to choose from. */
  within?: Action;
};

const everyone = (): boolean => true;

/** The screens of the navigation, in order. Sections without a heading have an empty one. */
const NAVIGATION = [
  { to: '/', section: '', label: 'Home', isFor: everyone },
  { to: '/people', section: 'People', label: 'People', isFor: canView, clients: 'some' },
  { to: '/groups', section: 'People', label: 'Groups', isFor: canView, clients: 'one' },
  {
    to: '/invite',
    section: 'People',
    label: 'Invite',
    isFor: whoMay('manage-people'),
    clients: 'one',
    within: 'manage-people',
  },
  { to: '/invitations', section: 'People', label: 'Invitations', isFor: canView, clients: 'some' },
  {
    to: '/access',
    section: 'People',
    label: 'Access',
    isFor: whoMay('manage-grants'),
    clients: 'one',
    within: 'manage-grants',
  },
  { to: '/apps', section: 'Apps', label: 'Apps', isFor: canView, clients: 'some' },
  { to: '/usage', section: 'Insight', label: 'Usage', isFor: canView, clients: 'some' },
  { to: '/audit', section: 'Insight', label: 'Audit trail', isFor: canReadAudit, clients: 'some' },
  { to: '/clients', section: 'Settings', label: 'Clients', isFor: canView },
  { to: '/mails', section: 'Settings', label: 'Mails', isFor: canView, clients: 'some' },
  { to: '/webhooks', section: 'Settings', label: 'Webhooks', isFor: whoMay('configure'), clients: 'some' },
  {
    to: '/service-accounts',
    section: 'Settings',
    label: 'Service accounts',
    isFor: whoMay('configure'),
    clients: 'some',
  },
  { to: '/keys', section: 'Settings', label: 'Signing keys', isFor: isSuperuser },
  { to: '/account', section: 'Settings', label: 'Account', isFor: everyone },
] as const satisfies (Screen & { section: string })[];

/** The screens that lists link to. */
const DETAILS = [
  { to: '/people/$email', label: 'Person', isFor: canView },
  { to: '/apps/$id', label: 'App', isFor: everyone },
  { to: '/apps/$id/compare', label: 'Compare two people', isFor: canView },
  { to: '/clients/$id', label: 'Client', isFor: canView },
  { to: '/groups/$client/$group', label: 'Group', isFor: canView },
  { to: '/mails/$id', label: 'Mail', isFor: canView },
  { to: '/webhooks/$id', label: 'Webhook', isFor: whoMay('configure') },
  { to: '/service-accounts/$id', label: 'Service account', isFor: whoMay('configure') },
] as const satisfies Screen[];

export const SCREENS = [...NAVIGATION, ...DETAILS];

type Path = (typeof SCREENS)[number]['to'];

/** Former addresses, which lead to tabs of other screens. */
type Moved = '/apps/$id/access' | '/apps/$id/views';

/** The screen at a path of the router. A path that is missing here is a type error. */
export const screenAt = (path: Path | Moved): Screen | undefined => SCREENS.find(({ to }) => to === path);

/** The screens of the navigation that are for this user. Who sees one client gets its settings instead of a list of clients. */
export const screensFor = (roles: Roles) =>
  NAVIGATION.filter(({ isFor }) => isFor(roles)).map((screen) =>
    screen.to === '/clients' && soleClientOf(roles) !== undefined
      ? { ...screen, label: 'Client settings' }
      : screen,
  );

/** The kinds of users that a screen is for: `['client admins', 'superusers']`. */
export const kindsOf = ({ isFor }: Screen): string[] =>
  [...KINDS].flatMap(([kind, roles]) => (isFor(roles) ? [kind] : []));
