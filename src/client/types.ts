import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from './app-router.ts';

/** The input of each procedure: `RouterInputs['users']['create']`. */
export type RouterInputs = inferRouterInputs<AppRouter>;
/** The output of each procedure: `RouterOutputs['users']['get']`. */
export type RouterOutputs = inferRouterOutputs<AppRouter>;

/** The logged-in user, with their permissions. */
export type CurrentSession = NonNullable<RouterOutputs['sessions']['current']>;

// Named as in the OpenAPI document.
export type AccessRequest = RouterOutputs['requests']['get'];
export type App = RouterOutputs['apps']['get'];
export type AuditEntry = RouterOutputs['audit']['list'][number];
export type Client = RouterOutputs['clients']['get'];
export type Grant = RouterOutputs['grants']['list'][number];
export type Group = RouterOutputs['groups']['list'][number];
export type Invitation = RouterOutputs['invitations']['list'][number];
export type InvitationDetails = RouterOutputs['invitations']['get'];
export type Membership = RouterOutputs['memberships']['list'][number];
export type Session = RouterOutputs['sessions']['list'][number];
export type Site = RouterOutputs['sites']['get'];
export type Token = RouterOutputs['tokens']['list'][number];
export type UsageEntry =
  RouterOutputs['usage']['listByApp'] extends AsyncIterable<(infer Entry)[]> ? Entry : never;
export type User = RouterOutputs['users']['list'][number];
export type Webhook = RouterOutputs['webhooks']['get'];
