import type { AppSearch } from '../app/app-search.ts';
import type { Tab as ClientTab } from '../clients/client-search.ts';
import type { PersonSearch } from '../person/person-search.ts';
import {
  canReadAudit,
  canView,
  canViewLinks,
  isSuperuser,
  mayDo,
  type Roles,
  whoMay,
} from '../session/roles.ts';
import type { screensFor } from '../session/screens.ts';

/** What the palette knows beside names: other words for screens, for parts of screens, and for actions. */

export const SCREEN_WORDS: Partial<Record<ReturnType<typeof screensFor>[number]['to'], string>> = {
  '/': 'dashboard start overview',
  '/people': 'users members accounts export csv idle unused dormant',
  '/groups': 'teams',
  '/invite': 'add user create person onboard import csv',
  '/invitations': 'pending resend link',
  '/access': 'permissions grants matrix rights',
  '/apps': 'applications idle unused',
  '/usage': 'analytics statistics report export csv',
  '/audit': 'log history events changes export csv',
  '/clients': 'tenants organizations customers',
  '/mails': 'email outbox smtp delivery',
  '/webhooks': 'hooks events integrations',
  '/service-accounts': 'api token robot bot machine scripts',
  '/keys': 'jwks jwt tickets rotate',
  '/account': 'profile password mfa 2fa totp passkey api token sessions',
};

export type { ClientTab };
export type AppTab = NonNullable<AppSearch['tab']>;

/** A part of the screen of a client or an app: `words` are other words for it. For an app, its client is not known. */
type Part = { label: string; words: string; isFor?: (roles: Roles, client?: number) => boolean };

const configures = (roles: Roles, client?: number): boolean => mayDo(roles, 'configure', client);

export const CLIENT_PARTS: Record<ClientTab, Part> = {
  general: { label: 'General', words: 'name home texts' },
  people: { label: 'People & roles', words: 'admins delegated permissions add admin' },
  directory: { label: 'Directory', words: 'scim provisioning sync okta entra azure', isFor: configures },
  data: { label: 'Data permissions', words: 'attributes row level security' },
  'sign-in': {
    label: 'Sign-in',
    words: 'signin login sso saml oidc openid identity provider idp mfa 2fa second factor domains',
  },
  passwords: { label: 'Passwords', words: 'policy expiry rules strength' },
  apps: { label: 'Apps', words: 'opening embed frames csp view as impersonate' },
  texts: { label: 'Mail & texts', words: 'brand branding login page error pages invitation mail' },
  webhooks: { label: 'Webhooks', words: 'hooks events', isFor: configures },
  'service-accounts': { label: 'Service accounts', words: 'api token robot bot scripts', isFor: configures },
  reminders: { label: 'Reminders', words: 'inactive mails suspend' },
  close: { label: 'Close or remove', words: 'delete archive', isFor: isSuperuser },
};

export const APP_PARTS: Record<AppTab | 'maintenance' | 'usage', Part> = {
  people: { label: 'People', words: 'who can open grants' },
  links: { label: 'Share links', words: 'new create public embed anonymous', isFor: canViewLinks },
  data: { label: 'Who sees what', words: 'data permissions attributes' },
  versions: { label: 'Versions', words: 'packages releases deploy rollback upload' },
  openid: { label: 'OpenID', words: 'oidc sso oauth client secret login', isFor: whoMay('manage-apps') },
  settings: { label: 'Settings', words: 'name description texts help footer requests remove delete' },
  maintenance: { label: 'Maintenance', words: 'close plan downtime', isFor: whoMay('manage-apps') },
  usage: { label: 'Usage', words: 'analytics statistics report', isFor: canView },
};

/** `Suspend Grace Hopper` opens the dialog of the action, or leads to the part of the screen with it. */
type PersonAction = {
  /** Before the name. */
  label: string;
  words: string;
  search?: PersonSearch;
  isFor: (roles: Roles) => boolean;
};

export const PERSON_ACTIONS: readonly PersonAction[] = [
  {
    label: 'Suspend',
    words: 'deactivate lock block disable',
    search: { do: 'suspend' },
    isFor: whoMay('manage-people'),
  },
  { label: 'Reactivate', words: 'activate unlock unblock enable restore', isFor: whoMay('manage-people') },
  {
    label: 'Offboard',
    words: 'remove leave terminate',
    search: { do: 'offboard' },
    isFor: whoMay('manage-people'),
  },
  { label: 'Erase', words: 'delete gdpr forget', search: { do: 'erase' }, isFor: isSuperuser },
  {
    label: 'Grant an app to',
    words: 'give access permission',
    search: { do: 'grant' },
    isFor: whoMay('manage-grants'),
  },
  { label: 'Rename', words: 'edit profile', search: { tab: 'profile' }, isFor: whoMay('manage-people') },
  {
    label: 'Reset the password of',
    words: 'forgot mail link',
    search: { do: 'password-link' },
    isFor: whoMay('manage-credentials'),
  },
  {
    label: 'Reset the second factor of',
    words: 'mfa 2fa totp passkey',
    search: { tab: 'security', do: 'reset-factors' },
    isFor: whoMay('manage-credentials'),
  },
  {
    label: 'End sessions of',
    words: 'log out logout sign tokens revoke',
    search: { tab: 'security', do: 'log-out' },
    isFor: whoMay('manage-credentials'),
  },
  { label: 'Mails to', words: 'email invitation', search: { tab: 'mails' }, isFor: whoMay('view') },
  { label: 'Activity of', words: 'usage logins', search: { tab: 'activity' }, isFor: whoMay('view') },
  { label: 'History of', words: 'audit changes log', search: { tab: 'history' }, isFor: canReadAudit },
];
