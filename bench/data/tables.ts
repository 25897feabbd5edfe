import { createHash } from 'node:crypto';
import { defaultBranding } from '../../src/services/clients/clients.ts';
import { profileColorOf } from '../../src/services/users/user-creation.ts';
import { copyLine } from './copying.ts';
import type { Grant, Person } from './people.ts';
import type { App, Client } from './tenants.ts';

/** The COPY lines for a table. */
export type TableLines = { table: string; columns: string; lines: string[] };

export const tenantTables = (clients: readonly Client[]): TableLines[] => [
  {
    table: 'sites',
    columns: 'id, domain, name',
    lines: clients.map(({ id, domain, name }) => copyLine(id, domain, name)),
  },
  {
    table: 'clients',
    columns:
      'id, site_id, name, support_email, login_title, login_subtitle, subtitle_404, message_404, subtitle_500, message_500',
    lines: clients.map(({ id, name }) => {
      const texts = defaultBranding(name);
      return copyLine(
        id,
        id,
        name,
        `help@client-${id}.test`,
        texts.loginTitle,
        texts.loginSubtitle,
        texts.subtitle404,
        texts.message404,
        texts.subtitle500,
        texts.message500,
      );
    }),
  },
];

export const appTables = (apps: readonly App[]): TableLines[] => [
  {
    table: 'apps',
    columns:
      'id, client_id, slug, label, description, help_html, footer_html, show_help, package_info, created_at',
    lines: apps.map(appLine),
  },
  {
    table: 'stacks',
    columns: 'id, app_id, slug, label',
    lines: apps.flatMap((app) => app.stacks.map(({ id, slug, label }) => copyLine(id, app.id, slug, label))),
  },
];

const appLine = (app: App): string => {
  const at = app.createdAt.toISOString();
  const packageInfo = {
    version: '1.0.0',
    fetched_at: at,
    loaded_at: at,
    sha256: createHash('sha256').update(app.slug).digest('hex'),
    stacks: app.stacks,
  };
  const texts = [
    `${app.label}: what happened, where, and why.`,
    `<p>Choose a page of <b>${app.label}</b> on the left. The figures are brought up to date every night.</p>`,
    '<p>Made-up figures.</p>',
  ] as const;
  return copyLine(app.id, app.clientId, app.slug, app.label, ...texts, true, packageInfo, app.createdAt);
};

/** @param passwordHash of accounts that can log in */
export const peopleTables = (
  people: readonly Person[],
  grants: readonly Grant[],
  passwordHash: string,
): TableLines[] => [
  {
    table: 'users',
    columns:
      'id, email, handle, first_name, last_name, extra, is_active, is_demo_user, is_staff, is_superuser, profile_color, password_hash, last_login, date_joined, last_deactivated, last_password_set',
    lines: people.map((person) => userLine(person, passwordHash)),
  },
  {
    table: 'memberships',
    columns: 'client_id, user_id, is_admin',
    lines: people.flatMap(({ id, clients, isAdmin }) =>
      clients.map((client) => copyLine(client.id, id, isAdmin)),
    ),
  },
  {
    table: 'app_grants',
    columns: 'user_id, app_id',
    lines: grants.map(({ person, app }) => copyLine(person.id, app.id)),
  },
];

const userLine = (person: Person, passwordHash: string): string =>
  copyLine(
    person.id,
    person.email,
    handleOf(person),
    person.firstName,
    person.lastName,
    person.extra,
    person.isActive,
    person.isDemoUser,
    person.isStaff,
    person.isSuperuser,
    profileColorOf(person.email),
    person.hasPassword ? passwordHash : null,
    person.lastLogin,
    person.dateJoined,
    person.isActive ? null : (person.lastLogin ?? person.dateJoined),
    person.dateJoined,
  );

/** Unique because the local part ends with the person's id. */
const handleOf = ({ email }: Person): string => `@${email.slice(0, email.indexOf('@'))}`;
