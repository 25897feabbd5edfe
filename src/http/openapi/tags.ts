import { EXTENSION_TAG } from './operation.ts';

/** Chapters of the reference, in its order. */
const TAGS: Record<string, string> = {
  Token: 'Logging scripts and platforms in.',
  Sites: 'The hosts under which clients are served.',
  Clients: 'Tenants: their texts, their password policy, their people and apps.',
  Users: 'People, and which apps they may open.',
  Invitations: 'Asking people in, and what becomes of it.',
  Apps: 'What users open, and how much each is used.',
  'App fetch and load': 'Bringing new versions of apps in, and going back.',
  'Saved global filters': 'Sets of filters that users keep for themselves.',
  Environment: 'Where the service runs.',
  Sessions: 'Logging browsers in, and ending logins.',
  Passwords: 'Changing, resetting and judging passwords.',
  Branding: 'How a client shows itself before a login.',
  Roles: 'Who is staff, superuser or admin of a client.',
  Audit: 'Who changed what.',
  Mails: 'What was sent, and what could not be.',
  Service: 'The service itself.',
  [EXTENSION_TAG]: 'Whatever the interface of the old service did not have.',
};

export const tagObjects = () => Object.entries(TAGS).map(([name, description]) => ({ name, description }));
