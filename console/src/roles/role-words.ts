import { capitalized } from '../components/capitalized.ts';
import { type Action, ROLES, type Role } from '../session/roles.ts';

/** What each action allows, after “can”. */
const WORDS: Record<Action, string> = {
  view: 'see people, groups, invitations, apps, usage and mails',
  'open-apps': 'open all apps',
  'manage-people': 'create, change and end accounts, memberships, groups and invitations',
  'manage-grants': 'grant and revoke apps, and decide on requests for them',
  'manage-credentials': 'send password links, reset second factors, end logins, and send mails again',
  'manage-apps': 'change apps and their share links',
  configure: 'change settings, sign-in and webhooks, and manage service accounts and roles',
  operate: 'fetch and load apps',
  'read-audit': 'read the audit trail',
  'poll-events': 'listen to the events of apps',
  administer: 'change everything, in all clients',
};

/** Sentences of roles that say more than their actions. */
const SENTENCES: Partial<Record<Role['name'], string>> = {
  superuser: 'Sees and changes everything.',
  staff: 'Sees all clients, and fetches and loads apps.',
  'client-admin': 'Can do everything in the client, and opens all its apps.',
  'people-manager': 'Runs accounts, from the invitation to the last day.',
  'app-manager': 'Runs the apps, and decides who opens them.',
  'help-desk': 'Helps people who cannot log in. Changes nothing else.',
  auditor: 'Sees everything, and changes nothing.',
};

const sentenceOf = (action: Action): string => `${capitalized(WORDS[action])}.`;

/** What a role is for, in a sentence. */
export const roleSentence = ({ name, actions }: Role): string =>
  SENTENCES[name] ?? actions.map(sentenceOf).join(' ');

/** What the roles with these names allow together, in sentences: in the order of the actions. */
export const allowedBy = (names: readonly string[]): string[] => {
  const actions = new Set<Action>(
    ROLES.filter(({ name }) => names.includes(name)).flatMap((role) => role.actions),
  );
  return (Object.keys(WORDS) as Action[]).filter((action) => actions.has(action)).map(sentenceOf);
};
