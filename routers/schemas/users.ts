import { z } from 'zod';
import type { UserRow } from '../../src/services/accounts/user-rows.ts';
import { USER_ROLES, USER_SORTS } from '../../src/services/users/user-filter.ts';
import type { UserEncoder } from '../../src/services/users/users.ts';
import type { Context } from '../context.ts';
import { BodyInstant, InstantKey } from './fields.ts';
import { EmailKey, Id, Slug } from './keys.ts';
import { pagingFields, Search } from './lists.ts';
import { AnyObject, Instant, Output } from './outputs.ts';
import { createRowEncoder, type ListFormat } from './row-encoder.ts';

export const UserOutput = Output('User', {
  email: z.string(),
  handle: z.string().meta({ examples: ['@ada'] }),
  first_name: z.string(),
  last_name: z.string(),
  extra: AnyObject,
  is_active: z.boolean(),
  is_demo_user: z.boolean(),
  profile_color: z.string().meta({ examples: ['d6604d'] }),
  profile_avatar: z.string().meta({ examples: ['http://localhost:8000/avatars/a.svg'] }),
  apps: z.array(z.string()),
  last_login: Instant.nullable(),
  date_joined: Instant,
  last_activated: Instant.nullable().meta({ examples: [null] }),
  last_deactivated: Instant.nullable().meta({ examples: [null] }),
  clientadmin_of: z.array(z.int()).meta({ examples: [[]] }),
});

/** The fields of a user in reports and in lists of other nouns. */
export const personIdentity = { email: z.string(), first_name: z.string(), last_name: z.string() };

/** A change of an address that the new mailbox has not confirmed yet. */
export const PendingEmail = Output('PendingEmail', {
  new_email: z.string(),
  requested_at: Instant,
  /** Email address; null if it is not known. */
  requested_by: z.string().nullable(),
  ends_at: Instant,
});

/** A user in the console's list of people. Only this output has columns that other callers must not get. */
export const PersonOutput = UserOutput.pick({
  email: true,
  handle: true,
  first_name: true,
  last_name: true,
  is_active: true,
  profile_avatar: true,
  last_login: true,
  date_joined: true,
  clientadmin_of: true,
}).extend({
  /** The labels of the user's apps, oldest first, by grants and groups. */
  app_labels: z.array(z.string()),
  /** A role in all clients, whose users open all apps without grants. */
  role: z.enum(['superuser', 'staff']).nullable(),
  /** Ids of the user's clients that the caller sees, and the roles there. */
  clients: z.array(z.int()),
  client_roles: z.array(z.object({ client: z.int(), roles: z.array(z.string()) })),
  /** Names, in alphabetical order. */
  groups: z.array(z.string()),
  /** The last day on which the user used an app that the caller can see. */
  last_used_day: z.string().nullable(),
});

/** What the caller may do with a user. */
export const UserPermissionsOutput = Output('UserPermissions', {
  /** Change the profile. */
  can_update: z.boolean(),
  /** Grant and revoke apps of the caller's clients; for a shared user, also change the membership in these clients. */
  can_update_apps: z.boolean(),
  /** See and end the sessions and tokens, and send a password link. */
  can_revoke: z.boolean(),
  /** Suspend, reactivate and offboard the user; a shared user in the caller's clients. */
  can_deactivate: z.boolean(),
  /** Give and end roles in the caller's clients. */
  can_set_roles: z.boolean(),
  /** Whether the account belongs, or has belonged, to several clients: the caller changes the membership, not the account. */
  is_shared: z.boolean(),
});

/** A user in the list of a client: with `last_password_set`, without `clientadmin_of`. */
export const ClientUserOutput = Output('ClientUser', {
  ...UserOutput.omit({ clientadmin_of: true }).shape,
  last_password_set: Instant,
});

/**
 * Conditions on users; all must hold.
 * @param time the schema of a time, which differs between queries and bodies
 */
const conditionsWith = <Time extends z.ZodType<Date>>(time: Time) => ({
  /** Each word must match the email address, the first or the last name. */
  search: Search.optional(),
  is_active: z.boolean().optional(),
  role: z.enum(USER_ROLES).optional(),
  /** The id of a group: its members. */
  group: Id.optional(),
  /** Exclusive. */
  last_login_before: time.optional(),
  last_login_after: time.optional(),
  never_logged_in: z.boolean().optional(),
  /** Users without a login since this time, and without use of an app since the start of that UTC day. */
  last_seen_before: time.optional(),
  password_expired: z.boolean().optional(),
  second_factor: z.boolean().optional(),
});

export const userConditions = conditionsWith(InstantKey);
export const userBodyConditions = conditionsWith(BodyInstant);

const ofAppWith = <Time extends z.ZodType<Date>>(time: Time) => ({
  app: Slug.optional(),
  /** Users of `app` without use of it since the start of that UTC day. */
  last_used_before: time.optional(),
});

/** Conditions on users of an app. */
export const appUserConditions = ofAppWith(InstantKey);
export const appUserBodyConditions = ofAppWith(BodyInstant);

/** `-` for descending order. */
export const userSort = z.enum(USER_SORTS).optional();

/** Filters of user lists. `cursor` is the email address of the last user of the previous page. */
export const userFilter = { ...userConditions, sort: userSort, ...pagingFields(EmailKey) };

type Base = Pick<Context, 'baseUrl'>;

/** The avatar that the service draws: a letter or digit. */
const avatarOf = (email: string, { baseUrl }: Base): string =>
  `${baseUrl}/avatars/${/[a-z0-9]/.exec(email)?.[0] ?? 'x'}.svg`;

/** The output of a user, for `map` and `then`. */
export const userOutput =
  (base: Base) =>
  <User extends Pick<UserRow, 'email' | 'profile_avatar'>>(user: User) => ({
    ...user,
    profile_avatar: user.profile_avatar ?? avatarOf(user.email, base),
  });

/** Encodes rows as `userOutput` does. */
export const userEncoder = (
  output: typeof UserOutput | typeof ClientUserOutput,
  format: ListFormat,
  base: Base,
): UserEncoder =>
  createRowEncoder<(typeof output)['shape']>(output, format, {
    // The email is the first field.
    profile_avatar: (avatar, [email]) => avatar ?? avatarOf(email ?? '', base),
  });
