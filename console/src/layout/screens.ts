import { canAdminister, canView, isSuperuser, KINDS, type Roles } from './roles.ts';

export type Screen = {
  /** Its path in the router. */
  to: string;
  label: string;
  isFor: (roles: Roles) => boolean;
};

const everyone = (): boolean => true;

/** The screens of the navigation, in its order. */
const NAVIGATION = [
  { to: '/', label: 'Home', isFor: everyone },
  { to: '/people', label: 'People', isFor: canView },
  { to: '/groups', label: 'Groups', isFor: canView },
  { to: '/access', label: 'Access', isFor: canAdminister },
  { to: '/apps', label: 'Apps', isFor: canView },
  { to: '/usage', label: 'Usage', isFor: canView },
  { to: '/idle', label: 'Idle', isFor: canView },
  { to: '/clients', label: 'Clients', isFor: canView },
  { to: '/invite', label: 'Invite', isFor: canAdminister },
  { to: '/invitations', label: 'Invitations', isFor: canView },
  { to: '/mails', label: 'Mails', isFor: canView },
  { to: '/audit', label: 'Audit trail', isFor: canAdminister },
  { to: '/keys', label: 'Signing keys', isFor: isSuperuser },
  { to: '/account', label: 'Account', isFor: everyone },
] as const satisfies Screen[];

/** The screens that lists lead to. */
const DETAILS = [
  { to: '/people/$email', label: 'Person', isFor: canView },
  { to: '/apps/$id', label: 'App', isFor: everyone },
  { to: '/apps/$id/access', label: 'People with access', isFor: canView },
  { to: '/apps/$id/views', label: 'Access views', isFor: canView },
  { to: '/clients/$id', label: 'Client', isFor: canView },
  { to: '/groups/$client/$group', label: 'Group', isFor: canView },
  { to: '/mails/$id', label: 'Mail', isFor: canView },
] as const satisfies Screen[];

export const SCREENS = [...NAVIGATION, ...DETAILS];

type Path = (typeof SCREENS)[number]['to'];

/** The screen at a path of the router. A path that is missing here is an error of types. */
export const screenAt = (path: Path): Screen | undefined => SCREENS.find(({ to }) => to === path);

/** The screens of the navigation that are for this user. */
export const screensFor = (roles: Roles) => NAVIGATION.filter(({ isFor }) => isFor(roles));

/** The kinds of users that a screen is for: `['client admins', 'superusers']`. */
export const kindsOf = ({ isFor }: Screen): string[] =>
  Object.entries(KINDS).flatMap(([kind, roles]) => (isFor(roles) ? [kind] : []));
