import { createHash, randomUUID } from 'node:crypto';
import { initTRPC, TRPCError } from '@trpc/server';
import type { Generated, Kysely } from 'kysely';

export type Context = { db: Kysely<Tables>; baseUrl: string; authorization: string; address: string };

const t = initTRPC.context<Context>().create();
export const { router } = t;

/** Requires the token of an active user who can view all clients. */
export const staff = t.procedure.use(async ({ ctx, next }) => {
  const [, token = ''] = /^Token (\S+)$/.exec(ctx.authorization) ?? [];
  const user = await ctx.db
    .selectFrom('api_tokens as t')
    .innerJoin('users as u', 'u.id', 't.user_id')
    .select(['u.id', 'u.email', 'u.is_superuser', 'u.is_staff'])
    .where('t.digest', '=', createHash('sha256').update(token).digest('hex'))
    .where('u.is_active', '=', true)
    .executeTakeFirst();
  if (!user || !(user.is_superuser || user.is_staff)) throw new TRPCError({ code: 'UNAUTHORIZED' });
  return next({ ctx: { ...ctx, user } });
});

export const superuser = staff.use(({ ctx, next }) => {
  if (!ctx.user.is_superuser) throw new TRPCError({ code: 'FORBIDDEN' });
  return next();
});

type Event = { action: string; target: string; client_ids: number[]; details: unknown };
type By = Pick<Context, 'address'> & { user: { email: string } };

export const record = async (tx: Kysely<Tables>, { user, address }: By, events: readonly Event[]) => {
  if (events.length === 0) return;
  const origin = { occurred_at: new Date(), request_id: randomUUID(), address, actor_email: user.email };
  await tx
    .insertInto('audit_entries')
    .values(events.map((event) => ({ ...origin, ...event, details: JSON.stringify(event.details) })))
    .execute();
};

type App = {
  id: string;
  client_id: number;
  slug: string;
  label: string;
  description: string;
  help_html: string;
  footer_html: string;
  show_help: boolean;
  show_footer: boolean;
  in_maintenance: boolean;
  maintenance_message: string;
  package_info: unknown;
  created_at: Date;
};

type User = {
  id: number;
  email: string;
  handle: string;
  first_name: string;
  last_name: string;
  extra: unknown;
  is_active: boolean;
  is_demo_user: boolean;
  is_staff: boolean;
  is_superuser: boolean;
  profile_color: string;
  profile_avatar: string | null;
  last_login: Date | null;
  date_joined: Date;
  last_activated: Date | null;
  last_deactivated: Date | null;
};

type Windows = Record<'actions30' | 'users30' | 'actions60' | 'users60' | 'actions90' | 'users90', number>;

/** The columns of Steward's tables that this peer uses. */
export type Tables = {
  users: User;
  apps: App;
  api_tokens: { user_id: number; digest: string };
  app_grants: { user_id: number; app_id: string };
  memberships: { user_id: number; client_id: number; is_admin: Generated<boolean> };
  'bench_peers.counted_windows': Windows & { app_id: string };
  usage_entries: {
    id: number;
    app_id: string;
    occurred_at: Date;
    email: string;
    full_name: string;
    action: string;
    action_description: string;
    extra: unknown;
  };
  invitations: {
    id: Generated<number>;
    client_id: number;
    email: string;
    key: string;
    inviter_id: number;
    extra: string;
    is_demo_user: boolean;
    status: Generated<string>;
    date_invited: Date;
    expires_at: Date;
  };
  invitation_apps: { invitation_id: number; app_id: string };
  outbox_mails: {
    kind: string;
    recipient: string;
    client_id: number;
    invitation_id: number;
    created_at: Date;
    next_attempt_at: Date;
  };
  audit_entries: {
    occurred_at: Date;
    request_id: string;
    address: string;
    action: string;
    actor_email: string;
    target: string;
    client_ids: number[];
    details: string;
  };
};
