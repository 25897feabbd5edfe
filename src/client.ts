/**
 * Entry point of `@steward/client`: a client with the types of every procedure, and constants that the client shares with
 * the server. It contains no server code.
 */
export type { AppRouter } from './client/app-router.ts';
export {
  fieldErrors,
  isForeignAnswer,
  isProblem,
  isUnreachable,
  type Problem,
  type ProblemError,
  requestId,
  retryAfterSeconds,
} from './client/errors.ts';
export type { EventOf, EventOptions, Events, EventType, StewardEvent } from './client/events.ts';
export type { CallContext } from './client/links.ts';
export { ForeignAnswer, type Send, Unreachable } from './client/responses.ts';
export {
  type Credentials,
  createStewardClient,
  type LoggedIn,
  type StewardClient,
  type StewardClientOptions,
} from './client/steward-client.ts';
export { transformer } from './client/transformer.ts';
export type {
  AccessRequest,
  App,
  AuditEntry,
  Client,
  CurrentSession,
  Grant,
  Group,
  Invitation,
  InvitationDetails,
  Membership,
  RouterInputs,
  RouterOutputs,
  Session,
  Site,
  Token,
  UsageEntry,
  User,
  Webhook,
} from './client/types.ts';
export type { FieldErrors, ProblemCode } from './lib/problems.ts';
export { MAX_BATCH_SIZE } from './lib/trpc-limits.ts';
